//! `[load]` and `[congestion]`: background load on hosts and links, drawn from the run's seed or read from a file.

mod trace_file;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use bsp::HostId;
use bsp::numbers::whole;
use bsp::units::Seconds;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use settings::{Fault, Files, Node, Unit, decode, list, nearest, tree_of};
use simulator::{
    Discipline, Job, Jobs, LinkId, Platform, PlatformErrorKind, Point, Profile, expand,
};
use workloads::background::{
    Background, Levels, Lifetimes, OutOfRange, OwnerJobs, OwnerLoad, Pattern, Target, Trace,
};

/// One of the two sections.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundSection {
    target: Target,
    /// The keys in effect; for kind `none`, the kind alone.
    keys: Keys,
    /// `None`: nothing is drawn.
    drawn: Option<Drawn>,
}

impl BackgroundSection {
    /// The section for `target` out of the merged layers.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub fn new(written: &Node, target: Target) -> Result<Self, Fault> {
        let name = name(target);
        let section = written.get(name).cloned().unwrap_or_else(Node::empty_table);
        let keys: Keys = decode(&section, name, unit)?;
        if keys.kind == Kind::None {
            let (keys, drawn) = (Keys::default(), None);
            return Ok(Self {
                target,
                keys,
                drawn,
            });
        }
        let place = |key: &str| section.get(key).unwrap_or(&section).place();
        if let Some(problem) = keys.kind.problem(target) {
            return Err(Fault::new(place("kind"), &format!("{name}.kind"), problem));
        }
        let known = keys.known(target);
        let is_foreign = |(key, _): &&(String, Node)| !known.contains(&key.as_str());
        if let Some((key, node)) = section.entries().iter().find(is_foreign) {
            // The kind itself is no part of the list.
            let takes = list(&known[1..]);
            let problem = format!("not a key of this `kind`, which takes {takes}");
            return Err(Fault::new(node.place(), &format!("{name}.{key}"), problem));
        }
        let keys = keys.completed();
        if keys.kind == Kind::Trace && keys.file.is_none() {
            let mut fault = Fault::missing(place("kind"), "load.file");
            fault.help = Some("name a CSV file with the columns host, start and end".to_owned());
            return Err(fault);
        }
        let drawn = keys.drawn(target).map_err(|error| {
            let OutOfRange {
                key,
                value,
                expected,
            } = error;
            let rule = format!("must be {expected}");
            Fault::invalid(place(key), &format!("{name}.{key}"), value, rule)
        })?;
        Ok(Self {
            target,
            keys,
            drawn,
        })
    }

    /// `platform` with its background load; `written` is the experiment, in `folder`.
    ///
    /// # Errors
    ///
    /// If a named Set or link does not exist, or its load is set in the platform file, or the number of
    /// hosts or links to load is 0 or too large, or the file of a trace is invalid.
    pub fn apply(
        &self,
        platform: Platform,
        seed: u64,
        (written, folder): (&Node, &Path),
    ) -> Result<Platform, Fault> {
        if let Some(file) = &self.keys.file {
            let file = Files::new(folder, written).path("load.file", file);
            let discipline = self.keys.discipline.map(Discipline::from);
            return trace_file::apply(platform, &file, discipline, self.keys.period);
        }
        let Some(drawn) = &self.drawn else {
            return Ok(platform);
        };
        let (path, named) = match self.target {
            Target::Hosts => ("load.sets", &self.keys.sets),
            Target::Links => ("congestion.links", &self.keys.links),
        };
        let named = named.as_deref();
        let section = written.get(name(self.target));
        let place = written.find(path).or(section).and_then(Node::place);
        let loaded = match (drawn, self.target) {
            (Drawn::Pattern(background), Target::Hosts) => {
                on_hosts(platform, background, seed, named)
            }
            (Drawn::Jobs(owners, discipline), _) => {
                with_jobs(platform, (owners, *discipline), seed, named)
            }
            (Drawn::Pattern(background), Target::Links) => {
                let traces = |numbers: &[u32]| background.traces(seed, Target::Links, numbers);
                on_links(platform, background.steps(), named, traces)
            }
            (Drawn::Levels(levels), _) => {
                let traces = |numbers: &[u32]| levels.traces(seed, numbers);
                on_links(platform, levels.steps(), named, traces)
            }
        };
        loaded.map_err(|problem| Fault::new(place, path, problem))
    }

    /// Whether there is background load that is drawn from the seed.
    pub const fn draws(&self) -> bool {
        self.drawn.is_some()
    }

    /// The section as it is in effect.
    pub fn effective(&self) -> Node {
        tree_of(&self.keys)
    }
}

