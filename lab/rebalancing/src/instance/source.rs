//! The text of an instance file, and the line of each value.

use std::path::Path;

use experiments::Failure;
use settings::Node;

/// A JSON text and its value.
#[derive(Debug)]
pub(super) struct Source {
    /// Its name in messages.
    name: String,
    text: String,
    pub(super) tree: Node,
}

impl Source {
    /// `text`, which is from `name`.
    pub(super) fn new(name: &str, text: String) -> Result<Self, Failure> {
        let tree = serde_json::from_str(&text).map_err(|error| {
            let problem = error.to_string();
            let problem = problem
                .rsplit_once(" at line ")
                .map_or(problem.as_str(), |(problem, _)| problem);
            let (line, column) = (error.line(), error.column());
            Failure::input(format!(
                "invalid JSON: {problem}\n  --> {name}:{line}:{column}"
            ))
        })?;
        Ok(Self {
            name: name.to_owned(),
            text,
            tree,
        })
    }

    /// Name of an instance that has none of its own.
    pub(super) fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem();
        stem.map_or_else(
            || self.name.clone(),
            |stem| stem.to_string_lossy().into_owned(),
        )
    }

    /// File and line of the value at `path`: the number of an entry or item for each level, outermost
    /// first.
    pub(super) fn place(&self, path: &[usize]) -> String {
        let bytes = self.text.as_bytes();
        let start = bytes
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let at = path
            .iter()
            .fold(start, |at, number| child(bytes, at, *number));
        let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        format!("{}:{line}", self.name)
    }
}

/// Start of the entry or item `number` in the value, or the entry's value, that starts `at`.
///
/// The text is valid JSON.
fn child(bytes: &[u8], mut at: usize, number: usize) -> usize {
    let (mut depth, mut commas, mut is_quoted) = (0_usize, 0, false);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'\\' if is_quoted => at += 1,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 1 => commas += 1,
            _ => {}
        }
        let begins = !is_quoted && depth == 1 && matches!(byte, b'[' | b'{' | b',');
        if begins && commas == number {
            let rest = bytes[at..].iter();
            return at + rest.take_while(|byte| byte.is_ascii_whitespace()).count();
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_line() {
        let text = "\n{\"a\\\"{\": [1,\n [2, \"],\"], {}\n, 3],\n\"b\": {\n\"c\": 0}}";
        let source = Source::new("f", text.to_owned()).unwrap();
        for (path, line) in [
            (&[][..], "f:2"),
            (&[0], "f:2"),
            (&[0, 0], "f:2"),
            (&[0, 1], "f:3"),
            (&[0, 1, 1], "f:3"),
            (&[0, 2], "f:3"),
            (&[0, 3], "f:4"),
            (&[1], "f:5"),
            (&[1, 0], "f:6"),
            (&[7, 7], "f:6"),
        ] {
            assert_eq!(source.place(path), line, "{path:?}");
        }
    }

    #[test]
    fn invalid_json_is_located() {
        let fault = Source::new("f", "{\n\"a\": NaN}".to_owned()).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "invalid JSON: expected value\n  --> f:2:6"
        );
    }
}
