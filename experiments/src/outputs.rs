//! The outputs of programs, as the contents of files.

mod array;
mod error;
mod file;
mod form;
mod format;
mod rows;
mod value;

use serde::Serialize;

pub use array::Numbers;
pub use error::OutputsError;
pub use file::OutputFile;
pub(crate) use form::check as check_form;
pub use format::OutputsFormat;

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

#[cfg(test)]
mod tests;