/// The section's name.
const fn name(target: Target) -> &'static str {
    match target {
        Target::Hosts => "load",
        Target::Links => "congestion",
    }
}

/// The section as it is written: with gaps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    kind: Kind,
    #[serde(skip_serializing_if = "Option::is_none")]
    sets: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discipline: Option<Sharing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    utilisation: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetimes: Option<Law>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetime: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    longest: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available: Option<Range>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<Seconds>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// No background load. The other keys are ignored, so that the kind alone switches a load off.
    #[default]
    None,
    OnOff,
    Walk,
    Wave,
    /// Owners' jobs, for hosts.
    Jobs,
    /// The load of a file, for hosts.
    Trace,
    /// Drawn levels, for links.
    Levels,
}

/// What owners' jobs and our processes leave each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sharing {
    /// Jobs come first.
    Preemptive,
    /// An operating system shares the cores.
    #[default]
    Shared,
}

/// How lifetimes are distributed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Law {
    #[default]
    Pareto,
    Exponential,
}

impl Keys {
    /// With defaults for the keys that the kind takes and the section lacks.
    fn completed(mut self) -> Self {
        let seconds = |value| Some(Seconds::new(value).expect("a finite number"));
        let kind = self.kind;
        if kind.is_pattern() {
            self.level = self.level.or(Some(0.5));
        }
        match kind {
            Kind::OnOff => {
                self.busy = self.busy.or_else(|| seconds(30.0));
                self.idle = self.idle.or_else(|| seconds(60.0));
            }
            Kind::Jobs => {
                self.utilisation = self.utilisation.or(Some(Range([0.0, 0.6])));
                let law = *self.lifetimes.get_or_insert_default();
                self.lifetime = self.lifetime.or_else(|| seconds(2.0));
                if law == Law::Pareto {
                    self.longest = self.longest.or(Some(100.0));
                }
                self.spread = self.spread.or(Some(Range([1.0, 1.0])));
                self.discipline.get_or_insert_default();
            }
            Kind::Levels => {
                self.available = self.available.or(Some(Range([0.1, 1.0])));
                self.variation = self.variation.or(Some(0.2));
                self.memory = self.memory.or_else(|| seconds(60.0));
            }
            Kind::None | Kind::Walk | Kind::Wave | Kind::Trace => {}
        }
        if kind.has_steps() {
            self.step = self.step.or_else(|| seconds(1.0));
        }
        if kind.is_drawn() {
            self.share = self.share.or(Some(1.0));
            self.period = self.period.or_else(|| seconds(3600.0));
        }
        self
    }

