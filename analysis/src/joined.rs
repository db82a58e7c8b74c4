//! Hosts that joined, in sentences.

use agents::Elasticity;
use experiments::JoinSummary;
use simulator::Platform;

use crate::text::rounded;

/// Whether a host joined, when, what that took and what was expected of it.
pub(crate) fn sentence(join: &JoinSummary) -> String {
    let host = &join.host;
    if !join.joined {
        let rest = join.remaining_seconds.map_or_else(String::new, |left| {
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
    let expected = join.saves_seconds.map_or_else(String::new, |saves| {
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
pub fn missing(elasticity: &Elasticity, joins: &[JoinSummary], platform: &Platform) -> Vec<String> {
    let taken = elasticity.pool.iter().take(elasticity.take);
    let names = taken.map(|pooled| &platform.host(pooled.host).name);
    let is_missing = |name: &&String| joins.iter().all(|join| join.host != **name);
    names
        .filter(is_missing)
        .map(|name| {
            format!("{name} has not joined: the run ended before it was ready; see [elasticity]")
        })
        .collect()
}
