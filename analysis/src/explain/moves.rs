//! What moves took, beside what was predicted.

use std::collections::BTreeMap;

use bsp::{HostId, Rank};
use experiments::NamedMove;
use model::{CostCoefficients, median};
use record::{Migration, Moved};
use serde::Serialize;

use crate::document::Table;
use crate::run::{RunCall, RunModel};
use crate::text::{counted, data, maybe, rounded};

/// A migration with what it took, as far as the record says; times in seconds, bandwidths in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct MoveReport {
    /// The process and its hosts.
    #[serde(flatten)]
    step: NamedMove,
    /// The predicted cost of the move, Mem.
    predicted_seconds: f64,
    /// From the beginning of packing until the process was unpacked.
    took_seconds: Option<f64>,
    /// The difference between the two, as a part of what the move took.
    pub(crate) error: Option<f64>,
    /// Packing and unpacking, without waiting for the network, and sending. They overlap.
    packing_seconds: Option<f64>,
    /// From sending the first byte until the last one had arrived.
    sending_seconds: Option<f64>,
    /// Unpacking, without waiting for the network.
    unpacking_seconds: Option<f64>,
    /// From the time when the process left its thread until it was unpacked.
    frozen_seconds: Option<f64>,
    /// All bytes of the image, and its parts.
    bytes: Option<u64>,
    /// Bytes of the state of its program.
    program_bytes: Option<u64>,
    /// Bytes of messages that it had not received.
    messages_bytes: Option<u64>,
    /// Bytes of the state of its agent.
    agent_bytes: Option<u64>,
    /// The bandwidth that was predicted, if the cost of moves is learned, and the one that was measured.
    predicted_bandwidth: Option<f64>,
    /// The bandwidth that was measured.
    met_bandwidth: Option<f64>,
}

impl MoveReport {
    /// The report of `migration`, whose process arrived as `moved` says; `name` is that of a host.
    pub(crate) fn new(
        migration: &Migration,
        moved: Option<&Moved>,
        name: impl Fn(HostId) -> String,
    ) -> Self {
        // A migrant that pays for its move is sent for free.
        let moved = moved.filter(|moved| 0.0 < moved.took.get());
        let times = moved.and_then(|moved| moved.times);
        let parts = moved.and_then(|moved| moved.parts);
        let predicted = migration.cost.get();
        let took = moved.map(|moved| moved.took.get());
        let sending = times.map(|times| times.sent.get());
        let bandwidth = |seconds: f64| moved.map(|moved| moved.bytes.as_f64() / seconds);
        Self {
            step: NamedMove::new(migration, name),
            predicted_seconds: predicted,
            took_seconds: took,
            error: took.map(|took| ((predicted - took) / took).abs()),
            packing_seconds: times.map(|times| times.packed.get()),
            sending_seconds: sending,
            unpacking_seconds: times.map(|times| times.unpacked.get()),
            frozen_seconds: times.map(|times| times.frozen.get()),
            bytes: moved.map(|moved| moved.bytes.0),
            program_bytes: parts.map(|parts| parts.program.0),
            messages_bytes: parts.map(|parts| parts.messages.0),
            agent_bytes: parts.map(|parts| parts.agent.0),
            predicted_bandwidth: migration.per_byte.map(f64::recip).filter(|b| b.is_finite()),
            met_bandwidth: sending.and_then(bandwidth).filter(|b| b.is_finite()),
        }
    }

    /// The process, as `p21`.
    pub(crate) fn process(&self) -> &str {
        &self.step.process
    }

    /// What its image consists of, and the bandwidth, in one sentence.
    pub(crate) fn state(&self) -> Option<String> {
        let bytes = self.bytes?;
        let parts = self.program_bytes.zip(self.messages_bytes);
        let parts = parts.zip(self.agent_bytes);
        let parts = maybe(parts, |((program, messages), agent)| {
            format!(": program {program}, messages {messages}, agent {agent}")
        });
        let per_second = |bandwidth: f64| format!("{}/s", data(bandwidth));
        let bandwidth = match (self.predicted_bandwidth, self.met_bandwidth) {
            (Some(predicted), Some(measured)) => {
                let (predicted, measured) = (per_second(predicted), per_second(measured));
                format!("; {predicted} were predicted on the network, {measured} measured")
            }
            (None, Some(measured)) => format!("; it was sent at {}", per_second(measured)),
            (_, None) => String::new(),
        };
        Some(format!("State of {bytes} bytes{parts}{bandwidth}."))
    }

    /// The process, and its times with the error.
    pub(crate) fn row(&self) -> Vec<String> {
        let seconds = |value: Option<f64>| maybe(value, |value| rounded(value, 4));
        vec![
            self.step.process.clone(),
            seconds(self.packing_seconds),
            seconds(self.sending_seconds),
            seconds(self.unpacking_seconds),
            seconds(self.took_seconds),
            seconds(Some(self.predicted_seconds)),
            percent(self.error),
        ]
    }
}

/// A part as a percentage.
pub(crate) fn percent(part: Option<f64>) -> String {
    maybe(part, |part| format!("{} %", rounded(part * 1e2, 1)))
}

impl RunCall {
    /// Its migrations with what they took; `name` is that of a host.
    pub(crate) fn moves(
        &self,
        name: impl Fn(HostId) -> String + Copy,
    ) -> impl Iterator<Item = MoveReport> {
        let arrivals = self.arrivals.iter().map(|moved| (moved.rank, moved));
        let arrivals: BTreeMap<Rank, &Moved> = arrivals.collect();
        self.migrations.iter().map(move |migration| {
            let moved = arrivals.get(&migration.rank).copied();
            MoveReport::new(migration, moved, name)
        })
    }

