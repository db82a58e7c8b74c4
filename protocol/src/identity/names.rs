//! What a certificate says: names, roles, serial numbers, and periods of validity.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use time::OffsetDateTime;

/// The name of a cluster, a node or a client.
///
/// Invariant: a DNS name in lower case that is not an IP address: labels of `a-z`, `0-9` and inner `-`, each 1
/// to 63 bytes, joined by dots, 253 bytes at most, and not only digits after the last dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid name {found:?}: must be lower-case letters, digits and inner hyphens, parts of at most \
     {LABEL_MAX} joined by dots, as in \"node-3\" or \"n3.cluster\""
)]
pub struct NameError {
    /// The text, its first bytes if it is long.
    pub found: String,
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let last = text.rsplit('.').next().unwrap_or(text);
        let is_address = last.bytes().all(|byte| byte.is_ascii_digit());
        if text.len() <= NAME_MAX && text.split('.').all(is_label) && !is_address {
            Ok(Self(text.to_owned()))
        } else {
            let found = text.chars().take(LABEL_MAX).collect();
            Err(NameError { found })
        }
    }
}

impl Name {
    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_label(label: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LABEL_MAX).contains(&label.len())
        && label.bytes().all(known)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// The serial number of a certificate, unique for its authority.
///
/// Invariant: 1 to 20 bytes, the first of them not zero.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serial(Vec<u8>);

/// Why bytes or a text are not a serial number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid serial number {found:?}: must be 1 to {BYTES_MAX} bytes as hexadecimal digits, not all zero"
)]
pub struct SerialError {
    /// The text, or its first characters if it is long.
    pub found: String,
}

impl Serial {
    /// The number with these bytes, most significant first.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, SerialError> {
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let number = &bytes[zeros..];
        if (1..=BYTES_MAX).contains(&number.len()) {
            return Ok(Self(number.to_owned()));
        }
        let raw = bytes.iter().take(BYTES_MAX);
        Err(SerialError {
            found: raw.map(|byte| format!("{byte:02x}")).collect(),
        })
    }

    /// Its bytes, most significant first.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for Serial {
    type Err = SerialError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = hexadecimal(text).and_then(|bytes| Self::from_bytes(&bytes).ok());
        bytes.ok_or_else(|| SerialError {
            found: text.chars().take(2 * BYTES_MAX).collect(),
        })
    }
}

/// Two hexadecimal digits for each byte.
impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits?;
    let (pairs, rest) = digits.as_chunks::<2>();
    let byte = |[high, low]: &[u32; 2]| u8::try_from(16 * high + low).ok();
    rest.is_empty()
        .then(|| pairs.iter().map(byte).collect())
        .flatten()
}

/// Bytes of a serial number that X.509 allows.
const BYTES_MAX: usize = 20;

/// The role of a member of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Speaks for hosts and the processes on them.
    Node,
    /// A node that also manages a Set, and sends orders to other nodes.
    SetManager,
    /// Submits jobs and follows them; speaks for no agent.
    Client,
}

impl Role {
    /// Whether a member in this role may take a place that needs the role `needed`: a node that may manage a Set need not.
    #[must_use]
    pub fn serves_as(self, needed: Self) -> bool {
        self == needed || (self, needed) == (Self::SetManager, Self::Node)
    }
}

/// The member of a cluster that holds a certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// Its cluster.
    pub cluster: Name,
    /// Its role.
    pub role: Role,
    /// Its name in the cluster.
    pub name: Name,
}

/// Why a URI is not a subject.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// Not of the form `migbsp://<cluster>/<role>/<name>`.
    #[error("{found:?}, expected {SCHEME}<cluster>/<role>/<name>")]
    Form {
        /// The URI, or its first characters if it is long.
        found: String,
    },
    /// Not a role.
    #[error("invalid role {found:?}: must be node, set-manager or client")]
    Role {
        /// The text, or its first characters if it is long.
        found: String,
    },
    /// Not a name.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Node => "node",
            Self::SetManager => "set-manager",
            Self::Client => "client",
        })
    }
}

impl FromStr for Role {
    type Err = SubjectError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "node" => Ok(Self::Node),
            "set-manager" => Ok(Self::SetManager),
            "client" => Ok(Self::Client),
            _ => Err(SubjectError::Role {
                found: shortened(text),
            }),
        }
    }
}

/// The URI.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            cluster,
            role,
            name,
        } = self;
        write!(f, "{SCHEME}{cluster}/{role}/{name}")
    }
}

impl FromStr for Subject {
    type Err = SubjectError;

    fn from_str(uri: &str) -> Result<Self, Self::Err> {
        let form = || SubjectError::Form {
            found: shortened(uri),
        };
        let mut parts = uri.strip_prefix(SCHEME).ok_or_else(form)?.splitn(3, '/');
        let mut part = || parts.next().ok_or_else(form);
        Ok(Self {
            cluster: part()?.parse()?,
            role: part()?.parse()?,
            name: part()?.parse()?,
        })
    }
}

/// The first characters of a text, for an error.
fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

pub(super) const SCHEME: &str = "migbsp://";

/// The period in which a certificate is valid.
///
/// Invariant: `from` is before `until`, both between 1970 and 9999, in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    from: SystemTime,
    until: SystemTime,
}

/// Why two times are not a period of validity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "valid from {from:?} until {until:?}, expected two times in this order before the year 9999"
)]
pub struct ValidityError {
    /// The beginning.
    pub from: SystemTime,
    /// The end.
    pub until: SystemTime,
}