    /// What the completed keys of a section for `target` mean; `None`: nothing is drawn from the seed.
    fn drawn(&self, target: Target) -> Result<Option<Drawn>, OutOfRange> {
        let number = |key: Option<f64>| key.expect("completed");
        let seconds = |key: Option<Seconds>| key.expect("completed");
        let range = |key: Option<Range>| key.expect("completed").0;
        let pattern = match self.kind {
            Kind::None | Kind::Trace => return Ok(None),
            Kind::Jobs => {
                let lifetime = seconds(self.lifetime);
                let lifetimes = match self.longest {
                    None => Lifetimes::Exponential { mean: lifetime },
                    Some(longest) => Lifetimes::Pareto {
                        shortest: lifetime,
                        longest,
                    },
                };
                let (utilisation, spread) = (range(self.utilisation), range(self.spread));
                let (share, period) = (number(self.share), seconds(self.period));
                let owners = OwnerLoad::new(utilisation, lifetimes, spread, share, period)?;
                let discipline = self.discipline.expect("completed");
                return Ok(Some(Drawn::Jobs(owners, discipline.into())));
            }
            Kind::Levels => {
                let (available, memory) = (range(self.available), seconds(self.memory));
                let levels = Levels::new(
                    available,
                    (number(self.variation), memory),
                    number(self.share),
                    (seconds(self.step), seconds(self.period)),
                )?;
                return Ok(Some(Drawn::Levels(levels)));
            }
            Kind::OnOff => Pattern::OnOff {
                level: self.level(target)?,
                busy: seconds(self.busy),
                idle: seconds(self.idle),
            },
            Kind::Walk => Pattern::Walk {
                level: self.level(target)?,
            },
            Kind::Wave => Pattern::Wave {
                level: self.level(target)?,
            },
        };
        let (step, period) = (seconds(self.step), seconds(self.period));
        let background = Background::new(pattern, number(self.share), step, period)?;
        Ok(Some(Drawn::Pattern(background)))
    }

    fn level(&self, target: Target) -> Result<f64, OutOfRange> {
        let level = self.level.expect("completed");
        if target == Target::Links && LEVEL_MAX < level {
            return Err(OutOfRange {
                key: "level",
                value: level,
                expected: "a number from 0 to 0.99: a link is never fully loaded",
            });
        }
        Ok(level)
    }

    /// The keys that a section of this kind for `target` takes.
    fn known(&self, target: Target) -> Vec<&'static str> {
        let kind = self.kind;
        let mut known = vec!["kind"];
        if kind == Kind::Trace {
            known.extend(["file", "discipline", "period"]);
            return known;
        }
        known.push(match target {
            Target::Hosts => "sets",
            Target::Links => "links",
        });
        known.push("share");
        match kind {
            Kind::Jobs if self.lifetimes == Some(Law::Exponential) => {
                known.extend([
                    "utilisation",
                    "lifetimes",
                    "lifetime",
                    "spread",
                    "discipline",
                ]);
            }
            Kind::Jobs => known.extend([
                "utilisation",
                "lifetimes",
                "lifetime",
                "longest",
                "spread",
                "discipline",
            ]),
            Kind::Levels => known.extend(["available", "variation", "memory"]),
            Kind::OnOff => known.extend(["level", "busy", "idle"]),
            Kind::None | Kind::Walk | Kind::Wave | Kind::Trace => known.push("level"),
        }
        if kind.has_steps() {
            known.push("step");
        }
        known.push("period");
        known
    }
}

impl Kind {
    /// Why a section for `target` cannot be of this kind.
    fn problem(self, target: Target) -> Option<&'static str> {
        match (self, target) {
            (Self::Jobs, Target::Links) => {
                Some("jobs run on hosts; links take `on-off`, `walk`, `wave` or `levels`")
            }
            (Self::Trace, Target::Links) => {
                Some("a trace is of hosts; links take `on-off`, `walk`, `wave` or `levels`")
            }
            (Self::Levels, Target::Hosts) => {
                Some("levels are of links; hosts take `on-off`, `walk`, `wave`, `jobs` or `trace`")
            }
            _ => None,
        }
    }

    const fn is_pattern(self) -> bool {
        matches!(self, Self::OnOff | Self::Walk | Self::Wave)
    }

    const fn has_steps(self) -> bool {
        self.is_pattern() || matches!(self, Self::Levels)
    }

    const fn is_drawn(self) -> bool {
        self.has_steps() || matches!(self, Self::Jobs)
    }
}

