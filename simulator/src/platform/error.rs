//! Errors of platform files: where, what was found, what was expected, and which name is near.

use std::borrow::Cow;

use bsp::NameError;

use super::topology::TopologyProblem;
use super::units::QuantityError;
use crate::profile::ProfileError;

/// Why a text does not describe a platform.
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
        "unsupported platform version `{0}`: expected 4 or 4.1; `simgrid_update_xml` converts older files"
    )]
    Version(String),
    /// A SimGrid file of processes and their hosts.
    #[error(
        "this is a deployment, not a platform: it says which process runs on which host; give the file \
         that declares the hosts"
    )]
    Deployment,
    /// An element of SimGrid that this simulator does not have.
    #[error("{what} is not supported; {instead}")]
    NotSupported {
        /// The element, attribute or value found.
        what: String,
        /// What is expected instead.
        instead: &'static str,
    },
    /// An element that is not allowed there.
    #[error("<{element}> is not allowed inside <{parent}>")]
    MisplacedElement {
        /// The element found.
        element: String,
        /// The element around it.
        parent: String,
    },
    /// An attribute that the element does not have.
    #[error("<{element}> has no attribute `{attribute}`{}", did_you_mean(nearest.as_deref()))]
    UnknownAttribute {
        /// The element.
        element: String,
        /// The attribute found.
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
    /// A value that is not among those allowed.
    #[error("invalid value `{found}` for `{key}`: must be {expected}")]
    InvalidValue {
        /// The key or attribute.
        key: &'static str,
        /// The value found.
        found: String,
        /// What is expected instead.
        expected: &'static str,
    },
    /// A quantity that cannot be read or is out of range.
    #[error("invalid value `{}` for `{key}`: {}", source.text, source.problem)]
    Quantity {
        /// The key or attribute.
        key: &'static str,
        /// What is wrong with it.
        #[source]
        source: QuantityError,
    },
    /// A name that cannot be displayed.
    #[error("invalid name of a {what}: {source}")]
    Name {
        /// What it names.
        what: &'static str,
        /// What is wrong with it.
        #[source]
        source: NameError,
    },
    /// A name given twice.
    #[error("duplicate {what} `{name}`")]
    Duplicate {
        /// What it names.
        what: &'static str,
        /// The repeated name.
        name: String,
    },
    /// A name that is not declared.
    #[error("unknown {what} `{name}`{}", did_you_mean(nearest.as_deref()))]
    Unknown {
        /// What it names.
        what: &'static str,
        /// The name found.
        name: String,
        /// The most similar declared name.
        nearest: Option<String>,
    },
    /// A second route for the same pair.
    #[error(
        "duplicate route from `{from}` to `{to}`; a route also leads back unless it is declared one-way"
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
    /// An end of a route that is not a direct member of the route's zone.
    #[error("`{name}` is not a direct member of zone `{zone}`, which declares this route")]
    OutsideZone {
        /// The end of the route.
        name: String,
        /// The zone around the route.
        zone: String,
    },
    /// A gateway outside its zone.
    #[error("gateway `{gateway}` is not in zone `{zone}`")]
    GatewayOutsideZone {
        /// Name of the gateway.
        gateway: String,
        /// Name of the zone.
        zone: String,
    },
    /// An end of a bypass that is not inside the bypass's zone.
    #[error("`{name}` is not inside zone `{zone}`, which declares this bypass")]
    NotInside {
        /// The end of the bypass.
        name: String,
        /// The zone around the bypass.
        zone: String,
    },
    /// A bypass declared further outside than the zone that connects its ends.
    #[error("`{from}` and `{to}` are both in zone `{zone}`; declare the bypass there")]
    SameBranch {
        /// Where the bypass begins.
        from: String,
        /// Where it ends.
        to: String,
        /// The zone with both.
        zone: String,
    },
    /// A second bypass for the same pair.
    #[error("duplicate bypass from `{from}` to `{to}`")]
    DuplicateBypass {
        /// Where the bypass begins.
        from: String,
        /// Where it ends.
        to: String,
    },
    /// A link with two directions, used without choosing one.
    #[error("link `{link}` has two directions; add direction=\"UP\" or direction=\"DOWN\"")]
    MissingDirection {
        /// Name of the link.
        link: String,
    },
    /// A zone with both hosts and zones.
    #[error("zone `{zone}` has both hosts and zones; put the hosts into a separate zone")]
    MixedZone {
        /// Name of the zone.
        zone: String,
    },
    /// Two Sets that are not connected.
    #[error(
        "Sets `{from}` and `{to}` are not connected; add a [[link]] between them, a [[route]], or an \
         uplink to both"
    )]
    Unconnected {
        /// Name of one Set.
        from: String,
        /// Name of the other.
        to: String,
    },
    /// An invalid profile.
    #[error("{name}: {source}")]
    Profile {
        /// The profile's file or key.
        name: String,
        /// What is wrong with it.
        #[source]
        source: ProfileError,
    },
    /// A line of a profile's file that cannot be read.
    #[error("profile `{file}`, line {line}: invalid line `{found}`: expected `<date> <value>`")]
    ProfileLine {
        /// Name of the file.
        file: String,
        /// Line of that file, from one.
        line: usize,
        /// The line found.
        found: String,
    },
    /// A profile's file that cannot be read.
    #[error("cannot read profile `{file}`: {reason}")]
    ProfileFile {
        /// Name of the file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A value of a profile that is out of range.
    #[error("{name}: invalid value `{value}` at {date} s: must be {expected}")]
    ProfileValue {
        /// The profile's file or key.
        name: String,
        /// Date of the point, in seconds.
        date: f64,
        /// The value found.
        value: f64,
        /// What is expected instead.
        expected: &'static str,
    },
    /// More of something than the simulator supports.
    #[error("{found} {what}, at most {limit} are supported")]
    TooMany {
        /// The things counted.
        what: &'static str,
        /// Number found.
        found: u64,
        /// Highest number supported.
        limit: u64,
    },
    /// A list that should have one entry per host has another length.
    #[error("`{key}` lists {found} values for {hosts} hosts")]
    WrongLength {
        /// The key.
        key: &'static str,
        /// Number of values.
        found: usize,
        /// Hosts of the Set.
        hosts: usize,
    },
    /// Numbers that describe no topology.
    #[error("invalid value for `{key}`: {problem}")]
    Topology {
        /// The key or attribute.
        key: &'static str,
        /// What is wrong with it.
        #[source]
        problem: TopologyProblem,
    },
    /// A platform without hosts.
    #[error("the platform has no hosts")]
    NoHosts,
    /// A platform on which nothing can be computed.
    #[error("all hosts have speed 0, so none can hold a process; give the others their speed")]
    AllIdle,
}

