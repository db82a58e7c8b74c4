//! Reading the instance that the arguments name.

use std::path::Path;

use analysis::rebalance::Instance;
use experiments::Failure;
use settings::{name_of, read};

/// The instance in `file`, or on stdin if it is called `-`.
///
/// # Errors
///
/// If it cannot be read, or is not an instance: says where, what is there, and what is expected.
pub(super) fn read_instance(file: &Path) -> Result<Instance, Failure> {
    let text = read(file).map_err(Failure::input)?;
    Instance::from_json(&name_of(file), text)
}
