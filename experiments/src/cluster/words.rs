//! The lines of a hostfile as words, without comments: Open MPI's rules.

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// A name, a key or a value.
    Text(String),
    /// The sign between a key and its value.
    Equal,
}

impl Word {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Equal => "=",
        }
    }
}

/// A line that has words, after its number from 1.
type NumberedLine = (usize, Vec<Word>);

/// The lines of `text` that have words, with their numbers from 1.
///
/// `#` and `//` begin a comment that ends with its line. A comment between `/*` and `*/` ends the line that it begins in, as in
/// Open MPI. What is in double quotes is one word, without them.
///
/// # Errors
///
/// The number of the line in which a comment or a quote begins that does not end, and which.
pub(super) fn lines(text: &str) -> Result<Vec<NumberedLine>, (usize, String)> {
    let mut lines = Vec::new();
    let mut words = Vec::new();
    let (mut rest, mut number) = (text, 1);
    while let Some(first) = rest.chars().next() {
        if first == '\n' || rest.starts_with("/*") {
            if !words.is_empty() {
                lines.push((number, std::mem::take(&mut words)));
            }
            let length = match first {
                '\n' => 1,
                _ => {
                    let end = rest.find("*/").map(|end| end + "*/".len());
                    end.ok_or_else(|| (number, "the comment after `/*` has no `*/`".to_owned()))?
                }
            };
            number += rest[..length].matches('\n').count();
            rest = &rest[length..];
        } else if first == '#' || rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(inner) = rest.strip_prefix('"') {
            let end = inner.find(['"', '\n']);
            let end = end.filter(|end| inner[*end..].starts_with('"'));
            let end =
                end.ok_or_else(|| (number, "a quote is not closed in its line".to_owned()))?;
            words.push(Word::Text(inner[..end].to_owned()));
            rest = &inner[end + 1..];
        } else if first == '=' {
            words.push(Word::Equal);
            rest = &rest[1..];
        } else if first.is_whitespace() {
            rest = rest.trim_start_matches(|at: char| at.is_whitespace() && at != '\n');
        } else {
            let end = ["//", "/*"].iter().filter_map(|mark| rest.find(mark));
            let end = end.min().unwrap_or(rest.len());
            let is_end = |at: char| at.is_whitespace() || matches!(at, '"' | '#' | '=');
            let end = rest.find(is_end).map_or(end, |found| found.min(end));
            words.push(Word::Text(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    if !words.is_empty() {
        lines.push((number, words));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[(usize, &str)]) {
        let lines = lines(text).unwrap();
        let shown = |(number, words): &(usize, Vec<Word>)| {
            let words: Vec<&str> = words.iter().map(Word::text).collect();
            (*number, words.join("|"))
        };
        let expect = expect
            .iter()
            .map(|(number, text)| (*number, (*text).to_owned()));
        assert_eq!(
            lines.iter().map(shown).collect::<Vec<_>>(),
            expect.collect::<Vec<_>>()
        );
    }

    #[test]
    fn words_are_those_of_open_mpi() {
        check("", &[]);
        check(
            "a slots=2\n\n b\tslots = 3\r\nc",
            &[(1, "a|slots|=|2"), (3, "b|slots|=|3"), (4, "c")],
        );
        check("# x\n// y\na#b\nc//d\n", &[(3, "a"), (4, "c")]);
        check(
            "/* a\nb */ c /* d */ e\nf/* \" */",
            &[(2, "c"), (2, "e"), (3, "f")],
        );
        check(
            "\"a\" slots=\"2\"\n\"b c\"d",
            &[(1, "a|slots|=|2"), (2, "b c|d")],
        );
        check("a/b \"#\" \"//\" ==", &[(1, "a/b|#|//|=|=")]);
    }

    #[test]
    fn what_does_not_end_is_located() {
        let comment = (2, "the comment after `/*` has no `*/`".to_owned());
        assert_eq!(lines("a\nb /* c\nd"), Err(comment));
        let quote = (1, "a quote is not closed in its line".to_owned());
        assert_eq!(lines("a \"b\nc\""), Err(quote));
    }
}
