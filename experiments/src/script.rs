//! `[[scheduler.script]]`: migrations decided beforehand, for "what if" runs.

use std::collections::BTreeMap;

use agents::Script;
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use settings::Fault;
use settings::Node;
use settings::Value;

/// One move: at the call after `superstep`, `process` goes `to` a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedMove {
    /// Number of completed supersteps.
    pub superstep: u64,
    /// As `p21`; p1 is the first.
    pub process: String,
    /// Name of a host.
    pub to: String,
}

/// The script of `orders` for `processes` on hosts that `find` knows by name; `None` if there are none.
///
/// `written` is the experiment that has them.
///
/// # Errors
///
/// The first order that names an unknown process or host, or that contradicts an earlier one.
pub fn script(
    orders: &[ScriptedMove],
    written: &Node,
    processes: u32,
    find: impl Fn(&str) -> Result<HostId, String>,
) -> Result<Option<Script>, Fault> {
    let mut moves: BTreeMap<u64, Vec<(Rank, HostId)>> = BTreeMap::new();
    for (index, order) in orders.iter().enumerate() {
        let fault = |key: &str, problem: String| {
            let path = format!("scheduler.script[{index}].{key}");
            Fault::new(place(written, index, key), &path, problem)
        };
        let superstep = order.superstep;
        if superstep == 0 {
            let (key, rule) = ("superstep", "must be at least 1");
            let path = format!("scheduler.script[{index}].{key}");
            return Err(Fault::invalid(place(written, index, key), &path, 0, rule));
        }
        let rank = rank(&order.process, processes).map_err(|problem| fault("process", problem))?;
        let host = find(&order.to).map_err(|problem| fault("to", problem))?;
        let moves = moves.entry(superstep).or_default();
        if moves.iter().any(|(earlier, _)| *earlier == rank) {
            let problem = format!("{rank} is moved twice after superstep {superstep}");
            return Err(fault("process", problem));
        }
        moves.push((rank, host));
    }
    Ok((!moves.is_empty()).then_some(Script(moves)))
}

/// Place of `key` of the order at `index`.
fn place<'a>(written: &'a Node, index: usize, key: &str) -> Option<&'a str> {
    let script = written.find("scheduler.script")?;
    let order = match &script.value {
        Value::Array(items) => items.get(index)?,
        _ => script,
    };
    order.get(key).unwrap_or(order).place()
}

/// The rank of the process `name`.
///
/// # Errors
///
/// If there is no such process.
pub fn rank(name: &str, processes: u32) -> Result<Rank, String> {
    let number = name
        .strip_prefix('p')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse::<u32>().ok());
    let rank = |number: u32| number.checked_sub(1).filter(|rank| *rank < processes);
    if let Some(rank) = number.and_then(rank) {
        return Ok(Rank(rank));
    }
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let nearest = match digits.parse::<u32>() {
        Ok(number) => number.clamp(1, processes),
        Err(_) if digits.is_empty() => 1,
        Err(_) => processes,
    };
    Err(format!(
        "there is no process \"{name}\", must be one of p1 to p{processes}; did you mean \"p{nearest}\"?"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_process_suggests_the_nearest() {
        assert_eq!(rank("p1", 25), Ok(Rank(0)));
        assert_eq!(rank("p25", 25), Ok(Rank(24)));
        let check = |name: &str, nearest: &str| {
            let problem = rank(name, 25).unwrap_err();
            let end = format!("must be one of p1 to p25; did you mean \"{nearest}\"?");
            assert!(problem.ends_with(&end), "{problem}");
        };
        check("p26", "p25");
        check("p0", "p1");
        check("P21", "p21");
        check("21", "p21");
        check("p-3", "p3");
        check("p+3", "p3");
        check("p99999999999", "p25");
        check("master", "p1");
    }
}
