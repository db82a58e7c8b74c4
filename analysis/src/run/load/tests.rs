use super::*;
use bsp::{Round, SetId};
use record::Run;

use crate::run::places::Sets;

mod bins {
    use super::*;
    use bsp::Rank;
    use bsp::units::{Instant, Seconds};

    fn superstep(index: u64, seconds: f64) -> Superstep {
        Superstep {
            index,
            started: Instant::START,
            ended: Instant::new(seconds).unwrap(),
            slowest: Rank(0),
            computation: Seconds::new(seconds / 2.0).unwrap(),
            mean: None,
            took: None,
            messages: 0,
            notes: bsp::Notes::default(),
        }
    }

    #[test]
    fn supersteps_are_joined_when_there_are_too_many_and_none_is_lost() {
        for supersteps in [0, 1, 1_999, 2_000, 2_001, 4_001, 10_000] {
            let mut bins = Bins::new(7);
            let mut sum = 0.0;
            for index in 0..supersteps {
                let seconds = f64::from(u32::try_from(index % 13).unwrap());
                sum += seconds;
                bins.push(&superstep(index, seconds));
            }
            assert!(bins.all.len() <= SUPERSTEP_BINS, "{supersteps}");
            assert!(
                SUPERSTEP_BINS / 2 <= bins.all.len() || bins.size() == 1,
                "{supersteps}"
            );
            let total = bins.total();
            assert_eq!(total.supersteps, supersteps);
            assert!((total.seconds - sum).abs() < 1e-6);
            let mut expected = 7;
            for (first, bin) in bins.iter() {
                assert_eq!(first, expected);
                expected += bin.supersteps;
                assert!(bin.least <= bin.greatest);
            }
            assert_eq!(expected, 7 + supersteps);
        }
    }

    #[test]
    fn a_call_belongs_to_the_superstep_after_it_or_to_the_last() {
        let mut bins = Bins::new(0);
        bins.push(&superstep(0, 1.0));
        bins.charge(0.25);
        bins.push(&superstep(1, 1.0));
        bins.charge(0.5);
        bins.end();
        let calls: Vec<f64> = bins.iter().map(|(_, bin)| bin.calls).collect();
        assert_eq!(calls, [0.0, 0.75]);
        assert_eq!(bins.total().mean, None);
    }
}

mod load {
    use super::*;
    use bsp::units::{Bytes, Instant, Instructions, InstructionsPerSecond, Seconds};
    use bsp::{Rank, Round, SetId};
    use record::{Evaluation, Hosts};

    use crate::run::places::Sets;

    fn run(hosts: usize, placement: &[usize]) -> Run {
        let names: Vec<String> = (0..hosts).map(|host| format!("h{host}")).collect();
        Run {
            schema: String::new(),
            scenario: "iii".to_owned(),
            sets: vec!["a".to_owned()],
            members: Vec::new(),
            placement: placement.iter().map(|host| names[*host].clone()).collect(),
            hosts: names,
            round: Round::SUPERSTEP,
            resumed: None,
            view: None,
        }
    }

    /// Supersteps of 2 s, in which process `slowest` computed longest.
    fn superstep(index: u64, slowest: u32) -> Superstep {
        Superstep {
            index,
            started: Instant::START,
            ended: Instant::new(2.0).unwrap(),
            slowest: Rank(slowest),
            computation: Seconds::ZERO,
            mean: None,
            took: None,
            messages: 0,
            notes: bsp::Notes::default(),
        }
    }

    /// All hosts execute 100 instructions a second on each of two cores, half of which others take.
    fn evaluated(instructions: &[u64]) -> Evaluated {
        let processes = (0..)
            .zip(instructions)
            .map(|(rank, instructions)| Evaluation {
                rank: Rank(rank),
                host: HostId(0),
                instructions: Instructions(*instructions),
                bytes: Bytes(0),
                target: SetId(0),
                potentials: Vec::new(),
            });
        Evaluated {
            superstep: 0,
            set: SetId(0),
            transfer_rates: vec![0.0],
            hosts: vec![Hosts {
                first: HostId(0),
                number: 3,
                speed: InstructionsPerSecond::new(100.0).unwrap(),
                cores: 2,
                load: 0.5,
                load_recent: 0.5,
            }],
            paths: Vec::new(),
            links: Vec::new(),
            external: Vec::new(),
            barrier: None,
            processes: processes.collect(),
        }
    }

    /// The load of a run that goes on until `supersteps`.
    fn load(run: &Run, work: Option<&Evaluated>, supersteps: u64) -> Load {
        let placement = Placement::new(run);
        let mut reading = LoadReading::new(run, &placement);
        if let Some(work) = work {
            reading.evaluate(work);
        }
        for index in 0..supersteps {
            reading.elapse(&superstep(index, 1), &placement);
        }
        reading.settle(&placement);
        reading.end(run, &Sets::new(run))
    }

