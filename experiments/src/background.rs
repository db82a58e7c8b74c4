//! `[load]` and `[congestion]`: background load on hosts and links, drawn from the run's seed.

mod apply;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};
use simulator::Platform;
use workloads::background::{Background, OutOfRange, Pattern, Target};

use settings::Fault;
use settings::Node;
use settings::Unit;
use settings::decode;
use settings::list;
use settings::tree_of;

/// One of the two sections.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundSection {
    target: Target,
    /// The keys in effect; for kind `none`, the kind alone.
    keys: Keys,
    /// `None`: no background load.
    background: Option<Background>,
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
    share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle: Option<Seconds>,
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
            let (keys, background) = (Keys::default(), None);
            return Ok(Self {
                target,
                keys,
                background,
            });
        }
        let known = keys.kind.known(target);
        let is_foreign = |(key, _): &&(String, Node)| !known.contains(&key.as_str());
        if let Some((key, node)) = section.entries().iter().find(is_foreign) {
            // The kind itself is no part of the list.
            let takes = list(&known[1..]);
            let problem = format!("not a key of this `kind`, which takes {takes}");
            return Err(Fault::new(node.place(), &format!("{name}.{key}"), problem));
        }
        let keys = keys.completed();
        let background = keys.background(target).map_err(|error| {
            let OutOfRange {
                key,
                value,
                expected,
            } = error;
            let place = section.get(key).unwrap_or(&section).place();
            let rule = format!("must be {expected}");
            Fault::invalid(place, &format!("{name}.{key}"), value, rule)
        })?;
        Ok(Self {
            target,
            keys,
            background: Some(background),
        })
    }

    /// `platform` with its background load; `written` is the experiment.
    ///
    /// # Errors
    ///
    /// If a named Set or link does not exist, or its load is set in the platform file, or the number of
    /// hosts or links to load is 0 or too large.
    pub fn apply(&self, platform: Platform, seed: u64, written: &Node) -> Result<Platform, Fault> {
        let Some(background) = &self.background else {
            return Ok(platform);
        };
        let (path, named) = match self.target {
            Target::Hosts => ("load.sets", &self.keys.sets),
            Target::Links => ("congestion.links", &self.keys.links),
        };
        let named = named.as_deref();
        let section = written.get(name(self.target));
        let place = written.find(path).or(section).and_then(Node::place);
        let loaded = match self.target {
            Target::Hosts => apply::hosts(platform, background, seed, named),
            Target::Links => apply::links(platform, background, seed, named),
        };
        loaded.map_err(|problem| Fault::new(place, path, problem))
    }

    /// Whether there is background load, which is drawn from the seed.
    pub const fn draws(&self) -> bool {
        self.background.is_some()
    }

    /// The section as it is in effect.
    pub fn effective(&self) -> Node {
        tree_of(&self.keys)
    }
}

impl Keys {
    /// With defaults for the keys that the kind takes and the section lacks.
    fn completed(mut self) -> Self {
        let seconds = |value| Some(Seconds::new(value).expect("a finite number"));
        self.share = self.share.or(Some(1.0));
        self.level = self.level.or(Some(0.5));
        if self.kind == Kind::OnOff {
            self.busy = self.busy.or_else(|| seconds(30.0));
            self.idle = self.idle.or_else(|| seconds(60.0));
        }
        self.step = self.step.or_else(|| seconds(1.0));
        self.period = self.period.or_else(|| seconds(3600.0));
        self
    }

    /// What the completed keys mean.
    fn background(&self, target: Target) -> Result<Background, OutOfRange> {
        let number = |key: Option<f64>| key.expect("completed");
        let seconds = |key: Option<Seconds>| key.expect("completed");
        let level = number(self.level);
        if target == Target::Links && LEVEL_MAX < level {
            return Err(OutOfRange {
                key: "level",
                value: level,
                expected: "a number from 0 to 0.99: a link is never fully loaded",
            });
        }
        let pattern = match self.kind {
            Kind::OnOff => Pattern::OnOff {
                level,
                busy: seconds(self.busy),
                idle: seconds(self.idle),
            },
            Kind::Walk => Pattern::Walk { level },
            Kind::Wave => Pattern::Wave { level },
            Kind::None => panic!("a section of kind none has no background"),
        };
        let (step, period) = (seconds(self.step), seconds(self.period));
        Background::new(pattern, number(self.share), step, period)
    }
}

impl Kind {
    /// The keys that a section for `target` takes.
    fn known(self, target: Target) -> Vec<&'static str> {
        let targets = match target {
            Target::Hosts => "sets",
            Target::Links => "links",
        };
        let mut known = vec!["kind", targets, "share", "level"];
        if self == Self::OnOff {
            known.extend(["busy", "idle"]);
        }
        known.extend(["step", "period"]);
        known
    }
}

/// The section's name.
const fn name(target: Target) -> &'static str {
    match target {
        Target::Hosts => "load",
        Target::Links => "congestion",
    }
}

fn unit(key: &str) -> Unit {
    match key {
        "busy" | "idle" | "step" | "period" => Unit::Seconds,
        _ => Unit::None,
    }
}

/// Maximum share of a link that background load takes.
const LEVEL_MAX: f64 = 0.99;
