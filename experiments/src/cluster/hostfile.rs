//! A line of a hostfile: Open MPI's syntax, and keys of ours.

use std::net::IpAddr;

use protocol::identity::Name;

use crate::cluster::address::address;
use crate::cluster::words::Word;
use settings::list;
use settings::nearest;
use simulator::expand;

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

/// The hosts of the line that `words` are, the first word being their name, which may have ranges.
pub(super) fn hosts(words: &[Word]) -> Result<Vec<Line>, String> {
    let (first, rest) = words.split_first().unwrap_or((&Word::Equal, &[]));
    let names = names(first, rest)?;
    let mut settings = Settings::default();
    let mut rest = rest.iter();
    while let Some(key) = rest.next() {
        let value = (rest.next() == Some(&Word::Equal)).then(|| rest.next());
        settings.set(
            key.text(),
            value
                .flatten()
                .map(Word::text)
                .filter(|value| *value != "="),
        )?;
    }
    if 1 < names.len() && settings.address.is_some() {
        return Err("addr: one address of several hosts; give each a line of its own".to_owned());
    }
    let line = |name| settings.clone().line(name);
    names.into_iter().map(line).collect()
}

/// The names that the first word of a line, before `rest`, stands for.
fn names(first: &Word, rest: &[Word]) -> Result<Vec<Name>, String> {
    let text = first.text();
    let is_key = known(text).is_some() && rest.first() == Some(&Word::Equal);
    if *first == Word::Equal || is_key {
        return Err(format!(
            "`{text}` without a host before it; a line begins with a host, and `/*` ends one"
        ));
    }
    if text == "rank" && rest.get(1) == Some(&Word::Equal) {
        return Err(
            "a line of a rankfile; `placement` of the experiment says where processes begin"
                .to_owned(),
        );
    }
    if let Some((user, host)) = text.split_once('@') {
        return Err(format!(
            "the user of {text} is for ssh, by which nothing is started here; leave `{user}@` out: `{host}`"
        ));
    }
    if let Some(host) = text.strip_prefix('^') {
        return Err(format!(
            "`^` excludes {host} in Open MPI; leave the line out, or comment it"
        ));
    }
    if text.starts_with("+n") || text.starts_with("+e") || text.starts_with("+E") {
        return Err(format!(
            "{text} is a host of a resource manager in Open MPI; must be the name of a host"
        ));
    }
    let is_address = text.parse::<IpAddr>().is_ok();
    if let (Some((host, number)), false) = (text.split_once(':'), is_address) {
        return Err(format!(
            "{text} has a colon; slots are written as `{host} slots={number}`, and a port as \
             `{host} addr={host}:{number}`"
        ));
    }
    let names = expand(text).map_err(|error| error.to_string())?;
    names.iter().map(|text| name(text)).collect()
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
#[derive(Clone, Debug, Default)]
struct Settings {
    slots: Option<u32>,
    slots_max: Option<u32>,
    set: Option<String>,
    speed: Option<f64>,
    address: Option<String>,
}

impl Settings {
    fn set(&mut self, key: &str, value: Option<&str>) -> Result<(), String> {
        let Some(meant) = known(key) else {
            return Err(
                match (
                    REFUSED.iter().find(|(name, _)| *name == key),
                    nearest(key, &KEYS),
                ) {
                    (Some((_, reason)), _) => format!("unknown key `{key}`; {reason}"),
                    (None, Some(nearest)) => {
                        format!("unknown key `{key}`; did you mean `{nearest}`?")
                    }
                    (None, None) => format!("unknown key `{key}`; known here: {}", list(&KEYS)),
                },
            );
        };
        let value = value.ok_or_else(|| format!("`{key}` without a value, must be `{key}=…`"))?;
        let within = |problem: String| format!("{key}: {problem}");
        let is_new = match meant {
            Key::Slots => self.slots.replace(count(value).map_err(within)?).is_none(),
            Key::SlotsMax => self
                .slots_max
                .replace(count(value).map_err(within)?)
                .is_none(),
            Key::Set => self.set.replace(set(value).map_err(within)?).is_none(),
            Key::Speed => self.speed.replace(speed(value).map_err(within)?).is_none(),
            Key::Address => {
                let address = address(value).map_err(within)?;
                self.address.replace(address).is_none()
            }
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

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Slots,
    SlotsMax,
    Set,
    Speed,
    Address,
}

/// What `key` means; Open MPI has several words for the first two.
fn known(key: &str) -> Option<Key> {
    match key {
        "slots" | "cpu" | "count" => Some(Key::Slots),
        "max_slots" | "max-slots" | "slots_max" | "slots-max" | "max_cpu" | "max-cpu"
        | "cpu_max" | "cpu-max" | "max_count" | "max-count" | "count_max" | "count-max" => {
            Some(Key::SlotsMax)
        }
        "set" => Some(Key::Set),
        "speed" => Some(Key::Speed),
        "addr" => Some(Key::Address),
        _ => None,
    }
}

/// A word for each key.
const KEYS: [&str; 5] = ["slots", "max_slots", "set", "speed", "addr"];

/// Keys of Open MPI without a meaning here, and why.
const REFUSED: [(&str, &str); 4] = [
    ("username", SSH),
    ("user-name", SSH),
    ("user_name", SSH),
    (
        "port",
        "it is that of ssh in Open MPI, by which nothing is started here; the port of a node is in `addr=HOST:PORT`",
    ),
];

const SSH: &str = "it is for ssh in Open MPI, by which nothing is started here; leave it out";

/// Maximum length of a Set's name.
const SET_MAX: usize = 63;
