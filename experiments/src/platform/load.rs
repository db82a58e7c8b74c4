//! Reading platform files.

use std::path::Path;

use simulator::{Platform, PlatformError};

use crate::failure::Failure;
use settings::{folder_of, is_stdin, name_of, read};

/// The platform in `file`, TOML or SimGrid XML by the name's ending.
///
/// # Errors
///
/// [`Failure::Input`]: the file cannot be read, or describes no platform; where, and why.
pub fn load(file: &Path) -> Result<Platform, Failure> {
    parse(&read(file).map_err(Failure::input)?, file)
}

/// The platform that `text` describes, the contents of `file`.
///
/// # Errors
///
/// [`Failure::Input`]: it describes no platform; where, and why.
pub fn parse(text: &str, file: &Path) -> Result<Platform, Failure> {
    let name = name_of(file);
    let ending = file.extension().and_then(|ending| ending.to_str());
    let parse = match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("toml") => from_toml,
        Some("xml") => from_xml,
        None if is_stdin(file) && is_xml(text) => from_xml,
        None if is_stdin(file) => from_toml,
        _ => {
            let problem = "the name of a platform file ends in .toml, or in .xml for SimGrid's";
            return Err(Failure::Input(format!("{name}: {problem}")));
        }
    };
    parse(text, file).map_err(|error| {
        let PlatformError { line, column, kind } = error;
        Failure::Input(format!("{name}:{line}:{column}: {kind}"))
    })
}

/// Whether `file` is SimGrid's: by its name, or by its first character on stdin.
pub fn is_simgrid(file: &Path) -> bool {
    if is_stdin(file) {
        return read(file).is_ok_and(|text| is_xml(&text));
    }
    file.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("xml"))
}

fn is_xml(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

fn from_toml(text: &str, _: &Path) -> Result<Platform, PlatformError> {
    Platform::from_toml(text)
}

fn from_xml(text: &str, file: &Path) -> Result<Platform, PlatformError> {
    let folder = folder_of(file);
    let mut profile = |name: &str| read(&folder.join(name)).map_err(|error| error.to_string());
    Platform::from_simgrid_xml(text, &mut profile)
}
