//! `[load]` and `[congestion]`: background load on hosts and links, drawn from the run's seed or read from a file.

mod apply;
mod keys;
mod range;
mod trace_file;

use std::path::Path;

use simulator::{Discipline, Platform};
use workloads::background::{OutOfRange, Target};

use settings::Fault;
use settings::Files;
use settings::Node;
use settings::decode;
use settings::list;
use settings::tree_of;

use keys::Drawn;
use keys::{Keys, Kind, unit};

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
                apply::hosts(platform, background, seed, named)
            }
            (Drawn::Jobs(owners, discipline), _) => {
                apply::jobs(platform, (owners, *discipline), seed, named)
            }
            (Drawn::Pattern(background), Target::Links) => {
                let traces = |numbers: &[u32]| background.traces(seed, Target::Links, numbers);
                apply::links(platform, background.steps(), named, traces)
            }
            (Drawn::Levels(levels), _) => {
                let traces = |numbers: &[u32]| levels.traces(seed, numbers);
                apply::links(platform, levels.steps(), named, traces)
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
