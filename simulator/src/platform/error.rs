/// Why a text is no platform.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {fault}")]
pub struct PlatformError {
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
    /// What was met and what would do.
    pub fault: String,
}
