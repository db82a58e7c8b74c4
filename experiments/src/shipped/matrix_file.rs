//! Matrices in files that parameters name.

use settings::Files;
use workloads::{Matrix, MatrixError};

use crate::workload::Unbuilt;

/// The matrix in the CSV file `file`, the value of the parameter `key`, if it is as `accept` wants it.
pub(super) fn read(
    (key, file): (&str, &str),
    files: Files<'_>,
    accept: impl FnOnce(Matrix) -> Result<Matrix, MatrixError>,
) -> Result<Matrix, Unbuilt> {
    let text = files.read(key, file)?;
    Matrix::from_csv(&text).and_then(accept).map_err(|error| {
        let path = files.path(key, file);
        Unbuilt::File(format!("`{key}`: {} {error}", path.display()))
    })
}