impl Validity {
    /// Valid from `from` until `until`, both cut to whole seconds.
    ///
    /// # Errors
    ///
    /// If `from` is not before `until`, or a certificate cannot express them.
    pub fn new(from: SystemTime, until: SystemTime) -> Result<Self, ValidityError> {
        let error = ValidityError { from, until };
        let whole = |time: SystemTime| {
            let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
            (seconds < YEAR_9999).then(|| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        };
        let (Some(from), Some(until)) = (whole(from), whole(until)) else {
            return Err(error);
        };
        if until <= from {
            return Err(error);
        }
        Ok(Self { from, until })
    }

    /// Valid for `length` from `now`, and for the day before, because clocks of hosts differ.
    ///
    /// # Errors
    ///
    /// If that ends in the year 9999 or later.
    pub fn from_now(now: SystemTime, length: Duration) -> Result<Self, ValidityError> {
        let from = now.checked_sub(CLOCKS_DIFFER).unwrap_or(now);
        let until = now.checked_add(length).unwrap_or(now);
        Self::new(from, until)
    }

    /// Its beginning.
    #[must_use]
    pub const fn from(&self) -> SystemTime {
        self.from
    }

    /// Its end.
    #[must_use]
    pub const fn until(&self) -> SystemTime {
        self.until
    }

    /// Whether it is over at `now`. The last second belongs to it, as in the verification of certificates.
    #[must_use]
    pub fn has_ended(&self, now: SystemTime) -> bool {
        self.until + Duration::from_secs(1) <= now
    }

    /// Whether it ends at `now`, or within `length` from then on.
    #[must_use]
    pub fn ends_within(&self, length: Duration, now: SystemTime) -> bool {
        now.checked_add(length).is_some_and(|end| self.until < end)
    }

    /// Whether it includes `now`.
    #[must_use]
    pub fn includes(&self, now: SystemTime) -> bool {
        self.from <= now && now <= self.until
    }
}

/// The time as in RFC 3339, in UTC, to the second.
#[must_use]
pub fn date(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let (hour, minute, second) = time.to_hms();
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", time.date())
}

const CLOCKS_DIFFER: Duration = Duration::from_secs(24 * 3600);
const YEAR_9999: u64 = 253_370_764_800;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn dates_are_in_utc() {
        assert_eq!(date(at(0)), "1970-01-01T00:00:00Z");
        assert_eq!(date(at(951_782_399)), "2000-02-28T23:59:59Z");
        assert_eq!(date(at(951_782_400)), "2000-02-29T00:00:00Z");
        assert_eq!(date(at(1_800_000_000)), "2027-01-15T08:00:00Z");
    }

    #[test]
    fn names_are_dns_names_in_lower_case() {
        for text in ["a", "node-3", "n3.cluster.example", "4u", &"x".repeat(63)] {
            assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
        }
        let long = format!("{}.", "x".repeat(63)).repeat(4) + "x";
        for text in [
            "",
            "Node",
            "n_3",
            "-a",
            "a-",
            "a..b",
            ".a",
            "a.",
            "7",
            "10.0.0.1",
            "a/b",
            "ä",
            &long,
            &"x".repeat(64),
        ] {
            assert!(text.parse::<Name>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn serial_numbers_are_printed_in_canonical_form() {
        for (text, expect) in [
            ("01", "01"),
            ("0aFf", "0aff"),
            ("0000b5", "b5"),
            (&"7f".repeat(20), &"7f".repeat(20)),
        ] {
            assert_eq!(text.parse::<Serial>().unwrap().to_string(), expect);
        }
    }

    #[test]
    fn invalid_serial_numbers_are_refused() {
        for text in [
            "",
            "0",
            "00",
            "1",
            "b5c",
            "+1",
            "0x01",
            "ä",
            &"01".repeat(21),
        ] {
            assert!(text.parse::<Serial>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_subject_is_read_from_its_uri() {
        for role in [Role::Node, Role::SetManager, Role::Client] {
            let subject = Subject {
                cluster: "lab".parse().unwrap(),
                role,
                name: "node-3".parse().unwrap(),
            };
            assert_eq!(subject.to_string().parse(), Ok(subject));
        }
    }

    #[test]
    fn invalid_uris_are_refused_with_a_reason() {
        for (uri, expect) in [
            (
                "https://lab/node/n3",
                "\"https://lab/node/n3\", expected migbsp://<cluster>/<role>/<name>",
            ),
            (
                "migbsp://lab/node",
                "\"migbsp://lab/node\", expected migbsp://<cluster>/<role>/<name>",
            ),
            (
                "migbsp://lab/root/n3",
                "invalid role \"root\": must be node, set-manager or client",
            ),
        ] {
            assert_eq!(uri.parse::<Subject>().unwrap_err().to_string(), expect);
        }
        assert!("migbsp://lab/node/n3/x".parse::<Subject>().is_err());
    }

    #[test]
    fn validity_begins_a_day_early() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let hour = Duration::from_secs(3600);
        let validity = Validity::from_now(now, 2 * hour).unwrap();
        assert!(validity.includes(now - hour));
        assert!(validity.includes(now + hour));
        assert!(!validity.includes(now + 3 * hour));
    }

    #[test]
    fn validity_ends_after_it_begins() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert!(Validity::new(now, now).is_err());
        assert!(Validity::from_now(now, Duration::MAX).is_ok_and(|v| v.until() == now));
        assert!(Validity::from_now(now, Duration::from_secs(YEAR_9999)).is_err());
    }
}
