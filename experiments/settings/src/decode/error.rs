//! Errors of decoding, before their place is known.

use std::fmt::Display;

use serde::de::{Error, Expected, Unexpected};

use crate::fault::{Fault, list, nearest};
use crate::tree::{Node, Value};

/// An error on its way up to the node that it belongs to.
#[derive(Debug, thiserror::Error)]
pub(super) enum DecodeError {
    /// What is wrong with a value, whose place is not known yet.
    #[error("{0}")]
    Problem(String),
    /// A name that is none of the keys of a section.
    #[error("unknown key")]
    UnknownKey(&'static [&'static str]),
    /// A key that has to be set.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// An error whose place is known.
    #[error(transparent)]
    Located(#[from] Fault),
}

impl DecodeError {
    /// Located at `node`, which is found at `path`, unless it already is somewhere deeper.
    pub(super) fn at(self, node: &Node, path: &str) -> Fault {
        let place = node.place();
        match self {
            Self::Problem(problem) if matches!(node.value, Value::Table(_)) => {
                Fault::new(place, path, problem)
            }
            Self::Problem(rule) => Fault::invalid(place, path, node, rule),
            Self::UnknownKey(known) => Fault::unknown_key(place, path, known),
            Self::Missing(key) => Fault::missing(place, &join(path, key)),
            Self::Located(fault) => fault,
        }
    }
}

impl Error for DecodeError {
    fn custom<T: Display>(problem: T) -> Self {
        Self::Problem(problem.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Problem(format!("must be {expected}"))
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Problem(format!("must be {expected}"))
    }

    fn unknown_variant(met: &str, known: &'static [&'static str]) -> Self {
        let hint = nearest(met, known).map_or_else(String::new, |nearest| {
            format!("; did you mean \"{nearest}\"?")
        });
        Self::Problem(format!("must be one of {}{hint}", list(known)))
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Self::UnknownKey(known)
    }

    fn missing_field(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

/// `key` in the section at `path`.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
