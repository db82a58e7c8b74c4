//! A key that is known, in a table whose kind does not take it.

/// A key that is known and means nothing beside this kind.
#[derive(Debug, thiserror::Error)]
#[error("`kind = \"{kind}\"` takes no `{key}`; it takes {}", listed(.known))]
pub(crate) struct MisplacedKey {
    /// The kind of the table.
    pub(crate) kind: &'static str,
    /// The key that was written.
    pub(crate) key: &'static str,
    /// The keys of this kind.
    pub(crate) known: &'static [&'static str],
}

impl MisplacedKey {
    /// Nothing, if all keys that are written, those with `true`, are among those that `kind` takes.
    pub(crate) fn check(
        kind: &'static str,
        known: &'static [&'static str],
        keys: &[(&'static str, bool)],
    ) -> Result<(), Self> {
        let is_misplaced =
            |(key, is_written): &&(&'static str, bool)| *is_written && !known.contains(key);
        match keys.iter().find(is_misplaced) {
            None => Ok(()),
            Some(&(key, _)) => Err(Self { kind, key, known }),
        }
    }
}

fn listed(known: &[&str]) -> String {
    if known.is_empty() {
        "no other keys".to_owned()
    } else {
        known.join(", ")
    }
}
