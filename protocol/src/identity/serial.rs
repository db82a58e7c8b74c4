use std::fmt;
use std::str::FromStr;

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
