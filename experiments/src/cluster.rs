//! Which hosts a run has: from a hostfile, or from Slurm.

mod slurm;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use protocol::Member;
use protocol::identity::Name;
use settings::{list, nearest};
use simulator::expand;

pub use crate::cluster::slurm::PassedStep;
use crate::failure::Failure;

/// The hosts of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hosts {
    /// Those on which jobs start. The first of a Set is its Set Manager.
    pub members: Vec<Member>,
    /// Those that join a job as soon as they are there and free.
    pub pool: Vec<Member>,
}

/// The hosts that the hostfile `path` describes, as members of a job, and those of its pool.
///
/// There is at least one; each name and each address occurs once. They stand Set by Set, in a Set as they were given, and
/// Sets stand in the order in which they were first mentioned. The first member of a Set is its Set Manager.
///
/// # Errors
///
/// [`Failure::Input`] with the line, if it cannot be read or describes none.
pub fn load(path: &Path) -> Result<Hosts, Failure> {
    let text = settings::read(path).map_err(Failure::input)?;
    parse(&text, &settings::name_of(path))
}

/// The hosts that the hostfile `text`, called `name` in messages, describes.
fn parse(text: &str, name: &str) -> Result<Hosts, Failure> {
    let mut gathered = Gathered::default();
    let fault = |(number, problem)| Failure::Input(format!("{name}:{number}: {problem}"));
    for (number, words) in word_lines(text).map_err(fault)? {
        let hosts = line_hosts(&words).map_err(|problem| fault((number, problem)))?;
        for line in hosts {
            let added = gathered.add(line, number);
            added.map_err(|problem| fault((number, problem)))?;
        }
    }
    let hosts = gathered.hosts();
    hosts.ok_or_else(|| {
        let problem = "no host; a line is `node-1 slots=4`, and `pool=yes` is for hosts that join";
        Failure::Input(format!("{name}: {problem}"))
    })
}

/// What gives jobs their hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceManager {
    /// Slurm: variables of the environment name the hosts.
    Slurm,
    /// `PBS_NODEFILE` names a file that has them.
    Pbs,
    /// `OAR_NODEFILE` does.
    Oar,
}

impl ResourceManager {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Slurm, Self::Pbs, Self::Oar];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slurm => "Slurm",
            Self::Pbs => "PBS",
            Self::Oar => "OAR",
        }
    }

    /// The step of Slurm that we are in, if it has other hosts than its job: [`Self::hosts`] has those of the job. `variable` is the value
    /// of a variable of the environment.
    pub fn passed_step(self, variable: impl Fn(&str) -> Option<String>) -> Option<PassedStep> {
        (self == Self::Slurm).then(|| slurm::passed_step(variable))?
    }

    /// The hosts of the job that we are in, as [`load`] has them; `None` if it is none of this manager. `variable` is the value of a
    /// variable of the environment. The components of a heterogeneous job of Slurm are Sets.
    ///
    /// # Errors
    ///
    /// With the variable, [`Failure::Usage`] if one contradicts the format, and [`Failure::Input`] if the file that it names does.
    pub fn hosts(
        self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Vec<Member>>, Failure> {
        let usage = |(name, problem)| Failure::Usage(format!("environment {name}: {problem}"));
        let file = match self {
            Self::Slurm => {
                let mut granted = Granted::default();
                for component in slurm::components(variable).map_err(usage)? {
                    let set = component.number.map(|number| format!("group-{number}"));
                    for (host, slots) in component.hosts {
                        let added = granted.add(&host, set.as_deref(), slots, false);
                        added.map_err(|problem| usage((component.variable.clone(), problem)))?;
                    }
                }
                let named = |problem| usage((slurm::JOB.to_owned(), problem));
                return granted.members().map_err(named);
            }
            Self::Pbs => "PBS_NODEFILE",
            Self::Oar => "OAR_NODEFILE",
        };
        let Some(path) = variable(file) else {
            return Ok(None);
        };
        let text = settings::read(Path::new(&path)).map_err(Failure::input)?;
        let mut granted = Granted::default();
        for (line, host) in (1..).zip(text.lines()) {
            if host.trim().is_empty() {
                continue;
            }
            let added = granted.add(host.trim(), None, 1, true);
            added.map_err(|problem| Failure::Input(format!("{path}:{line}: {problem}")))?;
        }
        let named = |problem| Failure::Input(format!("{path}: {problem}"));
        granted.members().map_err(named)
    }
}

