//! Sequences of letters: out of a FASTA file, or drawn.

use std::collections::BTreeSet;
use std::num::NonZero;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use seq_io::fasta::{self, Record};

use crate::draws::{generator, unit};
use crate::parameters::collected;
use crate::smith_waterman::kernel::scoring::Substitution;

/// A sequence, its letters as codes of a [`Substitution`].
///
/// Invariant: there is at least one letter, and each is one of the substitution's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    codes: Vec<u8>,
}

/// The two sequences that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The rows of the matrix.
    pub query: Sequence,
    /// The columns of the matrix.
    pub subject: Sequence,
}

/// Why there is no sequence in what should be FASTA.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Something before the first record.
    #[error("is not FASTA: line {line} begins with `{}`, expected `>` and the name of a record", shown(*found))]
    Start {
        /// The line, from 1.
        line: usize,
        /// Its first byte.
        found: u8,
    },
    /// Nothing but empty lines.
    #[error("holds no record, expected a line with `>` and a name, and lines of letters below it")]
    NoRecord,
    /// Several records, and no parameter chooses one.
    #[error("holds {} records ({}), expected `{key}` to name one of them", names.len(), listed(names))]
    Several {
        /// The parameter that chooses.
        key: String,
        /// What the records are called.
        names: Vec<String>,
    },
    /// Several records of one name.
    #[error("holds {number} records called `{name}`, expected names that tell records apart")]
    SameName {
        /// What they are called.
        name: String,
        /// How many they are.
        number: usize,
    },
    /// No record of that name.
    #[error("holds no record `{name}`; there {}", known(names))]
    NoSuchRecord {
        /// What was looked for.
        name: String,
        /// What the records are called.
        names: Vec<String>,
    },
    /// A record with a name and nothing else.
    #[error("holds no letter in record `{record}`, expected at least one")]
    Empty {
        /// The record's name.
        record: String,
    },
    /// A letter that has no score.
    #[error(
        "has `{}` in line {line}, position {position} of record `{record}`, expected one of {expected}",
        shown(*found)
    )]
    Letter {
        /// The record's name.
        record: String,
        /// The byte found.
        found: u8,
        /// The line, from 1.
        line: usize,
        /// Where in the record, from 1, line ends not counted.
        position: usize,
        /// The letters allowed.
        expected: &'static str,
    },
}

/// The letters of a record as they stand in its file.
struct Lines {
    /// The line in which they begin.
    first: usize,
    lines: Vec<Vec<u8>>,
}

impl Sequence {
    /// The record called `name`, or the only one, of a FASTA file that `text` is the content of.
    ///
    /// `key` is the parameter that names the file; the record's is `key` with `_record`. Blanks at the
    /// end of a line are no letters, and a byte order mark before the first record is nothing.
    ///
    /// # Errors
    ///
    /// If it is not FASTA, if it is not clear which record is meant, or if that one is empty or has
    /// letters without a score.
    pub fn from_fasta(
        text: &[u8],
        key: &str,
        name: Option<&str>,
        substitution: Substitution,
    ) -> Result<Self, Error> {
        let mut records = Vec::new();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let mut reader = fasta::Reader::new(text);
        while let Some(record) = reader.next() {
            let record = record.map_err(|error| Error::from_reader(&error))?;
            let name = String::from_utf8_lossy(record.id_bytes()).into_owned();
            let lines: Vec<Vec<u8>> = record
                .seq_lines()
                .map(|line| line.trim_ascii_end().to_vec())
                .collect();
            let line = reader.position().map_or(1, |position| {
                usize::try_from(position.line()).unwrap_or(usize::MAX)
            });
            records.push((
                name,
                Lines {
                    first: line + 1,
                    lines,
                },
            ));
        }
        let names = || records.iter().map(|(name, _)| name.clone()).collect();
        // Records of one name cannot be distinguished, so none of them can be chosen.
        let mut found = BTreeSet::new();
        let asked = records.iter().map(|(record, _)| record.as_str());
        let mut asked = asked.filter(|record| name.is_none_or(|name| name == *record));
        if let Some(twice) = asked.find(|record| !found.insert(*record)) {
            let same = records.iter().filter(|(record, _)| record == twice);
            return Err(Error::SameName {
                name: twice.to_owned(),
                number: same.count(),
            });
        }
        let (record, lines) = match (name, records.as_slice()) {
            (_, []) => return Err(Error::NoRecord),
            (None, [only]) => only,
            (None, _) => {
                let key = format!("{key}_record");
                return Err(Error::Several {
                    key,
                    names: names(),
                });
            }
            (Some(name), _) => {
                let found = records.iter().find(|(record, _)| record == name);
                found.ok_or_else(|| Error::NoSuchRecord {
                    name: name.to_owned(),
                    names: names(),
                })?
            }
        };
        Self::encode(record, lines, substitution)
    }

