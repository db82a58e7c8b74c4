//! Sentences that several reports have: about checkpoints, hosts that joined, runs that resume, and savings.

use std::collections::BTreeSet;

use agents::Elasticity;
use experiments::{CheckpointSummary, JoinSummary};
use record::ResumedRun;
use simulator::Platform;

use crate::text::{counted, maybe, rounded, significant};

/// How many checkpoints there were, what they took, and what a failure would have lost.
pub fn checkpoints(summary: &CheckpointSummary) -> String {
    let number = counted(summary.number, "checkpoint");
    let copies = match summary.sent_bytes {
        0 => String::new(),
        sent => format!(", {} MB of which went to other hosts", megabytes(sent)),
    };
    let disk = match summary.unwritten {
        0 => String::new(),
        unwritten => format!(" {unwritten} of them are not on disk."),
    };
    format!(
        "{number} saved {} MB{copies}: processes stood still for {} s ({:.2} % of the run), and encoding took {} s of a \
         processor beside them. One failure would have lost {} s of work at most.{disk}",
        megabytes(summary.bytes),
        rounded(summary.stall_seconds, 3),
        summary.stall_part * 100.0,
        rounded(summary.encoding_seconds, 3),
        rounded(summary.risk_seconds, 3)
    )
}

fn megabytes(bytes: u64) -> String {
    rounded(bytes as f64 / 1e6, 1)
}

/// The warning of a run that was to have checkpoints, and in which none became complete.
#[must_use]
pub fn missing_checkpoints(
    is_on: bool,
    summary: Option<&CheckpointSummary>,
) -> Option<&'static str> {
    (is_on && summary.is_none())
        .then_some("no checkpoint became complete: the run ended before; see [checkpoint]")
}

/// Whether a host joined, when, what that took and what was expected of it.
pub(crate) fn joined(join: &JoinSummary) -> String {
    let host = &join.host;
    if !join.joined {
        let rest = maybe(join.remaining_seconds, |left| {
            format!(", and the rest takes {} s without it", rounded(left, 3))
        });
        return format!(
            "{host} did not join at {} s, because it does not pay: preparing it takes {} s{rest}.",
            rounded(join.at, 3),
            rounded(join.creation_seconds, 3)
        );
    }
    let moved = match &join.processes[..] {
        [] => "no process waited for it".to_owned(),
        processes => format!("{} moved to it", processes.join(", ")),
    };
    let expected = maybe(join.saves_seconds, |saves| {
        format!(" It was expected to save {} s.", rounded(saves, 3))
    });
    let creation = match join.creation_seconds {
        0.0 => String::new(),
        seconds => format!("preparing it takes {} s, ", rounded(seconds, 3)),
    };
    format!(
        "{host} joined after superstep {} at {} s: {creation}processes waited {} s, and {moved}.{expected}",
        join.superstep,
        rounded(join.at, 3),
        rounded(join.waited_seconds, 3)
    )
}

/// A warning for each host that was to join and for which the run ended too early.
pub fn missing_hosts(
    elasticity: &Elasticity,
    joins: &[JoinSummary],
    platform: &Platform,
) -> Vec<String> {
    let taken = elasticity.pool.iter().take(elasticity.take);
    let names = taken.map(|pooled| platform.host(pooled.host).name.as_str());
    let joined = joins.iter().map(|join| join.host.as_str()).collect();
    unjoined(names, &joined)
}

/// A warning for each of the hosts that were to join and that are not among those that did, or do not.
pub fn unjoined<'a>(
    hosts: impl IntoIterator<Item = &'a str>,
    joined: &BTreeSet<&str>,
) -> Vec<String> {
    let names = hosts.into_iter();
    names
        .filter(|name| !joined.contains(name))
        .map(|name| {
            format!("{name} has not joined: the run ended before it was ready; see [elasticity]")
        })
        .collect()
}

/// What a run resumes, as a sentence.
pub(crate) fn resumed(resumed: &ResumedRun) -> String {
    let ResumedRun {
        job,
        incarnation,
        superstep,
    } = resumed;
    format!(
        "The run resumed job {job} with superstep {superstep}, as incarnation {incarnation}: only what follows is counted."
    )
}

/// The gain of a run that took `moving` seconds where scenario i takes `alone`; the best mapping of every superstep would have
/// saved `could` seconds of computing.
pub(crate) fn saved(alone: f64, moving: f64, could: f64) -> String {
    let won = significant(alone - moving, alone);
    let could = significant(could, alone);
    let percent = |part: f64, whole: f64| format!("{:.1} %", part / whole * 100.0);
    let best = "the best mapping of every superstep would have saved";
    let (seconds, saved) = (rounded(won.abs(), 3), rounded(could, 3));
    let possible = if 0.0 < could {
        format!("{best} {saved} s of computing")
    } else {
        "no mapping computes faster".to_owned()
    };
    if won < 0.0 && alone == 0.0 {
        format!("Rescheduling lost {seconds} s; {possible}.")
    } else if won < 0.0 {
        let share = percent(-won, alone);
        format!("Rescheduling lost {seconds} s ({share}); {possible}.")
    } else if won == 0.0 {
        format!("Rescheduling saved nothing; {possible}.")
    } else if won <= could {
        let share = percent(won, could);
        format!(
            "Rescheduling saved {seconds} s: {share} of the {saved} s of computing that {best}."
        )
    } else if 0.0 < could {
        let rest = "the rest is communication";
        format!("Rescheduling saved {seconds} s; {possible}, and {rest}.")
    } else {
        let all = "the saving is communication";
        format!("Rescheduling saved {seconds} s; no mapping computes faster: {all}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_is_of_a_makespan_of_nothing() {
        let lost = "Rescheduling lost 1.000 s; no mapping computes faster.";
        assert_eq!(saved(0.0, 1.0, 0.0), lost);
        let nothing = "Rescheduling saved nothing; no mapping computes faster.";
        assert_eq!(saved(0.0, 0.0, 0.0), nothing);
        let part = "Rescheduling lost 1.000 s (50.0 %); no mapping computes faster.";
        assert_eq!(saved(2.0, 3.0, 0.0), part);
    }
}