/// The hosts of a job, as its resource manager names them.
#[derive(Debug, Default)]
struct Granted {
    lines: Vec<Line>,
    /// The place of each in `lines`, and what the manager calls it.
    names: BTreeMap<Name, (usize, String)>,
}

impl Granted {
    /// Adds `host` with these slots, in `set` or in the only one; if it is named again and that `adds`, it gets more slots.
    fn add(&mut self, host: &str, set: Option<&str>, slots: u32, adds: bool) -> Result<(), String> {
        let name = node_name(host)?;
        if let Some((place, known)) = self.names.get(&name) {
            if known != host {
                return Err(format!("{known} and {host} would both be node {name}"));
            }
            if !adds {
                return Err(format!("{host} twice, expected each host once"));
            }
            let line = &mut self.lines[*place];
            let total = line.slots.checked_add(slots);
            line.slots = total.ok_or_else(|| format!("more than {} slots", u32::MAX))?;
            return Ok(());
        }
        let is_name = name.as_str() == host;
        let place = (self.lines.len(), host.to_owned());
        self.lines.push(Line {
            set: set.map(str::to_owned),
            address: (!is_name).then(|| address(host)).transpose()?,
            ..Line::new(name.clone(), slots)
        });
        self.names.insert(name, place);
        Ok(())
    }

    fn members(self) -> Result<Option<Vec<Member>>, String> {
        let mut gathered = Gathered::default();
        for (number, line) in (1..).zip(self.lines) {
            gathered.add(line, number)?;
        }
        Ok(gathered.hosts().map(|hosts| hosts.members))
    }
}

/// A cluster that is being read, line by line.
#[derive(Debug, Default)]
struct Gathered {
    members: Vec<Member>,
    /// The place of each Set among them.
    sets: BTreeMap<String, usize>,
    /// Position in `members`, and the line that was first about it.
    names: BTreeMap<Name, (usize, usize)>,
    /// The line that claimed it.
    addresses: BTreeMap<String, usize>,
    /// The names of those that are in the pool.
    pool: BTreeSet<String>,
    slots: u32,
}

impl Gathered {
    /// Adds `line`, which has this `number`. A repeated host gets more slots.
    fn add(&mut self, line: Line, number: usize) -> Result<(), String> {
        let total = self.slots.checked_add(line.slots);
        self.slots = total.ok_or_else(|| format!("more than {} slots in all", u32::MAX))?;
        if let Some((index, first)) = self.names.get(&line.name) {
            let member = &mut self.members[*index];
            if let Some(key) = line.contradicts(member) {
                return Err(format!(
                    "{} has another `{key}` in line {first}; a host that is mentioned again may get \
                     more slots, but stays what it is",
                    line.name
                ));
            }
            member.slots += line.slots;
            return Ok(());
        }
        let address = line.address();
        if let Some(first) = self.addresses.insert(address.clone(), number) {
            return Err(format!(
                "the address {address} is that of line {first} already; must be one per host, as in \
                 `addr=HOST:PORT`"
            ));
        }
        if line.is_in_pool {
            self.pool.insert(line.name.to_string());
        }
        let set = line.set.unwrap_or_else(|| SET.to_owned());
        let next = self.sets.len();
        self.sets.entry(set.clone()).or_insert(next);
        self.members.push(Member {
            name: line.name.to_string(),
            set,
            slots: line.slots,
            speed: line.speed.unwrap_or(SPEED),
            address,
        });
        let place = self.members.len() - 1;
        self.names.insert(line.name, (place, number));
        Ok(())
    }

    /// All of it; `None` if there was no host outside the pool.
    fn hosts(mut self) -> Option<Hosts> {
        self.members.sort_by_key(|member| self.sets[&member.set]);
        let (pool, members): (Vec<Member>, Vec<Member>) = self
            .members
            .into_iter()
            .partition(|member| self.pool.contains(&member.name));
        (!members.is_empty()).then_some(Hosts { members, pool })
    }
}

impl Line {
    /// A host with defaults.
    fn new(name: Name, slots: u32) -> Self {
        Self {
            name,
            slots,
            set: None,
            speed: None,
            address: None,
            is_in_pool: false,
        }
    }

    fn address(&self) -> String {
        let default = || format!("{}:{PORT}", self.name);
        self.address.clone().unwrap_or_else(default)
    }