    #[test]
    fn a_host_is_busy_for_what_its_processes_execute_on_what_others_leave() {
        // Two processes share host 0; one alone on host 2 uses one core of two.
        let run = run(3, &[0, 0, 2]);
        let load = load(&run, Some(&evaluated(&[20, 60, 30])), 4);
        assert_eq!(load.rows.len(), 2);
        let shares: Vec<f64> = load
            .bins
            .iter()
            .filter_map(|bins| bins[0].share())
            .collect();
        // (20 + 60) / 2 cores is less than 60 on one: 60 / 50 of 2 s. And 30 / 50 of 2 s.
        for (share, expected) in shares.iter().zip([0.6, 0.3]) {
            assert!((share - expected).abs() < 1e-12, "{shares:?}");
        }
        let slowest: u64 = load.bins[0].iter().map(|bin| bin.slowest).sum();
        assert_eq!(slowest, 4);
    }

    #[test]
    fn a_record_without_calls_says_which_host_was_slowest_and_no_more() {
        let run = run(3, &[0, 1, 2]);
        let load = load(&run, None, 3);
        assert!(!load.has_work);
        assert!(load.bins.iter().flatten().all(|bin| bin.share().is_none()));
        let slowest: Vec<u64> = load
            .bins
            .iter()
            .map(|bins| bins.iter().map(|bin| bin.slowest).sum())
            .collect();
        assert_eq!(slowest, [0, 3, 0]);
    }

    #[test]
    fn bins_do_not_grow_with_supersteps_or_hosts_and_lose_none() {
        let placement: Vec<usize> = (0..3_000).collect();
        let run = run(3_000, &placement);
        let supersteps = 1_000;
        let load = load(&run, None, supersteps);
        assert!(load.rows.len() <= 64);
        assert_eq!(load.bins[0].len(), 125);
        let slowest: u64 = load.bins.iter().flatten().map(|bin| bin.slowest).sum();
        assert_eq!(slowest, supersteps);
        assert_eq!(load.supersteps(0, supersteps), 0..8);
        assert_eq!(load.supersteps(124, supersteps), 992..1_000);
    }

    #[test]
    fn a_host_that_gets_its_first_process_later_has_a_row_of_all_bins() {
        let run = run(3, &[1, 1]);
        let mut placement = Placement::new(&run);
        let mut reading = LoadReading::new(&run, &placement);
        for index in 0..600 {
            if index == 301 {
                reading.settle(&placement);
                placement.change(index, [(Rank(0), HostId(0))].into_iter());
                reading.change(&placement);
            }
            reading.elapse(&superstep(index, 0), &placement);
        }
        reading.settle(&placement);
        let load = reading.end(&run, &Sets::new(&run));
        let slowest: Vec<u64> = load
            .bins
            .iter()
            .map(|bins| bins.iter().map(|bin| bin.slowest).sum())
            .collect();
        assert_eq!(slowest, [299, 301]);
        assert_eq!(load.bins[0].len(), load.bins[1].len());
        assert_eq!(load.bins[0].len(), 150);
    }

    #[test]
    fn what_the_first_call_says_counts_for_the_supersteps_before_it() {
        let run = run(3, &[0, 1, 2]);
        let placement = Placement::new(&run);
        let mut reading = LoadReading::new(&run, &placement);
        for index in 0..4 {
            reading.elapse(&superstep(index, 0), &placement);
        }
        reading.evaluate(&evaluated(&[50, 50, 50]));
        reading.settle(&placement);
        let load = reading.end(&run, &Sets::new(&run));
        assert_eq!(load.bins[0].len(), 4);
        assert!(
            load.bins
                .iter()
                .flatten()
                .all(|bin| bin.share() == Some(0.5))
        );
    }
}

/// The rows of hosts, every second one of which is used, in two Sets.
fn rows(hosts: u32) -> HostRows {
    let names: Vec<String> = (0..hosts).map(|host| format!("h{host}")).collect();
    let run = Run {
        schema: String::new(),
        scenario: "iii".to_owned(),
        sets: vec!["a".to_owned(), "b".to_owned()],
        members: vec![(SetId(0), hosts / 2), (SetId(1), hosts - hosts / 2)],
        hosts: names.clone(),
        placement: Vec::new(),
        round: Round::SUPERSTEP,
        resumed: None,
        view: None,
    };
    let used = (0..names.len()).step_by(2).map(|host| host..host + 1);
    let used: Vec<Range<usize>> = used.collect();
    HostRows::new(&used, &names, &Sets::new(&run))
}

#[test]
fn few_hosts_have_a_row_each() {
    let rows = rows(10);
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["h0", "h2", "h4", "h6", "h8"]);
    assert_eq!(rows.row_of(HostId(6)), Some(3));
    assert_eq!(rows.row_of(HostId(7)), None);
}

#[test]
fn many_hosts_share_rows_but_sets_do_not() {
    let rows = rows(1_000);
    assert!(rows.len() <= ROWS + 1, "{}", rows.len());
    let first = rows.iter().next().unwrap();
    assert_eq!((first.name.as_str(), first.set.as_str()), ("h0 … h14", "a"));
    assert!(rows.iter().all(|row| !row.set.is_empty()));
    for host in (0..1_000).step_by(2) {
        assert!(rows.row_of(HostId(host)).is_some(), "{host}");
    }
}
