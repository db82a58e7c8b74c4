use simulator::{NetworkOptions, Platform};
use std::sync::Arc;
#[path = "../tests/support/chain.rs"]
mod chain;
use chain::Chain;
fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().unwrap();
    let size: u32 = args.next().unwrap().parse().unwrap();
    let supersteps: u32 = args.next().unwrap().parse().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let platform = if file.ends_with("xml") {
        Platform::from_simgrid_xml(&text, &mut |n| Err(n.to_owned())).unwrap()
    } else {
        Platform::from_toml(&text).unwrap()
    };
    let platform = Arc::new(platform);
    let work: u64 = 10_000_000_000 / u64::from(size);
    let chain = Chain {
        size,
        supersteps,
        work: vec![work],
        ..Chain::default()
    };
    let t = std::time::Instant::now();
    let ends = chain.run(&platform, NetworkOptions::default());
    println!("{} {:?} {:?}", t.elapsed().as_secs_f64(), ends, 0);
}
