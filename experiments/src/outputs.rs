//! The outputs of programs, as the contents of files.

mod array;
mod file;
mod form;
mod rows;
mod value;

use std::path::Path;

use serde::Serialize;

pub use array::Numbers;
pub use file::OutputFile;
pub(crate) use form::check as check_form;

/// The `outputs` of programs, by rank, in a format.
///
/// # Errors
///
/// If the format cannot hold them.
pub(crate) fn encode<Output: Serialize>(
    outputs: &[Output],
    format: OutputsFormat,
) -> Result<Vec<u8>, OutputsError> {
    match format {
        OutputsFormat::Json => {
            let mut text = serde_json::to_vec(outputs)
                .map_err(|error| OutputsError::new(format, error.to_string()))?;
            text.push(b'\n');
            Ok(text)
        }
        OutputsFormat::MessagePack => rmp_serde::to_vec_named(outputs)
            .map_err(|error| OutputsError::new(format, error.to_string())),
        OutputsFormat::Csv => {
            let values = value::values(outputs);
            let rows = values.and_then(|values| rows::csv(&values));
            rows.map_err(|problem| OutputsError::new(format, problem))
        }
        OutputsFormat::Npy => {
            let values = value::values(outputs);
            let array = values.and_then(|values| array::of_outputs(&values));
            array.map_err(|problem| OutputsError::new(format, problem))
        }
    }
}

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

/// Why the outputs of a run cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outputs cannot be written as `.{}`: {problem}; other endings are {}", format.ending(), format.others())]
pub struct OutputsError {
    format: OutputsFormat,
    problem: String,
}

impl OutputsError {
    pub(super) fn new(format: OutputsFormat, problem: String) -> Self {
        Self { format, problem }
    }
}

#[cfg(test)]
mod tests;
