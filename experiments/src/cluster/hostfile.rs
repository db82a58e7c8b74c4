//! A line of a hostfile: Open MPI's syntax, and keys of ours.

use std::net::IpAddr;

use protocol::identity::Name;

use crate::cluster::address::address;
use settings::list;
use settings::nearest;

/// A host, as a line describes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) name: Name,
    pub(super) slots: u32,
    pub(super) set: Option<String>,
    pub(super) speed: Option<f64>,
    /// As `host:port`.
    pub(super) address: Option<String>,
}

/// Reads a line; `None` if there is no host in it.
pub(super) fn line(text: &str) -> Result<Option<Line>, String> {
    let said = text.split('#').next().unwrap_or(text);
    // Open MPI allows for spaces around the sign.
    let spaced = said.replace('=', " = ");
    let mut words = spaced.split_whitespace();
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let name = name(first)?;
    let mut settings = Settings::default();
    while let Some(key) = words.next() {
        let value = (words.next() == Some("="))
            .then(|| words.next())
            .flatten()
            .filter(|value| *value != "=");
        settings.set(key, value)?;
    }
    settings.line(name).map(Some)
}

/// A name that is valid in a certificate.
pub(super) fn name(text: &str) -> Result<Name, String> {
    text.parse().map_err(|error| {
        if text.parse::<IpAddr>().is_ok() {
            format!(
                "{text} is an address; give the host a name: `node-1 addr={}`",
                host(text)
            )
        } else {
            format!("{error}; a host is called what its certificate says")
        }
    })
}

/// The keys of a line.
#[derive(Debug, Default)]
struct Settings {
    slots: Option<u32>,
    slots_max: Option<u32>,
    set: Option<String>,
    speed: Option<f64>,
    address: Option<String>,
}

impl Settings {
    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), String> {
        if !KEYS.contains(&key) {
            return Err(match nearest(key, &KEYS) {
                Some(nearest) => format!("unknown key `{key}`; did you mean `{nearest}`?"),
                None => format!("unknown key `{key}`; known here: {}", list(&KEYS)),
            });
        }
        let value = value.ok_or_else(|| format!("`{key}` without a value, must be `{key}=…`"))?;
        let within = |problem: String| format!("{key}: {problem}");
        let is_new = match key {
            "slots" => self.slots.replace(count(value).map_err(within)?).is_none(),
            "set" => self.set.replace(set(value).map_err(within)?).is_none(),
            "speed" => self.speed.replace(speed(value).map_err(within)?).is_none(),
            "addr" => self
                .address
                .replace(address(value).map_err(within)?)
                .is_none(),
            _ => self
                .slots_max
                .replace(count(value).map_err(within)?)
                .is_none(),
        };
        if is_new {
            Ok(())
        } else {
            Err(format!("{key}: said twice in one line"))
        }
    }

    fn line(self, name: Name) -> Result<Line, String> {
        if let (Some(slots), Some(max)) = (self.slots, self.slots_max)
            && max < slots
        {
            return Err(format!("slots: {slots} is above max_slots, which is {max}"));
        }
        Ok(Line {
            name,
            // As in Open MPI: a bound alone sets the number.
            slots: self.slots.or(self.slots_max).unwrap_or(1),
            set: self.set,
            speed: self.speed,
            address: self.address,
        })
    }
}

fn count(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| *number != 0);
    number.ok_or_else(|| format!("invalid value {text:?}, must be a number from 1 on"))
}

fn speed(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number
        .filter(|number| number.is_finite() && 0.0 < *number)
        .ok_or_else(|| {
            format!(
                "invalid value {text:?}, must be a factor above zero, without a unit: 1.7 for 1.7 times what \
                 is measured"
            )
        })
}

fn set(text: &str) -> Result<String, String> {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if text.len() <= SET_MAX && text.bytes().all(known) {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "invalid value {text:?}, must be at most {SET_MAX} letters, digits, `-`, `_` and `.`"
        ))
    }
}

/// `text`, an IP address, as `addr` takes it.
fn host(text: &str) -> String {
    if text.contains(':') {
        format!("[{text}]")
    } else {
        text.to_owned()
    }
}

/// All keys. Open MPI writes the bound in both ways.
const KEYS: [&str; 6] = ["slots", "max_slots", "max-slots", "set", "speed", "addr"];

/// Maximum length of a Set's name.
const SET_MAX: usize = 63;
