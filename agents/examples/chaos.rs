use agents::chaos::*;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let from: u64 = args[1].parse().unwrap();
    let to: u64 = args[2].parse().unwrap();
    let trace = args.len() > 3;
    let began = std::time::Instant::now();
    let (mut events, mut nanos, mut done, mut bad) = (0, 0u64, 0, 0);
    let mut met = std::collections::BTreeMap::new();
    for seed in from..=to {
        let t = std::time::Instant::now();
        let run = simulate_seed(&SeedOptions {
            has_trace: trace,
            mutant: std::env::var("MUTANT")
                .ok()
                .map(|m| agents::mutant::Mutant::ALL[m.parse::<usize>().unwrap()]),
            ..SeedOptions::new(seed)
        });
        events += run.events;
        nanos += run.nanoseconds;
        done += u64::from(run.is_completed);
        if t.elapsed().as_millis() > 500 {
            println!("slow seed {seed}: {:?} {} events", t.elapsed(), run.events);
        }
        for f in &run.faults {
            *met.entry(f.clone()).or_insert(0) += 1;
        }
        if trace {
            println!("{}\n{}", run.trace, run.digest);
        }
        if !run.violations.is_empty() {
            bad += 1;
            if bad < 30 {
                println!("seed {seed}: {:?}", run.violations);
            }
        }
    }
    println!(
        "{:?}: {} events, {} virtual s, {} completed, {} bad, {} pairs of {}",
        began.elapsed(),
        events,
        nanos / 1_000_000_000,
        done,
        bad,
        met.len(),
        12 * 20
    );
    let (k, s) = kinds_and_steps();
    for step in s {
        print!("{step:12}");
        for kind in &k {
            print!("{:6}", met.get(&(kind.clone(), step.clone())).unwrap_or(&0));
        }
        println!();
    }
}