    /// The key in which this line contradicts an earlier one.
    fn contradicts(&self, member: &Member) -> Option<&'static str> {
        let speed = self.speed.unwrap_or(member.speed);
        if self.set.as_deref().is_some_and(|own| own != member.set) {
            Some("set")
        } else if speed.total_cmp(&member.speed).is_ne() {
            Some("speed")
        } else if self.address.is_some() && self.address.as_ref() != Some(&member.address) {
            Some("addr")
        } else {
            None
        }
    }
}

/// The Set of hosts without one.
const SET: &str = "cluster";

/// Default factor of the measured speed.
const SPEED: f64 = 1.0;

/// A host, as a line describes it.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    name: Name,
    slots: u32,
    set: Option<String>,
    speed: Option<f64>,
    /// As `host:port`.
    address: Option<String>,
    is_in_pool: bool,
}

/// The hosts of the line that `words` are, the first word being their name, which may have ranges.
fn line_hosts(words: &[Word]) -> Result<Vec<Line>, String> {
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
    names.iter().map(|text| host_name(text)).collect()
}

/// The name of the node on a host that its system or its resource manager calls `text`: in lower case, with `-` in the place of `_`.
///
/// # Errors
///
/// If that is no name for a certificate either.
pub fn node_name(text: &str) -> Result<Name, String> {
    let name = text.to_ascii_lowercase().replace('_', "-");
    name.parse().map_err(|error| format!("{error}"))
}

/// A name that is valid in a certificate.
fn host_name(text: &str) -> Result<Name, String> {
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
    pool: Option<bool>,
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
            Key::Pool => self.pool.replace(pool(value).map_err(within)?).is_none(),
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
            is_in_pool: self.pool.unwrap_or(false),
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

/// Whether a host is in the pool.
fn pool(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!("`{text}` must be `yes` or `no`")),
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
    Pool,
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
        "pool" => Some(Key::Pool),
        _ => None,
    }
}

/// A word for each key.
const KEYS: [&str; 6] = ["slots", "max_slots", "set", "speed", "addr", "pool"];

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

/// A word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// A name, a key or a value.
    Text(String),
    /// The sign between a key and its value.
    Equal,
}

impl Word {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Equal => "=",
        }
    }
}

/// A line that has words, after its number from 1.
type NumberedLine = (usize, Vec<Word>);

/// The lines of `text` that have words, with their numbers from 1.
///
/// `#` and `//` begin a comment that ends with its line. A comment between `/*` and `*/` ends the line that it begins in, as in
/// Open MPI. What is in double quotes is one word, without them.
///
/// # Errors
///
/// The number of the line in which a comment or a quote begins that does not end, and which.
fn word_lines(text: &str) -> Result<Vec<NumberedLine>, (usize, String)> {
    let mut lines = Vec::new();
    let mut words = Vec::new();
    let (mut rest, mut number) = (text, 1);
    while let Some(first) = rest.chars().next() {
        if first == '\n' || rest.starts_with("/*") {
            if !words.is_empty() {
                lines.push((number, std::mem::take(&mut words)));
            }
            let length = match first {
                '\n' => 1,
                _ => {
                    let end = rest.find("*/").map(|end| end + "*/".len());
                    end.ok_or_else(|| (number, "the comment after `/*` has no `*/`".to_owned()))?
                }
            };
            number += rest[..length].matches('\n').count();
            rest = &rest[length..];
        } else if first == '#' || rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
        } else if let Some(inner) = rest.strip_prefix('"') {
            let end = inner.find(['"', '\n']);
            let end = end.filter(|end| inner[*end..].starts_with('"'));
            let end =
                end.ok_or_else(|| (number, "a quote is not closed in its line".to_owned()))?;
            words.push(Word::Text(inner[..end].to_owned()));
            rest = &inner[end + 1..];
        } else if first == '=' {
            words.push(Word::Equal);
            rest = &rest[1..];
        } else if first.is_whitespace() {
            rest = rest.trim_start_matches(|at: char| at.is_whitespace() && at != '\n');
        } else {
            let end = ["//", "/*"].iter().filter_map(|mark| rest.find(mark));
            let end = end.min().unwrap_or(rest.len());
            let is_end = |at: char| at.is_whitespace() || matches!(at, '"' | '#' | '=');
            let end = rest.find(is_end).map_or(end, |found| found.min(end));
            words.push(Word::Text(rest[..end].to_owned()));
            rest = &rest[end..];
        }
    }
    if !words.is_empty() {
        lines.push((number, words));
    }
    Ok(lines)
}

