//! Agreement of our migrations with the published ones.

use serde::Serialize;

use crate::application::Application;
use crate::run::Variant;
use crate::stated::{AQUARIO, Destination, Stated};
use experiments::{NamedMove, RunReport};

/// A published migration and its counterparts in our runs.
#[derive(Clone, Debug, Serialize)]
pub struct StatedReport {
    /// `lbm`, `sw` or `lu`.
    pub application: Application,
    /// Number of processes.
    pub processes: u32,
    /// Supersteps of Lattice Boltzmann, the order of the matrix of the others.
    pub row: u64,
    /// α.
    pub alpha: u32,
    /// Number of completed supersteps; none: not published.
    pub call: Option<u64>,
    /// The processes, as `p21` or `14 of p21 to p36`.
    pub process: String,
    /// Number of migrations.
    pub count: usize,
    /// The Set, or the host if the papers name one.
    pub destination: String,
    /// Our runs, by scenario.
    pub ours: Vec<Agreement>,
}

/// Agreement of a run with a statement.
#[derive(Clone, Debug, Serialize)]
pub struct Agreement {
    /// `iii` or `iii-receive-time`.
    pub scenario: &'static str,
    /// Migrations that agree in process and Set.
    pub set: usize,
    /// Migrations that agree in the call as well.
    pub call: usize,
    /// Migrations to the named host, among those that agree in process and Set; none: no host is named.
    pub host: Option<usize>,
    /// All moves of these processes, as `124 p25 -> aquario-5`.
    pub moves: Vec<String>,
}

/// Agreement with all statements.
#[derive(Clone, Debug, Serialize)]
pub struct AgreementTotal {
    /// `iii` or `iii-receive-time`.
    pub scenario: &'static str,
    /// Number of published migrations.
    pub stated: usize,
    /// Those that agree in process and Set.
    pub set: usize,
    /// Those that agree in the call as well.
    pub call: usize,
    /// Those with a named host.
    pub named: usize,
    /// Those that agree in the host.
    pub host: usize,
}

/// A move of a run.
struct Move<'a> {
    superstep: u64,
    step: &'a NamedMove,
}

impl StatedReport {
    /// `stated`, compared with each of `runs`.
    pub fn new(stated: &Stated, runs: &[(Variant, &RunReport)]) -> Self {
        Self {
            application: stated.application,
            processes: stated.processes,
            row: stated.row,
            alpha: stated.interval,
            call: stated.call,
            process: stated.processes(),
            count: stated.count,
            destination: stated.destination.name(),
            ours: runs
                .iter()
                .map(|(variant, run)| Agreement::new(stated, *variant, run))
                .collect(),
        }
    }
}

impl Agreement {
    fn new(stated: &Stated, variant: Variant, run: &RunReport) -> Self {
        let names: Vec<String> = stated
            .candidates
            .iter()
            .map(|process| format!("p{process}"))
            .collect();
        let moves: Vec<Move<'_>> = run
            .calls
            .iter()
            .flat_map(|call| call.migrations.iter().map(move |moved| (call, moved)))
            .filter(|(_, moved)| names.contains(&moved.step.process))
            .map(|(call, moved)| Move {
                superstep: call.summary.superstep,
                step: &moved.step,
            })
            .collect();
        // A process that moves twice counts once.
        let agreeing = |does: &dyn Fn(&Move<'_>) -> bool| {
            let agrees = |name: &&String| {
                let mut own = moves.iter().filter(|moved| moved.step.process == **name);
                own.any(|moved| is_in_aquario(&moved.step.to) && does(moved))
            };
            names.iter().filter(agrees).count().min(stated.count)
        };
        let destination = stated.destination.name();
        Self {
            scenario: variant.name(),
            set: agreeing(&|_| true),
            call: agreeing(&|moved| Some(moved.superstep) == stated.call),
            host: match stated.destination {
                Destination::Aquario => None,
                Destination::Host(_) => Some(agreeing(&|moved| moved.step.to == destination)),
            },
            moves: moves
                .iter()
                .map(|moved| {
                    format!(
                        "{} {} -> {}",
                        moved.superstep, moved.step.process, moved.step.to
                    )
                })
                .collect(),
        }
    }
}

