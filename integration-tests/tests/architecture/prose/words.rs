//! The words of prose, with their lines: of Markdown without code, and of the comments and strings of Rust.

/// A word in lower case; an empty one separates clauses, so that no phrase crosses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its letters.
    pub(crate) text: String,
    /// Its line, from 1.
    pub(crate) line: usize,
}

/// The words of Markdown outside blocks and spans of code.
pub(crate) fn of_markdown(text: &str) -> Vec<Word> {
    let mut words = Words::default();
    let (mut is_block, mut is_span) = (false, false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_block = !is_block;
        } else if !is_block {
            is_span &= !line.trim().is_empty();
            for character in line.chars() {
                is_span ^= character == '`';
                words.push(if is_span { '`' } else { character });
            }
            if line.trim().is_empty() {
                words.separate();
            }
        }
        words.push('\n');
    }
    words.all
}

/// The words of Rust's comments and strings; consecutive comments are one text.
pub(crate) fn of_rust(text: &str) -> Vec<Word> {
    let mut words = Words::default();
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < characters.len() {
        let rest = &characters[at..];
        at += match rest {
            ['/', '/', ..] => words.line_comment(rest),
            ['/', '*', ..] => words.block_comment(rest),
            ['"', ..] => words.string(rest),
            ['r', '"' | '#', ..] if raw_hashes(rest).is_some() => words.raw_string(rest),
            ['\'', '\\', _, '\'', ..] => words.code(4),
            ['\'', _, '\'', ..] => words.code(3),
            [character, ..] if character.is_whitespace() => words.push(*character),
            // An identifier as a whole, so that the `r` at its end begins no raw string.
            [character, ..] if is_letter(*character) => {
                let length = rest.iter().take_while(|c| is_letter(**c)).count();
                words.code(length)
            }
            _ => words.code(1),
        };
    }
    words.all
}

/// The number of hashes of a raw string that begins here.
fn raw_hashes(rest: &[char]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
    (rest.get(1 + hashes) == Some(&'"')).then_some(hashes)
}

fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Words in the making.
#[derive(Debug, Default)]
struct Words {
    all: Vec<Word>,
    /// Whether the last word may go on.
    is_open: bool,
    /// Newlines so far.
    lines: usize,
}

impl Words {
    /// Takes one character of prose, and returns 1.
    fn push(&mut self, character: char) -> usize {
        if is_letter(character) || character == '\'' || character == '-' {
            if !self.is_open {
                self.all.push(Word {
                    text: String::new(),
                    line: self.lines + 1,
                });
                self.is_open = true;
            }
            if let Some(word) = self.all.last_mut() {
                word.text.extend(character.to_lowercase());
            }
        } else {
            self.is_open = false;
            self.lines += usize::from(character == '\n');
            // Emphasis separates nothing.
            if !character.is_whitespace() && character != '*' {
                self.separate();
            }
        }
        1
    }

    fn separate(&mut self) {
        self.is_open = false;
        if self.all.last().is_some_and(|word| !word.text.is_empty()) {
            self.all.push(Word {
                text: String::new(),
                line: self.lines + 1,
            });
        }
    }

    /// Skips code, and returns its length.
    fn code(&mut self, length: usize) -> usize {
        self.separate();
        length
    }

    fn line_comment(&mut self, rest: &[char]) -> usize {
        let length = rest.iter().take_while(|c| **c != '\n').count();
        let marks = rest.iter().take_while(|c| **c == '/' || **c == '!').count();
        self.is_open = false;
        for character in &rest[marks.min(length)..length] {
            self.push(*character);
        }
        if marks == length {
            self.separate();
        }
        length
    }

    fn block_comment(&mut self, rest: &[char]) -> usize {
        let (mut depth, mut at) = (0, 0);
        while at < rest.len() {
            match &rest[at..] {
                ['/', '*', ..] => {
                    depth += 1;
                    at += 2;
                }
                ['*', '/', ..] => {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        break;
                    }
                }
                [character, ..] => at += self.push(*character),
                [] => break,
            }
        }
        at
    }

    /// A string; escapes and placeholders separate, a broken line does not.
    fn string(&mut self, rest: &[char]) -> usize {
        self.separate();
        let (mut at, mut is_placeholder) = (1, false);
        while at < rest.len() {
            match &rest[at..] {
                ['"', ..] => break,
                ['\\', '\n', ..] => at += 1 + self.push('\n'),
                ['\\', _, ..] => at += 1 + self.code(1),
                [character, ..] => {
                    is_placeholder = *character == '{' || is_placeholder && *character != '}';
                    at += self.push(if is_placeholder { '{' } else { *character });
                }
                [] => break,
            }
        }
        self.separate();
        at + 1
    }

    fn raw_string(&mut self, rest: &[char]) -> usize {
        self.separate();
        let hashes = raw_hashes(rest).unwrap_or_default();
        let mut at = 2 + hashes;
        while at < rest.len() {
            let is_end = rest[at] == '"'
                && rest[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
            if is_end {
                break;
            }
            at += self.push(rest[at]);
        }
        self.separate();
        at + 1 + hashes
    }
}