/// An error and its byte offset in the text.
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
    /// Converts the offset to line and column.
    pub(super) fn locate(self, text: &str) -> PlatformError {
        let at = text.floor_char_boundary(self.at);
        let before = &text[..at];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        // Editors do not count a byte order mark.
        let line = before[line_start..].trim_start_matches(MARK);
        PlatformError {
            line: before.matches('\n').count() + 1,
            column: line.chars().count() + 1,
            kind: self.kind,
        }
    }
}

/// The text with blanks in place of a byte order mark.
pub(super) fn without_mark(text: &str) -> Cow<'_, str> {
    text.strip_prefix(MARK).map_or(Cow::Borrowed(text), |rest| {
        Cow::Owned([" ".repeat(MARK.len_utf8()).as_str(), rest].concat())
    })
}

/// The byte order mark.
const MARK: char = '\u{feff}';

/// The most similar of `known`, if any is similar enough to be meant.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let lower = name.to_lowercase();
    let limit = match name.chars().count() {
        0 | 1 => 0,
        length => (length / 3).max(1),
    };
    known
        .into_iter()
        .take(NEAREST_CANDIDATES_MAX)
        .map(|known| {
            let coarse = strsim::damerau_levenshtein(&lower, &known.to_lowercase());
            (coarse, strsim::damerau_levenshtein(name, known), known)
        })
        .filter(|(coarse, _, _)| *coarse <= limit)
        .min_by_key(|(coarse, fine, _)| (*coarse, *fine))
        .map(|(_, _, known)| known.to_owned())
}

/// The end of an error that suggests a name, if there is one.
fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!(", did you mean `{nearest}`?")
    })
}

/// Comparing names takes time; a platform may have hundreds of thousands.
const NEAREST_CANDIDATES_MAX: usize = 10_000;

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

    #[test]
    fn only_similar_names_are_suggested() {
        assert_eq!(
            nearest("speeed", ["core", "speed"]),
            Some("speed".to_owned())
        );
        assert_eq!(nearest("KBps", ["kbps", "kBps"]), Some("kBps".to_owned()));
        assert_eq!(nearest("colour", ["speed", "core"]), None);
    }
}
