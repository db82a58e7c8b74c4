//! What is wrong with a configuration, and where.

use std::fmt;

/// A key or value that will not do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Fault {
    /// Where it was written; `None`: nowhere, as a missing key.
    pub origin: Option<String>,
    /// The key, with dots between sections; empty if the fault is in no key.
    pub key: String,
    /// What was met and what was expected.
    pub problem: String,
}

impl Fault {
    /// A fault of the value of `key`.
    pub fn new(origin: Option<&str>, key: &str, problem: impl fmt::Display) -> Self {
        Self {
            origin: origin.map(str::to_owned),
            key: key.to_owned(),
            problem: problem.to_string(),
        }
    }

    /// A key that does not exist, with the nearest that does.
    pub fn unknown_key(origin: Option<&str>, key: &str, known: &[&str]) -> Self {
        let name = key.rsplit('.').next().unwrap_or(key);
        let problem = if known.is_empty() {
            "unknown key: nothing can be set here".to_owned()
        } else if let Some(nearest) = nearest(name, known) {
            format!("unknown key; did you mean `{nearest}`?")
        } else {
            format!("unknown key; known here: {}", list(known))
        };
        Self::new(origin, key, problem)
    }

    /// Whether the command line or the environment is to blame, not a file.
    pub fn is_usage(&self) -> bool {
        self.origin
            .as_deref()
            .is_some_and(|origin| origin.starts_with("--set") || origin.starts_with("environment "))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(origin) = &self.origin {
            write!(formatter, "{origin}: ")?;
        }
        if !self.key.is_empty() {
            write!(formatter, "{}: ", self.key)?;
        }
        formatter.write_str(&self.problem)
    }
}

/// The known name most like `name`, if one is like it at all.
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let allowed = (name.chars().count() / 3).max(1);
    let by_distance = known
        .iter()
        .map(|known| (strsim::damerau_levenshtein(&name, known), *known))
        .min()
        .filter(|(distance, _)| *distance <= allowed)
        .map(|(_, known)| known);
    // `rate` for `data_rate`, `superstep` for `superstep_limit`: only if there is one such key.
    by_distance.or_else(|| {
        let mut containing = known.iter().filter(|known| {
            2 < name.len() && (known.contains(name.as_str()) || name.contains(**known))
        });
        containing
            .next()
            .filter(|_| containing.next().is_none())
            .copied()
    })
}

/// Names in backquotes with commas between.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_key_is_answered_with_the_nearest() {
        let known = ["interval", "tolerance", "heuristic", "data_rate", "x"];
        assert_eq!(nearest("intervall", &known), Some("interval"));
        assert_eq!(nearest("Tolerence", &known), Some("tolerance"));
        assert_eq!(nearest("rate", &known), Some("data_rate"));
        assert_eq!(nearest("gravity", &known), None);
    }

    #[test]
    fn a_fault_says_where_what_and_what_would_do() {
        let fault = Fault::unknown_key(Some("a.toml:3"), "run.sed", &["seed", "superstep_limit"]);
        assert_eq!(
            fault.to_string(),
            "a.toml:3: run.sed: unknown key; did you mean `seed`?"
        );
        let fault = Fault::unknown_key(Some("--set"), "run.gravity", &["seed"]);
        assert_eq!(
            fault.to_string(),
            "--set: run.gravity: unknown key; known here: `seed`"
        );
        assert!(fault.is_usage());
    }
}
