//! What a node says of the processes of other programs that keep its machine busy.

use std::time::Duration;

use bsp::check_name;
use bsp::units::Seconds;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

/// A process of another program that keeps a machine busy.
///
/// Invariant: the name has at most [`Self::NAME_MAX`] bytes and no control characters, and the age is not negative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Received")]
pub struct BusyProcess {
    name: String,
    pid: u32,
    age: Seconds,
}

/// One from another machine.
#[derive(Deserialize)]
struct Received {
    name: String,
    pid: u32,
    age: Seconds,
}

/// Why no node sends such a process.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum BusyProcessError {
    #[error(
        "the name of a busy process has {found} bytes, expected at most {}",
        BusyProcess::NAME_MAX
    )]
    NameTooLong { found: usize },
    #[error("the name of a busy process cannot be displayed")]
    Unprintable,
    #[error("the age of a busy process is {found} s, expected at least 0")]
    Negative { found: f64 },
}

impl BusyProcess {
    /// The greatest number of bytes of a name.
    pub const NAME_MAX: usize = 64;
    /// The greatest number of processes that a node names.
    pub const COUNT_MAX: usize = 64;

    /// The process `pid` of the operating system, which has consumed `age` of processor time.
    ///
    /// The name is cut to [`Self::NAME_MAX`] bytes, between two characters; control characters are replaced.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a duration is finite")]
    pub fn new(name: &str, pid: u32, age: Duration) -> Self {
        let mut name = name.replace(char::is_control, "\u{fffd}");
        name.truncate(name.floor_char_boundary(Self::NAME_MAX));
        let age = Seconds::new(age.as_secs_f64()).expect("a duration is finite");
        Self { name, pid, age }
    }

    /// The name of its program, as the operating system knows it; Linux keeps 15 bytes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number in the operating system.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The processor time that it has consumed, of all its threads together.
    #[must_use]
    pub const fn age(&self) -> Seconds {
        self.age
    }
}

impl TryFrom<Received> for BusyProcess {
    type Error = BusyProcessError;

    fn try_from(received: Received) -> Result<Self, BusyProcessError> {
        let Received { name, pid, age } = received;
        if Self::NAME_MAX < name.len() {
            let found = name.len();
            return Err(BusyProcessError::NameTooLong { found });
        }
        check_name(&name).map_err(|_| BusyProcessError::Unprintable)?;
        if age < Seconds::ZERO {
            let found = age.get();
            return Err(BusyProcessError::Negative { found });
        }
        Ok(Self { name, pid, age })
    }
}

/// Reads a list of at most [`BusyProcess::COUNT_MAX`] processes.
pub(super) fn bounded<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<BusyProcess>, D::Error> {
    let processes = Vec::<BusyProcess>::deserialize(from)?;
    if BusyProcess::COUNT_MAX < processes.len() {
        let (found, limit) = (processes.len(), BusyProcess::COUNT_MAX);
        let problem = format!("{found} busy processes, expected at most {limit}");
        return Err(D::Error::custom(problem));
    }
    Ok(processes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters_and_have_no_control_characters() {
        let name = |name: &str| BusyProcess::new(name, 7, Duration::ZERO).name().to_owned();
        assert_eq!(name("worker: 3"), "worker: 3");
        assert_eq!(name(""), "");
        assert_eq!(name("a\u{1b}[2J\n"), "a\u{fffd}[2J\u{fffd}");
        assert_eq!(name(&"x".repeat(65)), "x".repeat(64));
        assert_eq!(name(&"ä".repeat(33)), "ä".repeat(32));
        // 63 bytes, and the first of two.
        assert_eq!(name(&format!("{}ä", "x".repeat(63))), "x".repeat(63));
        // A control character of one byte becomes a character of three.
        assert_eq!(name(&"\u{7}".repeat(64)), "\u{fffd}".repeat(21));
    }

    #[test]
    fn ages_are_seconds_of_processor_time() {
        let process = BusyProcess::new("solver", 7, Duration::from_millis(1250));
        assert_eq!(process.age(), Seconds::new(1.25).unwrap());
        assert_eq!(process.pid(), 7);
    }
}