impl From<Sharing> for Discipline {
    fn from(sharing: Sharing) -> Self {
        match sharing {
            Sharing::Preemptive => Self::Preemptive,
            Sharing::Shared => Self::Shared,
        }
    }
}

/// The unit of a key.
fn unit(key: &str) -> Unit {
    match key {
        "busy" | "idle" | "lifetime" | "memory" | "step" | "period" => Unit::Seconds,
        _ => Unit::None,
    }
}

/// Maximum share of a link that background load takes.
const LEVEL_MAX: f64 = 0.99;

/// What is drawn from the seed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Drawn {
    /// Fractions of hosts or links.
    Pattern(Background),
    /// Jobs on hosts.
    Jobs(OwnerLoad, Discipline),
    /// Levels of links.
    Levels(Levels),
}

/// A range from a number to another, `[0.1, 0.6]`; a single number is a range, too.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range([f64; 2]);

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self([low, high]) = self;
        if low.to_bits() == high.to_bits() {
            serializer.serialize_f64(*low)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bounds)
    }
}

struct Bounds;

impl<'de> Visitor<'de> for Bounds {
    type Value = Range;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, or a list of two numbers")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Range, E> {
        Ok(Range([value, value]))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Range, E> {
        let value = i32::try_from(value).map_err(|_| E::custom("too large a number"))?;
        self.visit_f64(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Range, E> {
        let value = u32::try_from(value).map_err(|_| E::custom("too large a number"))?;
        self.visit_f64(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bounds: A) -> Result<Range, A::Error> {
        let low = bounds.next_element::<f64>()?;
        let high = bounds.next_element::<f64>()?;
        let further = bounds.next_element::<f64>()?;
        match (low, high, further) {
            (Some(low), Some(high), None) => Ok(Range([low, high])),
            _ => Err(A::Error::custom(
                "must be a number, or a list of two numbers",
            )),
        }
    }
}

/// `platform` with a load on hosts of the Sets that are `named`, or of all.
///
/// # Errors
///
/// If a Set does not exist, a host has a load already, or there would be too much to draw.
fn on_hosts(
    mut platform: Platform,
    background: &Background,
    seed: u64,
    named: Option<&[String]>,
) -> Result<Platform, String> {
    let numbers = numbers_of_hosts(&platform, named)?;
    check_amount(&numbers, background.steps(), ("hosts", "steps"))?;
    for (number, trace) in background.traces(seed, Target::Hosts, &numbers) {
        platform = platform
            .with_load(HostId(number), profile(&trace, |taken| taken))
            .map_err(|fault| two_loads(&fault))?;
    }
    Ok(platform)
}

/// `platform` with jobs of the owners of hosts of the Sets that are `named`, or of all.
///
/// # Errors
///
/// As [`on_hosts`].
fn with_jobs(
    mut platform: Platform,
    (owners, discipline): (&OwnerLoad, Discipline),
    seed: u64,
    named: Option<&[String]>,
) -> Result<Platform, String> {
    let numbers = numbers_of_hosts(&platform, named)?;
    let cores = |number: u32| platform.host(HostId(number)).cores;
    let most = numbers.iter().map(|number| cores(*number)).max();
    let expected = owners.expected_jobs(most.unwrap_or(1)).ceil();
    check_amount(&numbers, whole(expected), ("hosts", "jobs"))?;
    let drawn: Vec<(u32, OwnerJobs)> = owners.jobs(seed, &numbers, cores).collect();
    for (number, owner) in drawn {
        let jobs = owner.jobs.iter().map(|job| Job {
            arrival: job.arrival,
            work: job.lifetime,
        });
        let jobs = Jobs::new(jobs.collect(), Some(owner.period), discipline)
            .expect("jobs are drawn in order, within their period");
        platform = platform
            .with_jobs(HostId(number), jobs)
            .map_err(|fault| two_loads(&fault))?;
    }
    Ok(platform)
}

/// The hosts of the Sets that are `named`, or all.
fn numbers_of_hosts(platform: &Platform, named: Option<&[String]>) -> Result<Vec<u32>, String> {
    let sets: Vec<&str> = platform
        .sets()
        .iter()
        .map(|set| set.name.as_str())
        .collect();
    let named = named
        .map(|patterns| named_sets(patterns, &sets))
        .transpose()?;
    let is_meant = |name: &String| named.as_ref().is_none_or(|named| named.contains(name));
    let meant = platform.sets().iter().filter(|set| is_meant(&set.name));
    let hosts = meant.flat_map(|set| set.hosts.iter().map(|host| host.0));
    Ok(hosts.collect())
}

/// The names of Sets that `patterns` stand for, which may have ranges.
fn named_sets(patterns: &[String], sets: &[&str]) -> Result<BTreeSet<String>, String> {
    let mut named = BTreeSet::new();
    for pattern in patterns {
        let names = match sets.contains(&pattern.as_str()) {
            true => vec![pattern.clone()],
            false => expand(pattern).map_err(|error| error.to_string())?,
        };
        if let Some(unknown) = names.iter().find(|name| !sets.contains(&name.as_str())) {
            return Err(unknown_name("Set", unknown, sets));
        }
        named.extend(names);
    }
    Ok(named)
}

fn two_loads(fault: &PlatformErrorKind) -> String {
    format!("{fault}; the platform's file has the first")
}

/// `platform` with congestion on the links that are `named`, or on all between Sets, as `traces` of `steps` steps say.
/// The two directions of a cable are congested together.
///
/// # Errors
///
/// If a link does not exist or is congested already, if no link lies between Sets, or there would be
/// too much to draw.
fn on_links<Traces: Iterator<Item = (u32, Trace)>>(
    mut platform: Platform,
    steps: u64,
    named: Option<&[String]>,
    traces: impl FnOnce(&[u32]) -> Traces,
) -> Result<Platform, String> {
    let links = match named {
        Some(names) => named_links(&platform, names)?,
        None => platform.links_between_sets(),
    };
    let cables = cables(&platform, &links);
    if cables.is_empty() && named.is_none() {
        return Err("no link lies between Sets alone; name those that are congested".to_owned());
    }
    let numbers: Vec<u32> = cables.keys().map(|first| first.0).collect();
    check_amount(&numbers, steps, ("links", "steps"))?;
    for (number, trace) in traces(&numbers) {
        for link in &cables[&LinkId(number)] {
            let nominal = platform.links()[link.index()].bandwidth.get();
            let offered = profile(&trace, |taken| nominal * (1.0 - taken));
            platform = platform
                .with_bandwidth(*link, offered)
                .map_err(|fault| two_loads(&fault))?;
        }
    }
    Ok(platform)
}

/// `links` by cable: by the first link of each.
fn cables(platform: &Platform, links: &[LinkId]) -> BTreeMap<LinkId, Vec<LinkId>> {
    let mut by_name: BTreeMap<&str, Vec<LinkId>> = BTreeMap::new();
    for link in links {
        let name = cable(&platform.links()[link.index()].name);
        by_name.entry(name).or_default().push(*link);
    }
    by_name
        .into_values()
        .map(|links| (links[0], links))
        .collect()
}

/// The links called `names`, ascending; the name of a cable stands for both of its directions.
fn named_links(platform: &Platform, names: &[String]) -> Result<Vec<LinkId>, String> {
    let mut by_name: BTreeMap<&str, Vec<LinkId>> = BTreeMap::new();
    for (number, link) in (0..).zip(platform.links()) {
        let name = link.name.as_str();
        by_name.entry(name).or_default().push(LinkId(number));
        if cable(name) != name {
            by_name.entry(cable(name)).or_default().push(LinkId(number));
        }
    }
    let mut found = BTreeSet::new();
    for name in names {
        let Some(links) = by_name.get(name.as_str()) else {
            let known: Vec<&str> = by_name.into_keys().collect();
            return Err(unknown_name("link", name, &known));
        };
        found.extend(links);
    }
    Ok(found.into_iter().collect())
}

/// The name that the two directions of a cable share.
fn cable(link: &str) -> &str {
    link.strip_suffix("_UP")
        .or_else(|| link.strip_suffix("_DOWN"))
        .unwrap_or(link)
}

fn profile(trace: &Trace, value: impl Fn(f64) -> f64) -> Profile {
    let point = |(date, taken): &(Seconds, f64)| Point {
        date: date.get(),
        value: value(*taken),
    };
    let points = trace.points.iter().map(point).collect();
    Profile::new(points, Some(trace.period)).expect("a trace ends before it begins again")
}

/// Checks that `each` steps or jobs of every host or link are not too many.
fn check_amount(numbers: &[u32], each: u64, (what, of): (&str, &str)) -> Result<(), String> {
    let count = numbers.len();
    let total = u64::try_from(count).map_or(u64::MAX, |count| count.saturating_mul(each));
    if POINTS_MAX < total {
        let shorter = if of == "steps" {
            "a longer `step` or "
        } else {
            ""
        };
        return Err(format!(
            "{count} {what} of {each} {of} each, must be at most {POINTS_MAX} {of} together; use fewer of them, \
             {shorter}a shorter `period`"
        ));
    }
    Ok(())
}

fn unknown_name(kind: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known).map_or_else(String::new, |nearest| {
        format!("; did you mean \"{nearest}\"?")
    });
    format!("the platform has no {kind} \"{name}\"{hint}")
}

/// More would take gigabytes.
const POINTS_MAX: u64 = 50_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_memory_holds_is_not_drawn() {
        let text = "[[set]]\nname = 'a'\nhosts = 51\nspeed = 1e9\nlink = { bandwidth = 1e8 }";
        let platform = Platform::from_toml(text).unwrap();
        let seconds = |value| Seconds::new(value).unwrap();
        let pattern = Pattern::Walk { level: 0.5 };
        let background = Background::new(pattern, 1.0, seconds(1.0), seconds(1e6)).unwrap();
        assert_eq!(
            on_hosts(platform, &background, 1, None).unwrap_err(),
            "51 hosts of 1000000 steps each, must be at most 50000000 steps together; use fewer of \
             them, a longer `step` or a shorter `period`"
        );
    }

    #[test]
    fn both_directions_of_a_cable_are_congested_together() {
        let text = "[[set]]\nname = 'a0..1'\nhosts = 2\nspeed = 1e9\nlink = { bandwidth = 1e8 }\n\
                    uplink = { bandwidth = 1e7 }";
        let platform = || Platform::from_toml(text).unwrap();
        let second = Seconds::new(1.0).unwrap();
        let pattern = Pattern::Wave { level: 0.5 };
        let background = Background::new(pattern, 1.0, second, Seconds::new(9.0).unwrap()).unwrap();
        let congested = |named: Option<&[String]>| {
            let traces = |numbers: &[u32]| background.traces(1, Target::Links, numbers);
            let platform = on_links(platform(), background.steps(), named, traces).unwrap();
            let congested = platform
                .links()
                .iter()
                .filter(|link| link.bandwidth_profile.is_some());
            let found: Vec<_> = congested
                .map(|link| (link.name.clone(), link.bandwidth_profile.clone()))
                .collect();
            found
        };
        let found = congested(None);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "a0_uplink_UP",
                "a0_uplink_DOWN",
                "a1_uplink_UP",
                "a1_uplink_DOWN"
            ]
        );
        assert_eq!(found[0].1, found[1].1);
        assert_ne!(found[0].1, found[2].1);
        // The directions of one that is named, and one that is named itself: alike as a pair.
        let named = ["a0_uplink", "a0_uplink_UP"].map(str::to_owned);
        assert_eq!(congested(Some(&named)), found[..2]);
    }
}
