//! Reading the instance that the arguments name.

use std::io::Read as _;
use std::path::Path;

use analysis::rebalance::Instance;
use experiments::Failure;
use settings::read;

/// The instance in `file`, or on stdin if it is called `-`.
///
/// # Errors
///
/// If it cannot be read, or is not an instance: says where, what is there, and what is expected.
pub(super) fn read_instance(file: &Path) -> Result<Instance, Failure> {
    if file == Path::new("-") {
        return Instance::from_json("stdin", read_stdin()?);
    }
    let text = read(file).map_err(Failure::input)?;
    Instance::from_json(&file.display().to_string(), text)
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::input(format!("stdin: cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to() + 1;
        Failure::input(format!("stdin: is not UTF-8 at byte {byte}"))
    })
}
