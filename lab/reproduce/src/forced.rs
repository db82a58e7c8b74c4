//! The published migrations as a script.

use crate::application::Application;
use crate::run::Run;
use crate::stated::{AQUARIO, Destination, Stated};

/// A scripted migration: after this number of supersteps a process, from 1, moves to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forced {
    /// Number of completed supersteps.
    pub superstep: u64,
    /// The process, from 1.
    pub process: u32,
    /// Name of the host.
    pub to: String,
}

/// The published migrations of `run`; `None` if the papers do not name its processes.
///
/// * A migration is made in the call it is published for; calls beyond the end of the run are left out.
/// * For Lattice Boltzmann, migrations are published for α = 4 only. With another α they are made in the same
///   order, in calls after α / 4 times as many supersteps: 8, 24, 56, … and 16, 48, 112, …. With ten
///   processes the papers report no migration.
/// * Where no host is named, it is the next one of Aquario, from the first again after the last.
/// * Where the process is one of several, those of lowest rank are taken.
pub(super) fn forced(run: &Run, stated: &[Stated]) -> Option<Vec<Forced>> {
    let is_lbm = run.application == Application::LatticeBoltzmann;
    let interval = run.interval?;
    let about = |stated: &&Stated| {
        let same = (stated.application, stated.processes) == (run.application, run.processes);
        same && (is_lbm || (stated.row, stated.interval) == (run.row, interval))
    };
    let mut moves = Vec::new();
    let mut is_stated = is_lbm;
    let mut hosts = (1..=HOSTS).cycle();
    for stated in stated.iter().filter(about) {
        let Some(call) = stated.call else { continue };
        is_stated = true;
        let superstep = call * u64::from(interval) / u64::from(stated.interval);
        for process in stated.candidates.iter().take(stated.count) {
            let number = match stated.destination {
                Destination::Host(number) => number,
                Destination::Aquario => hosts.next().unwrap_or(1),
            };
            if superstep < run.application.supersteps(run.row) {
                let to = format!("{AQUARIO}-{number}");
                let process = *process;
                moves.push(Forced {
                    superstep,
                    process,
                    to,
                });
            }
        }
    }
    is_stated.then_some(moves)
}

/// `moves` as a value of `scheduler.script`.
pub(super) fn script(moves: &[Forced]) -> String {
    let orders = moves.iter().map(|forced| {
        let Forced {
            superstep,
            process,
            to,
        } = forced;
        format!("{{ superstep = {superstep}, process = \"p{process}\", to = \"{to}\" }}")
    });
    format!("[{}]", orders.collect::<Vec<_>>().join(", "))
}

/// Number of hosts of Aquario.
const HOSTS: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Variant;
    use crate::stated::stated;

    fn moves(application: Application, processes: u32, row: u64, interval: u32) -> Option<String> {
        let run = Run {
            application,
            processes,
            row,
            interval: Some(interval),
            variant: Variant::Forced,
        };
        let moves = forced(&run, &stated())?;
        let texts = moves
            .iter()
            .map(|forced| format!("{} p{} {}", forced.superstep, forced.process, forced.to));
        Some(texts.collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn other_intervals_make_the_same_moves_in_their_own_calls() {
        let lbm = |processes, row, interval| {
            moves(Application::LatticeBoltzmann, processes, row, interval).unwrap()
        };
        assert_eq!(lbm(25, 10, 4), "4 p21 aquario-1");
        assert_eq!(
            lbm(25, 50, 4),
            "4 p21 aquario-1, 12 p22 aquario-2, 28 p23 aquario-3"
        );
        assert_eq!(lbm(25, 50, 16), "16 p21 aquario-1, 48 p22 aquario-2");
        assert_eq!(lbm(50, 10, 8), "8 p38 aquario-1");
        assert_eq!(lbm(10, 2000, 4), "");
    }

    #[test]
    fn unnamed_hosts_are_taken_in_turn() {
        let wavefront = moves(Application::SmithWaterman, 25, 25, 16);
        assert_eq!(wavefront.unwrap(), "48 p24 aquario-1, 48 p25 aquario-2");
        assert_eq!(moves(Application::SmithWaterman, 200, 200, 16), None);
        let lu = moves(Application::Lu, 50, 2000, 4).unwrap();
        assert!(lu.ends_with("9 p34 aquario-20"), "{lu}");
    }

    #[test]
    fn a_script_is_valid_in_an_experiment() {
        let forced = Forced {
            superstep: 4,
            process: 21,
            to: "aquario-1".to_owned(),
        };
        let expected = "[{ superstep = 4, process = \"p21\", to = \"aquario-1\" }]";
        assert_eq!(script(&[forced]), expected);
    }
}