/// `HOST[:PORT]` as `host:port`; an IPv6 address stands in brackets.
fn address(text: &str) -> Result<String, String> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) = inner.split_once(']').ok_or_else(|| unfit(text))?;
        let host: Ipv6Addr = host.parse().map_err(|_| unfit(text))?;
        let port = match rest.strip_prefix(':') {
            Some(port) => self::port(port)?,
            None if rest.is_empty() => PORT,
            None => return Err(unfit(text)),
        };
        return Ok(format!("[{host}]:{port}"));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(format!(
            "invalid value {text:?}, must be an IPv6 address in brackets: `[{text}]`"
        ));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, self::port(port)?),
        None => (text, PORT),
    };
    if is_host(host) {
        Ok(format!("{host}:{port}"))
    } else {
        Err(unfit(text))
    }
}

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| format!("port {text:?}, expected 1 to {}", u16::MAX))
}

/// Whether a resolver could know `text`. Underscores are in no standard, but in use.
fn is_host(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let mut labels = text.split('.');
    let last = text.rsplit('.').next().unwrap_or(text);
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse::<Ipv4Addr>().is_ok();
    }
    labels.all(|label| !label.is_empty() && label.bytes().all(known))
}

fn unfit(text: &str) -> String {
    format!(
        "invalid value {text:?}, must be HOST or HOST:PORT, as in `10.0.0.7:7447` or `[fd00::7]:7447`"
    )
}

/// Default port of a host.
pub const PORT: u16 = 7447;

#[cfg(test)]
mod tests;

#[cfg(test)]
mod words_tests {
    use super::*;

    fn check(text: &str, expect: &[(usize, &str)]) {
        let lines = word_lines(text).unwrap();
        let shown = |(number, words): &(usize, Vec<Word>)| {
            let words: Vec<&str> = words.iter().map(Word::text).collect();
            (*number, words.join("|"))
        };
        let expect = expect
            .iter()
            .map(|(number, text)| (*number, (*text).to_owned()));
        assert_eq!(
            lines.iter().map(shown).collect::<Vec<_>>(),
            expect.collect::<Vec<_>>()
        );
    }

    #[test]
    fn words_are_those_of_open_mpi() {
        check("", &[]);
        check(
            "a slots=2\n\n b\tslots = 3\r\nc",
            &[(1, "a|slots|=|2"), (3, "b|slots|=|3"), (4, "c")],
        );
        check("# x\n// y\na#b\nc//d\n", &[(3, "a"), (4, "c")]);
        check(
            "/* a\nb */ c /* d */ e\nf/* \" */",
            &[(2, "c"), (2, "e"), (3, "f")],
        );
        check(
            "\"a\" slots=\"2\"\n\"b c\"d",
            &[(1, "a|slots|=|2"), (2, "b c|d")],
        );
        check("a/b \"#\" \"//\" ==", &[(1, "a/b|#|//|=|=")]);
    }

    #[test]
    fn what_does_not_end_is_located() {
        let comment = (2, "the comment after `/*` has no `*/`".to_owned());
        assert_eq!(word_lines("a\nb /* c\nd"), Err(comment));
        let quote = (1, "a quote is not closed in its line".to_owned());
        assert_eq!(word_lines("a \"b\nc\""), Err(quote));
    }

    #[test]
    fn a_port_is_added_where_there_is_none() {
        for (text, expect) in [
            ("n1", "n1:7447"),
            ("n1.lab.example:7000", "n1.lab.example:7000"),
            ("N_1", "N_1:7447"),
            ("127.0.0.1", "127.0.0.1:7447"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]", "[::1]:7447"),
            ("[FD00:0::7]:65535", "[fd00::7]:65535"),
        ] {
            assert_eq!(address(text).unwrap(), expect);
        }
    }

    #[test]
    fn invalid_addresses_are_refused() {
        for text in [
            "",
            ":7447",
            "n1:",
            "n1:0",
            "n1:65536",
            "n1:x",
            "n1:1:2",
            "a..b",
            "n 1",
            "ä",
            "10.0.0.256",
            "10.0.7",
            "[::1",
            "[::1]x",
            "[n1]:1",
            "[::1]:0",
        ] {
            assert!(address(text).is_err(), "{text:?}");
        }
        let expect = "invalid value \"fd00::7\", must be an IPv6 address in brackets: `[fd00::7]`";
        assert_eq!(address("fd00::7").unwrap_err(), expect);
    }
}
