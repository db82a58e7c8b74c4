//! Why a text is no platform: where, what was met, what would do.

use bsp::NameError;

use crate::platform::nearest::did_you_mean;
use crate::platform::units::QuantityError;
use crate::profile::ProfileError;

/// Why a text is no platform.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct PlatformError {
    /// Line of the text, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
    /// What is wrong there.
    #[source]
    pub kind: PlatformErrorKind,
}

/// What is wrong with the text of a platform.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlatformErrorKind {
    /// The text breaks the rules of TOML or XML, or of the table's shape.
    #[error("{0}")]
    Syntax(String),
    /// A SimGrid file of another version.
    #[error(
        "platform version {0}, expected 4 or 4.1; `simgrid_update_xml` brings older files up to date"
    )]
    Version(String),
    /// An element of SimGrid that this simulator does not have.
    #[error("{what} is not supported; {instead}")]
    NotSupported {
        /// The element, attribute or value met.
        what: String,
        /// What would do.
        instead: &'static str,
    },
    /// An element where none of its kind may stand.
    #[error("<{element}> may not stand inside <{parent}>")]
    MisplacedElement {
        /// The element met.
        element: String,
        /// The element around it.
        parent: String,
    },
    /// An attribute that the element does not have.
    #[error("<{element}> has no attribute `{attribute}`{}", did_you_mean(nearest.as_deref()))]
    UnknownAttribute {
        /// The element.
        element: String,
        /// The attribute met.
        attribute: String,
        /// The most similar attribute it does have.
        nearest: Option<String>,
    },
    /// An attribute that the element has to have.
    #[error("<{element}> lacks the attribute `{attribute}`")]
    MissingAttribute {
        /// The element.
        element: String,
        /// The attribute it lacks.
        attribute: &'static str,
    },
    /// A value outside those that may be chosen.
    #[error("{key} is `{met}`, expected {expected}")]
    InvalidValue {
        /// The key or attribute.
        key: &'static str,
        /// The value met.
        met: String,
        /// What would do.
        expected: &'static str,
    },
    /// A number with a unit that cannot be.
    #[error("{key}: {source}")]
    Quantity {
        /// The key or attribute.
        key: &'static str,
        /// What is wrong with it.
        #[source]
        source: QuantityError,
    },
    /// A name that cannot be shown.
    #[error("{what}: {source}")]
    Name {
        /// What it names.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: NameError,
    },
    /// A name given twice.
    #[error("a second {what} named `{name}`")]
    Duplicate {
        /// What it names.
        what: &'static str,
        /// The name met again.
        name: String,
    },
    /// A name that nothing has.
    #[error("no {what} is named `{name}`{}", did_you_mean(nearest.as_deref()))]
    Unknown {
        /// What it names.
        what: &'static str,
        /// The name met.
        name: String,
        /// The most similar name that something has.
        nearest: Option<String>,
    },
    /// A second route for the same pair.
    #[error(
        "a second route from `{from}` to `{to}`; a route also leads back unless it is declared one-way"
    )]
    DuplicateRoute {
        /// Where the route begins.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// A route without links.
    #[error("the route from `{from}` to `{to}` has no links")]
    EmptyRoute {
        /// Where the route begins.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// An end of a route that does not lie directly in the route's zone.
    #[error("`{name}` does not lie directly in zone `{zone}`, whose routes stand here")]
    OutsideZone {
        /// The end of the route.
        name: String,
        /// The zone around the route.
        zone: String,
    },
    /// A gateway outside the zone it should open.
    #[error("gateway `{gateway}` does not lie in zone `{zone}`")]
    GatewayOutsideZone {
        /// Name of the gateway.
        gateway: String,
        /// Name of the zone.
        zone: String,
    },
    /// A link with two directions, used without saying which.
    #[error("link `{link}` has two directions; say direction=\"UP\" or direction=\"DOWN\"")]
    MissingDirection {
        /// Name of the link.
        link: String,
    },
    /// A zone that holds both hosts and zones.
    #[error("zone `{zone}` holds both hosts and zones; put the hosts into a zone of their own")]
    MixedZone {
        /// Name of the zone.
        zone: String,
    },
    /// A host or a zone that no route reaches.
    #[error(
        "no route leads from or to `{name}`; add one, or say routing=\"None\" for zone `{zone}`"
    )]
    Isolated {
        /// Name of the host or zone.
        name: String,
        /// The zone around it.
        zone: String,
    },
    /// Two Sets that nothing connects.
    #[error(
        "nothing connects Sets `{from}` and `{to}`; add a [[link]] between them, a [[route]], or an \
         uplink to both"
    )]
    Unconnected {
        /// Name of one Set.
        from: String,
        /// Name of the other.
        to: String,
    },
    /// A profile that cannot be.
    #[error("{name}: {source}")]
    Profile {
        /// The profile's file or key.
        name: String,
        /// What is wrong with it.
        #[source]
        source: ProfileError,
    },
    /// A line of a profile's file that says nothing known.
    #[error("profile `{file}`, line {line}: met `{met}`, expected `<date> <value>`")]
    ProfileLine {
        /// Name of the file.
        file: String,
        /// Line of that file, from one.
        line: usize,
        /// The line met.
        met: String,
    },
    /// A profile's file that cannot be read.
    #[error("cannot read profile `{file}`: {reason}")]
    ProfileFile {
        /// Name of the file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A value of a profile that the thing it describes cannot take.
    #[error("{name}: the value {value} at {date} s is not {expected}")]
    ProfileValue {
        /// The profile's file or key.
        name: String,
        /// Date of the point, in seconds.
        date: f64,
        /// The value met.
        value: f64,
        /// What would do.
        expected: &'static str,
    },
    /// More of something than the simulator takes.
    #[error("{met} {what}, at most {limit} are supported")]
    TooMany {
        /// The things counted.
        what: &'static str,
        /// How many were met.
        met: u64,
        /// How many may be.
        limit: u64,
    },
    /// A list that should have one entry per host has another length.
    #[error("{key} lists {met} values for {hosts} hosts")]
    WrongLength {
        /// The key.
        key: &'static str,
        /// Values met.
        met: usize,
        /// Hosts of the Set.
        hosts: usize,
    },
    /// A platform on which nothing can run.
    #[error("the platform has no hosts")]
    NoHosts,
}

/// An error and the byte of the text where it shows.
#[derive(Debug)]
pub(super) struct ErrorAt {
    pub(super) at: usize,
    pub(super) kind: PlatformErrorKind,
}

/// Adds the place to an error.
pub(super) trait At<T> {
    fn at(self, at: usize) -> Result<T, ErrorAt>;
}

impl<T> At<T> for Result<T, PlatformErrorKind> {
    fn at(self, at: usize) -> Result<T, ErrorAt> {
        self.map_err(|kind| ErrorAt { at, kind })
    }
}

impl ErrorAt {
    /// Turns the byte into line and column.
    pub(super) fn locate(self, text: &str) -> PlatformError {
        let at = text.floor_char_boundary(self.at);
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        PlatformError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            kind: self.kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let error = ErrorAt {
            at: 9,
            kind: PlatformErrorKind::NoHosts,
        }
        .locate("a = 1\n\u{e9}\u{e9}b");
        assert_eq!((error.line, error.column), (2, 2));
        let beyond = ErrorAt {
            at: 99,
            kind: PlatformErrorKind::NoHosts,
        }
        .locate("x");
        assert_eq!(
            beyond.to_string(),
            "line 1, column 2: the platform has no hosts"
        );
    }
}