impl AgreementTotal {
    /// The total over `statements`, if they were compared with a run of `variant`.
    pub fn new(statements: &[StatedReport], variant: Variant) -> Option<Self> {
        let scenario = variant.name();
        let mut total = Self {
            scenario,
            stated: 0,
            set: 0,
            call: 0,
            named: 0,
            host: 0,
        };
        for statement in statements {
            let ours = statement
                .ours
                .iter()
                .find(|ours| ours.scenario == scenario)?;
            total.stated += statement.count;
            total.set += ours.set;
            total.call += ours.call;
            if let Some(host) = ours.host {
                total.named += statement.count;
                total.host += host;
            }
        }
        (0 < total.stated).then_some(total)
    }
}

fn is_in_aquario(host: &str) -> bool {
    let number = host.strip_prefix(AQUARIO);
    number.is_some_and(|number| number.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiments::{CallReport, CallSummary, MigrationReport};

    fn stated(count: usize, candidates: &[u32], destination: Destination) -> Stated {
        Stated {
            application: Application::Lu,
            processes: 50,
            row: 2000,
            interval: 4,
            call: Some(9),
            count,
            candidates: candidates.to_vec(),
            destination,
        }
    }

    fn run(moves: &[(u64, &str, &str)]) -> RunReport {
        let call = |(superstep, process, to): &(u64, &str, &str)| CallReport {
            summary: CallSummary {
                superstep: *superstep,
                at: 0.0,
                cost_seconds: 0.0,
                interval: Some(4),
                tolerance: None,
            },
            migrations: vec![MigrationReport {
                step: NamedMove {
                    process: (*process).to_owned(),
                    from: "corisco-1".to_owned(),
                    to: (*to).to_owned(),
                },
                potential: None,
                t1: 0.0,
                t2: 0.0,
                cost_seconds: 0.0,
            }],
        };
        RunReport {
            builds: Vec::new(),
            transfers: None,
            scenario: "iii",
            seconds: 1.0,
            supersteps: 20,
            messages: 0,
            bytes: 0,
            attainable_seconds: None,
            imbalance_seconds: None,
            moved_bytes: 0,
            outputs_sha256: String::new(),
            verified: None,
            joins: Vec::new(),
            checkpoints: None,
            calls: moves.iter().map(call).collect(),
        }
    }

    #[test]
    fn agreement_is_counted_by_process_set_call_and_host() {
        let run = run(&[
            (4, "p21", "aquario-1"),
            (9, "p22", "aquario-3"),
            (9, "p23", "labtec-1"),
            (14, "p23", "aquario-4"),
        ]);
        let check = |stated: &Stated, expected: (usize, usize, Option<usize>)| {
            let ours = Agreement::new(stated, Variant::Iii, &run);
            assert_eq!((ours.set, ours.call, ours.host), expected, "{stated:?}");
        };
        check(&stated(1, &[21], Destination::Aquario), (1, 0, None));
        check(&stated(1, &[22], Destination::Host(2)), (1, 1, Some(0)));
        check(&stated(1, &[23], Destination::Host(4)), (1, 0, Some(1)));
        check(&stated(1, &[24], Destination::Host(4)), (0, 0, Some(0)));
        check(
            &stated(2, &[21, 22, 23, 24], Destination::Aquario),
            (2, 1, None),
        );
        let statements = [(1, vec![21]), (2, vec![22, 23, 24])].map(|(count, candidates)| {
            let stated = stated(count, &candidates, Destination::Aquario);
            StatedReport::new(&stated, &[(Variant::Iii, &run)])
        });
        let total = AgreementTotal::new(&statements, Variant::Iii).unwrap();
        assert_eq!(
            (total.stated, total.set, total.call, total.named),
            (3, 3, 1, 0)
        );
        assert!(AgreementTotal::new(&statements, Variant::ReceiveTime).is_none());
    }
}
