//! JSON files that show whether they were changed.
//!
//! ```json
//! {
//! "format": "migbsp.checkpoint/1",
//! "sha256": "<of the bytes of the value>",
//! "manifest": <value>
//! }
//! ```
//!
//! All but the value is the same byte for byte in every file. A value has no backslashes, and no more than
//! [`PLAIN_MAX`] bytes between two quotation marks: so decoding it needs no buffer for a text or number of any length.

use bsp::numbers::length;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::flaw::{Flaw, Part, Problem};

/// A kind of file.
pub(super) trait Sealed: Serialize + DeserializeOwned {
    /// The key of the value.
    const KEY: &'static str;
    /// What the file is.
    const PART: Part;
}

/// The file of `value`; `None`: it has a text that may not be in it.
pub(super) fn seal<T: Sealed>(value: &T) -> Option<Vec<u8>> {
    let value = serde_json::to_string_pretty(value).ok()?;
    let digest = hexadecimal(&Sha256::digest(&value));
    let key = T::KEY;
    let file = format!("{BEFORE}{VERSION}{DIGEST}{digest}\",\n\"{key}\": {value}{AFTER}");
    is_plain(value.as_bytes()).then(|| file.into_bytes())
}

/// The value in `file`.
pub(super) fn open<T: Sealed>(file: &[u8]) -> Result<T, Flaw> {
    let mut cursor = Cursor {
        file,
        offset: 0,
        part: T::PART,
    };
    cursor.expect(BEFORE)?;
    let version = cursor.version()?;
    if version != u64::from(VERSION) {
        let problem = Problem::Version {
            found: version,
            expected: VERSION,
        };
        return Err(Flaw::new(length(BEFORE.len()), problem));
    }
    cursor.expect(DIGEST)?;
    let digest = cursor.take(DIGEST_LEN)?;
    cursor.expect("\",\n\"")?;
    cursor.expect(T::KEY)?;
    cursor.expect("\": ")?;
    let start = cursor.offset;
    let value = &file[start..];
    let Some(value) = value.strip_suffix(AFTER.as_bytes()) else {
        return Err(Flaw::new(length(file.len()), Problem::Ended(T::PART)));
    };
    let at_start = |problem| Flaw::new(length(start), problem);
    if hexadecimal(&Sha256::digest(value)).as_bytes() != digest {
        return Err(at_start(Problem::Checksum(T::PART)));
    }
    if !is_plain(value) {
        let problem = "a text is too long, or has a backslash".to_owned();
        return Err(at_start(Problem::Invalid(problem)));
    }
    serde_json::from_slice(value).map_err(|error| {
        let lines = value.split_inclusive(|byte| *byte == b'\n');
        let before: usize = lines
            .take(error.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        let offset = start + before + error.column().saturating_sub(1);
        Flaw::new(length(offset), Problem::Invalid(error.to_string()))
    })
}

/// `bytes` as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits.map(digit).collect()
}

/// Whether a value can be decoded in little memory.
fn is_plain(value: &[u8]) -> bool {
    !value.contains(&b'\\')
        && value
            .split(|byte| *byte == b'"')
            .all(|part| part.len() <= PLAIN_MAX)
}

/// A file of which a part has been read.
struct Cursor<'a> {
    file: &'a [u8],
    offset: usize,
    part: Part,
}

impl<'a> Cursor<'a> {
    /// Reads `text`, which is the same in every file.
    fn expect(&mut self, text: &str) -> Result<(), Flaw> {
        let rest = self.file[self.offset..].iter();
        let same = rest
            .zip(text.as_bytes())
            .take_while(|(one, other)| one == other);
        let same = same.count();
        self.offset += same;
        if same == text.len() {
            return Ok(());
        }
        let problem = if self.offset == self.file.len() {
            Problem::Ended(self.part)
        } else {
            Problem::Foreign(self.part)
        };
        Err(Flaw::new(length(self.offset), problem))
    }

    /// Reads a number of few digits.
    fn version(&mut self) -> Result<u64, Flaw> {
        let rest = self.file[self.offset..].iter().take(VERSION_DIGITS);
        let digits = rest.take_while(|byte| byte.is_ascii_digit()).count();
        let text = self.take(digits)?;
        let version = std::str::from_utf8(text).ok();
        let version = version.and_then(|text| text.parse().ok());
        version.ok_or_else(|| {
            let at_end = self.offset == self.file.len();
            let problem = if at_end {
                Problem::Ended
            } else {
                Problem::Foreign
            };
            Flaw::new(length(self.offset), problem(self.part))
        })
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Flaw> {
        let taken = self.file[self.offset..]
            .get(..count)
            .ok_or_else(|| Flaw::new(length(self.file.len()), Problem::Ended(self.part)))?;
        self.offset += count;
        Ok(taken)
    }
}

const BEFORE: &str = "{\n\"format\": \"migbsp.checkpoint/";
const DIGEST: &str = "\",\n\"sha256\": \"";
const AFTER: &str = "\n}\n";
const VERSION: u32 = 1;
const VERSION_DIGITS: usize = 9;
const DIGEST_LEN: usize = 64;
const PLAIN_MAX: usize = 1024;
const DIGITS: &[u8; 16] = b"0123456789abcdef";
