//! Errors of a configuration: message, place, suggestion.

use std::fmt;

/// An invalid key or value.
///
/// Its text is that of a compiler's message: what is wrong on the first line, then `-->` and the place, then `help:`
/// and one thing to try.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Fault {
    /// Where the value was written; `None`: nowhere, as for a missing key.
    pub origin: Option<String>,
    /// The error, which names the key.
    pub message: String,
    /// One thing to try.
    pub help: Option<String>,
    /// The key, if it does not exist.
    pub unknown: Option<String>,
}

impl Fault {
    /// A fault at `key`; empty: at no key. A suggestion that ends `problem` becomes the help.
    pub fn new(origin: Option<&str>, key: &str, problem: impl fmt::Display) -> Self {
        if key.is_empty() {
            Self::plain(origin, problem.to_string())
        } else {
            Self::plain(origin, format!("`{key}`: {problem}"))
        }
    }

    /// The value `met` of `key` does not keep `rule`, as in "must be at least 1".
    pub fn invalid(
        origin: Option<&str>,
        key: &str,
        met: impl fmt::Display,
        rule: impl fmt::Display,
    ) -> Self {
        let of_key = match key {
            "" => String::new(),
            key => format!(" for `{key}`"),
        };
        Self::plain(origin, format!("invalid value `{met}`{of_key}: {rule}"))
    }

    /// A key that has to be set.
    pub fn missing(origin: Option<&str>, key: &str) -> Self {
        Self::plain(origin, format!("missing key `{key}`"))
    }

    fn plain(origin: Option<&str>, message: String) -> Self {
        let (message, help) = match message.split_once(SUGGESTION) {
            Some((message, name)) => (message.to_owned(), Some(format!("did you mean {name}"))),
            None => (message, None),
        };
        Self {
            origin: origin.map(str::to_owned),
            message,
            help,
            unknown: None,
        }
    }

    /// A key that does not exist, with the nearest that does.
    pub fn unknown_key(origin: Option<&str>, key: &str, known: &[&str]) -> Self {
        let name = key.rsplit('.').next().unwrap_or(key);
        let problem = if known.is_empty() {
            format!("unknown key `{key}`: this section has no keys")
        } else if let Some(nearest) = nearest(name, known) {
            format!("unknown key `{key}`; did you mean `{nearest}`?")
        } else {
            format!("unknown key `{key}`: expected one of {}", list(known))
        };
        Self {
            unknown: Some(key.to_owned()),
            ..Self::plain(origin, problem)
        }
    }

    /// Whether the value is from the command line or the environment, not from a file.
    pub fn is_usage(&self) -> bool {
        self.origin
            .as_deref()
            .is_some_and(|origin| origin.starts_with("--set") || origin.starts_with("environment "))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if let Some(origin) = &self.origin {
            write!(formatter, "\n  --> {origin}")?;
        }
        if let Some(help) = &self.help {
            write!(formatter, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// The separator before a suggestion at the end of a message.
const SUGGESTION: &str = "; did you mean ";

/// The known name nearest to `name`, if one is near enough.
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

/// Names in backquotes, separated by commas.
pub fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_key_suggests_the_nearest_known_key() {
        let known = ["interval", "tolerance", "heuristic", "data_rate", "x"];
        assert_eq!(nearest("intervall", &known), Some("interval"));
        assert_eq!(nearest("Tolerence", &known), Some("tolerance"));
        assert_eq!(nearest("rate", &known), Some("data_rate"));
        assert_eq!(nearest("gravity", &known), None);
    }

    #[test]
    fn a_fault_shows_message_place_and_help() {
        let fault = Fault::unknown_key(Some("a.toml:3"), "run.sed", &["seed", "superstep_limit"]);
        assert_eq!(
            fault.to_string(),
            "unknown key `run.sed`\n  --> a.toml:3\n  help: did you mean `seed`?"
        );
        let fault = Fault::unknown_key(Some("--set"), "run.gravity", &["seed"]);
        assert_eq!(
            fault.to_string(),
            "unknown key `run.gravity`: expected one of `seed`\n  --> --set"
        );
        assert!(fault.is_usage());
    }
}