    /// By what part of it the time of all moves of a plan was predicted too long or too short; `None` if there was one move at
    /// most, or the record does not say what moves took. They begin together.
    fn plan_error(&self) -> Option<f64> {
        let planned = self.assessment.as_ref()?.balance.cost.get();
        let took = self.arrivals.iter().map(|moved| moved.took.get());
        let took = took.reduce(f64::max)?;
        (1 < self.migrations.len() && 0.0 < took).then(|| (planned - took).abs() / took)
    }
}

/// The moves of a call as a table, with the state of the process if there is only one; `None` if the record does not
/// say what they took.
pub(super) fn table(moves: &[&MoveReport]) -> Option<Table> {
    if moves.iter().all(|one| one.took_seconds.is_none()) {
        return None;
    }
    let headers = [
        "process",
        "packing",
        "sending",
        "unpacking",
        "all",
        "predicted",
        "off by",
    ];
    let state = match moves {
        [one] => maybe(one.state(), |state| format!("\n{state}")),
        _ => String::new(),
    };
    let table = Table::new(headers, moves.iter().map(|one| one.row()))
        .captioned("Moves (seconds; packing, sending and unpacking overlap)")
        .dispensing(&[3, 1, 2])
        .cut(ROWS, |more| {
            format!(" … {more} more; --format json shows all of them")
        });
    Some(table.followed(state))
}

/// How well moves were predicted, and what has been learned, in one sentence; `None` if the record does not say what moves
/// took.
pub(super) fn summary(model: &RunModel) -> Option<String> {
    let calls = model.calls.iter();
    let all = calls
        .clone()
        .flat_map(|call| call.moves(|host| model.host(host)));
    let errors: Vec<f64> = all.filter_map(|one| one.error).collect();
    let number = errors.len();
    let error = median(errors)?;
    let plans: Vec<f64> = calls.clone().filter_map(|call| call.plan_error()).collect();
    let count = plans.len();
    let plans = maybe(median(plans), |error| {
        format!(
            ", and what {} took in all with one of {}",
            counted(count, "plan"),
            percent(Some(error))
        )
    });
    let learned = calls.rev().find_map(|call| call.learned);
    let learned = maybe(learned, |learned| {
        format!(" {}", learned_in_words(&learned))
    });
    Some(format!(
        "What {} took was predicted with a median error of {}{plans}.{learned}",
        counted(number, "move"),
        percent(Some(error))
    ))
}

/// What had been learned of the cost of moves.
fn learned_in_words(learned: &CostCoefficients) -> String {
    let startup = rounded(learned.startup.get() * 1e3, 3);
    let overlap = rounded(learned.overlap, 3);
    let processing = if 0.0 < learned.processing {
        let rate = data(learned.processing.recip());
        format!(", but no more than {rate}/s of packing or unpacking")
    } else {
        String::new()
    };
    let steady = maybe(learned.steady, |steady| {
        let rate = data(steady.per_byte.recip());
        format!("; {rate}/s, with any predicted bandwidth, has been nearer")
    });
    format!(
        "Before the last call, a move was expected to take {startup} ms (α0) and {overlap} times (α1) what its bytes take on the \
         network{processing}{steady}."
    )
}

/// Number of moves that are shown.
const ROWS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use bsp::Rank;
    use bsp::units::{Bytes, Instant, Seconds};
    use record::{MoveTimes, StateParts};

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    /// A move of a second that was predicted to take 1.1 s.
    fn migration() -> Migration {
        Migration {
            rank: Rank(13),
            from: HostId(0),
            to: HostId(1),
            potential: None,
            t1: seconds(1.0),
            t2: seconds(2.0),
            cost: seconds(1.1),
            per_byte: Some(1e-6),
        }
    }

    fn moved() -> Moved {
        Moved {
            at: Instant::START,
            rank: Rank(13),
            host: HostId(1),
            epoch: 1,
            bytes: Bytes(1_000_000),
            took: seconds(1.0),
            times: Some(MoveTimes {
                frozen: seconds(1.25),
                packed: seconds(0.25),
                sent: seconds(0.5),
                unpacked: seconds(0.125),
                round_trip: seconds(0.01),
            }),
            parts: Some(StateParts {
                agent: Bytes(100),
                messages: Bytes(900),
                program: Bytes(999_000),
            }),
            declared: None,
        }
    }

    fn report(moved: Option<&Moved>) -> MoveReport {
        MoveReport::new(&migration(), moved, |host| format!("node-{}", host.0 + 1))
    }

    #[test]
    fn a_move_is_compared_with_what_was_predicted() {
        let report = report(Some(&moved()));
        let row = [
            "p14", "0.2500", "0.5000", "0.1250", "1.0000", "1.1000", "10.0 %",
        ];
        assert_eq!(report.row(), row);
        assert_eq!(
            report.state().unwrap(),
            "State of 1000000 bytes: program 999000, messages 900, agent 100; 1 MB/s were predicted on the network, 2 \
             MB/s measured."
        );
    }

    #[test]
    fn a_record_of_an_earlier_version_says_what_it_has() {
        let earlier = Moved {
            times: None,
            parts: None,
            ..moved()
        };
        let report = report(Some(&earlier));
        assert_eq!(
            report.row(),
            ["p14", "", "", "", "1.0000", "1.1000", "10.0 %"]
        );
        assert_eq!(report.state().unwrap(), "State of 1000000 bytes.");
        assert_eq!(self::report(None).took_seconds, None);
        assert_eq!(self::report(None).state(), None);
    }

    #[test]
    fn a_process_that_is_sent_for_free_has_no_error() {
        let free = Moved {
            took: Seconds::ZERO,
            ..moved()
        };
        assert_eq!(report(Some(&free)).error, None);
    }
}
