//! Runs for tests.

use bsp::units::{Instant, Seconds};
use bsp::{HostId, Rank, Round, SetId};
use record::{Event, Join, Run, Superstep};

use crate::view::{View, Viewing};

/// A run of `processes` on as many hosts in two Sets, in which a process moves to a host before each of the supersteps
/// `moves`. A superstep takes a second.
pub(crate) fn run(processes: u32, supersteps: u64, moves: &[(u64, u32, u32)]) -> View {
    let hosts: Vec<String> = (0..processes).map(|host| format!("h{host}")).collect();
    let half = processes / 2;
    let mut viewing = Viewing::new(Run {
        schema: String::new(),
        scenario: "iii".to_owned(),
        sets: vec!["one".to_owned(), "other".to_owned()],
        members: vec![(SetId(0), half), (SetId(1), processes - half)],
        placement: hosts.clone(),
        hosts,
        round: Round::SUPERSTEP,
        resumed: None,
    });
    let instant = |seconds: u64| Instant::new(seconds as f64).unwrap();
    let mut moves = moves.iter().peekable();
    for index in 0..supersteps {
        while let Some((_, rank, host)) = moves.next_if(|moved| moved.0 == index) {
            viewing.take(&Event::Join(Join {
                superstep: index,
                host: HostId(*host),
                asked: instant(index),
                at: instant(index),
                creation: Seconds::ZERO,
                remaining: None,
                saves: None,
                joined: true,
                ended: instant(index),
                processes: vec![Rank(*rank)],
            }));
        }
        viewing.take(&Event::Superstep(Superstep {
            index,
            started: instant(index),
            ended: instant(index + 1),
            slowest: Rank(0),
            computation: Seconds::new(0.75).unwrap(),
            mean: Some(Seconds::new(0.5).unwrap()),
            took: None,
            messages: 0,
        }));
    }
    viewing.end()
}