    fn encode(record: &str, lines: &Lines, substitution: Substitution) -> Result<Self, Error> {
        let mut codes = Vec::new();
        for (line, letters) in (lines.first..).zip(&lines.lines) {
            for letter in letters {
                let code = substitution.code(*letter).ok_or_else(|| Error::Letter {
                    record: record.to_owned(),
                    found: *letter,
                    line,
                    position: codes.len() + 1,
                    expected: str::from_utf8(substitution.letters()).expect("letters are ASCII"),
                })?;
                codes.push(code);
            }
        }
        if codes.is_empty() {
            let record = record.to_owned();
            return Err(Error::Empty { record });
        }
        Ok(Self { codes })
    }

    /// The letters' codes.
    pub(super) fn codes(&self) -> &[u8] {
        &self.codes
    }
}

impl Pair {
    /// A sequence of `length` residues, each as likely as any other, and a mutated copy of it: a
    /// letter of the copy is another one, left out, or followed by a new one with probability
    /// `divergence` in all; eight of ten mutations exchange a letter. `None` if there is no memory for them.
    pub(super) fn drawn(
        length: NonZero<u32>,
        divergence: f64,
        substitution: Substitution,
        seed: u64,
    ) -> Option<Self> {
        let mut letters = Letters {
            generator: generator(seed, b"two sequences to align  ", 0),
            residues: substitution.residues(),
        };
        let count = usize::try_from(length.get()).ok()?;
        let query = collected(count, (0..length.get()).map(|_| letters.any()))?;
        let mut subject = Vec::new();
        subject.try_reserve_exact(count).ok()?;
        for letter in &query {
            // A letter may be followed by a new one.
            subject.try_reserve(2).ok()?;
            if divergence <= unit(letters.generator.next_u64()) {
                subject.push(*letter);
                continue;
            }
            match letters.below(10) {
                0 => {}
                1 => subject.extend([*letter, letters.any()]),
                _ => subject.push(letters.other_than(*letter)),
            }
        }
        if subject.is_empty() {
            subject.push(query[0]);
        }
        let [query, subject] = [query, subject].map(|codes| Sequence { codes });
        Some(Self { query, subject })
    }
}

impl Error {
    fn from_reader(error: &fasta::Error) -> Self {
        match *error {
            fasta::Error::InvalidStart { line, found } => Self::Start { line, found },
            fasta::Error::Io(_) | fasta::Error::BufferLimit => {
                unreachable!("reading from memory into a buffer without limit")
            }
        }
    }
}

/// Draws letters.
struct Letters {
    generator: ChaCha8Rng,
    residues: u32,
}

impl Letters {
    /// A number below `bound`, each as likely as any other but for 2⁻³² of the draws.
    fn below(&mut self, bound: u32) -> u8 {
        let scaled = (u64::from(self.generator.next_u32()) * u64::from(bound)) >> 32;
        u8::try_from(scaled).expect("there are fewer letters than 256")
    }

    fn any(&mut self) -> u8 {
        self.below(self.residues)
    }

    fn other_than(&mut self, letter: u8) -> u8 {
        let other = self.below(self.residues - 1);
        other + u8::from(letter <= other)
    }
}

fn known(names: &[String]) -> String {
    match names {
        [one] => format!("is `{one}`"),
        several => format!("are {}", listed(several)),
    }
}

/// The first names of a list that may be long.
fn listed(names: &[String]) -> String {
    let first = names.get(..NAMES_MAX).unwrap_or(names);
    let text = first.join(", ");
    match names.len() - first.len() {
        0 => text,
        more => format!("{text}, … {more} more"),
    }
}

/// A byte as it can be read: it need not be one of ASCII, or a character at all.
fn shown(byte: u8) -> String {
    if byte.is_ascii_graphic() || byte == b' ' {
        char::from(byte).to_string()
    } else {
        byte.escape_ascii().to_string()
    }
}

/// What some editors begin a file with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Most names of records in an error.
const NAMES_MAX: usize = 10;
