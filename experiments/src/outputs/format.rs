//! The formats of outputs.

use std::path::Path;

/// How the outputs of a run are written, by the ending of a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputsFormat {
    /// `.json`: a list, an output for each process. Numbers that are not finite are `null`.
    Json,
    /// `.csv`: a row for each process, a column for each number or text in its output.
    Csv,
    /// `.msgpack`: the same list as JSON, with all floating-point numbers.
    MessagePack,
    /// `.npy`: an array whose first axis is the processes, of numbers or of arrays of equal shape.
    Npy,
}

impl OutputsFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Json, Self::Csv, Self::MessagePack, Self::Npy];

    /// The ending of names, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::MessagePack => "msgpack",
            Self::Npy => "npy",
        }
    }

    /// The format of a file with this name; `None` for any other ending.
    #[must_use]
    pub fn of_file(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_str()?;
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.ending().eq_ignore_ascii_case(ending))
    }

    /// The endings of the others, in a list.
    pub(super) fn others(self) -> String {
        let others = Self::ALL.into_iter().filter(|other| *other != self);
        let endings: Vec<String> = others
            .map(|other| format!("`.{}`", other.ending()))
            .collect();
        endings.join(", ")
    }
}
