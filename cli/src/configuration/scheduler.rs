//! `[scheduler]`: the policy, its parameters, and the scenarios that are run.

use agents::{Payment, Script, WindowRule};
use bsp::units::Seconds;
use migbsp::{Config, Parameters, Planning};
use serde::{Deserialize, Serialize};

use crate::configuration::decode::decode;
use crate::configuration::effective::tree_of;
use crate::configuration::fault::Fault;
use crate::configuration::policy::PolicyName;
use crate::configuration::quantity::Unit;
use crate::configuration::script::Order;
use crate::tree::{Node, Value};

/// The whole section: [`Options`], the parameters of the policy, and scripted migrations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scheduler {
    /// Options of every policy.
    pub(crate) options: Options,
    /// The parameters of the model.
    pub(crate) model: Config,
    /// The parameters of policies whose plans name processors.
    pub(crate) planning: Planning,
    /// Scripted migrations; none: the policy decides.
    pub(crate) orders: Vec<Order>,
}

/// Options of every policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// Name of the policy.
    pub(crate) policy: PolicyName,
    /// Which of the papers' scenarios are run.
    pub(crate) scenario: Scenario,
    /// Length of time over which external load is averaged.
    pub(crate) load_window: Seconds,
    /// Which processes pay for a migration.
    pub(crate) payment: Payment,
    /// Minimum duration of a superstep with a call.
    pub(crate) window: Seconds,
    /// Effect of the window on a call with migrations.
    pub(crate) window_after_migration: WindowRule,
}

/// Which of the papers' scenarios are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scenario {
    /// The application alone.
    I,
    /// Calls are held and paid for; no process moves.
    Ii,
    /// Processes migrate.
    Iii,
    /// All three, one after the other.
    #[default]
    All,
}

impl Scheduler {
    /// The section as written.
    ///
    /// # Errors
    ///
    /// The first invalid key or value.
    pub(crate) fn new(section: &Node) -> Result<Self, Fault> {
        let (options, parameters) = (
            tree_of(&Options::default()),
            tree_of(&Parameters::default()),
        );
        let keys = |node: &Node| -> Vec<String> {
            node.entries().iter().map(|(key, _)| key.clone()).collect()
        };
        let (option_keys, parameter_keys) = (keys(&options), keys(&parameters));
        let known: Vec<&str> = option_keys
            .iter()
            .chain(&parameter_keys)
            .map(String::as_str)
            .chain([PLANNING, SCRIPT])
            .collect();
        if !matches!(section.value, Value::Table(_)) {
            let (place, rule) = (section.place(), "must be a section");
            return Err(Fault::invalid(place, "scheduler", section, rule));
        }
        for (key, node) in section.entries() {
            if !known.contains(&key.as_str()) {
                let path = format!("scheduler.{key}");
                return Err(Fault::unknown_key(node.place(), &path, &known));
            }
        }
        let options: Options = decode(&only(section, &option_keys), "scheduler", Unit::of_key)?;
        let parameters = decode(&only(section, &parameter_keys), "scheduler", Unit::of_key)?;
        let model = Config::new(parameters).map_err(|error| {
            let path = format!("scheduler.{}", error.key);
            let place = section.find(error.key).and_then(Node::place);
            let expected = error.expected;
            let expected = expected
                .strip_prefix("a whole number of ")
                .unwrap_or(expected);
            Fault::invalid(place, &path, error.value, format!("must be {expected}"))
        })?;
        let planning = section.get(PLANNING).map_or_else(
            || Ok(Planning::default()),
            |node| decode(node, "scheduler.planning", Unit::of_key),
        )?;
        let orders = section.get(SCRIPT).map_or_else(
            || Ok(Vec::new()),
            |node| decode(node, "scheduler.script", Unit::of_key),
        )?;
        let scheduler = Self {
            options,
            model,
            planning,
            orders,
        };
        scheduler.check(section)?;
        Ok(scheduler)
    }

    fn check(&self, section: &Node) -> Result<(), Fault> {
        let lengths = [
            ("load_window", self.options.load_window),
            ("planning.load_window", self.planning.load_window),
            ("window", self.options.window),
        ];
        for (key, length) in lengths {
            if length < Seconds::ZERO {
                let place = section.find(key).and_then(Node::place);
                let (key, rule) = (format!("scheduler.{key}"), "must be at least 0 s");
                return Err(Fault::invalid(place, &key, length.get(), rule));
            }
        }
        let planning = &self.planning;
        let factors = [
            ("planning.horizon", planning.horizon),
            ("planning.refinement", planning.refinement),
        ];
        for (key, factor) in factors {
            if !(1.0..f64::INFINITY).contains(&factor) {
                let place = section.find(key).and_then(Node::place);
                let (key, rule) = (format!("scheduler.{key}"), "must be at least 1 and finite");
                return Err(Fault::invalid(place, &key, factor, rule));
            }
        }
        let expected = if !(0.0 < planning.overhead && planning.overhead <= 1.0) {
            (
                "overhead",
                planning.overhead,
                "a number above 0 and at most 1",
            )
        } else if !(1..=ASKED_MAX).contains(&planning.asked) {
            let asked = f64::from(planning.asked);
            ("asked", asked, "a whole number from 1 to 10000")
        } else if planning.steps == 0 {
            ("steps", 0.0, "at least 1")
        } else {
            return Ok(());
        };
        let (key, met, expected) = (format!("planning.{}", expected.0), expected.1, expected.2);
        let place = section.find(&key).and_then(Node::place);
        let rule = format!("must be {expected}");
        Err(Fault::invalid(
            place,
            &format!("scheduler.{key}"),
            met,
            rule,
        ))
    }

    /// The scheduler of the agents in a run of `scenario`.
    pub(crate) fn agents(
        &self,
        scenario: Scenario,
        script: Option<Script>,
    ) -> Option<agents::Scheduler> {
        let policy = self.options.policy.0?;
        let moves = match scenario {
            Scenario::I => return None,
            Scenario::Ii => false,
            Scenario::Iii | Scenario::All => true,
        };
        Some(agents::Scheduler {
            policy,
            model: self.model,
            planning: self.planning,
            moves,
            payment: self.options.payment,
            window: self.options.window,
            window_after_migration: self.options.window_after_migration,
            load_window: self.options.load_window,
            script,
        })
    }

    /// The section as it is in effect: the options, then the parameters.
    pub(crate) fn effective(&self) -> Node {
        let mut entries = tree_of(&self.options).entries().to_vec();
        entries.extend_from_slice(tree_of(self.model.parameters()).entries());
        entries.push((PLANNING.to_owned(), tree_of(&self.planning)));
        entries.push((SCRIPT.to_owned(), tree_of(&self.orders)));
        Node {
            value: Value::Table(entries),
            origin: None,
        }
    }
}

impl Scenario {
    /// The scenarios to run under `policy`, in order.
    pub(crate) const fn runs(self, policy: PolicyName) -> &'static [Self] {
        match self {
            _ if policy.0.is_none() => &[Self::I],
            Self::I => &[Self::I],
            Self::Ii => &[Self::Ii],
            Self::Iii => &[Self::Iii],
            Self::All => &[Self::I, Self::Ii, Self::Iii],
        }
    }

    /// The one scenario of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::I, Self::Ii, Self::Iii];
        all.into_iter().find(|scenario| scenario.name() == name)
    }

    /// As the papers write it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::I => "i",
            Self::Ii => "ii",
            Self::Iii => "iii",
            Self::All => "all",
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        let agents::Scheduler {
            policy,
            payment,
            window,
            window_after_migration,
            load_window,
            ..
        } = agents::Scheduler::default();
        Self {
            policy: PolicyName(Some(policy)),
            scenario: Scenario::default(),
            load_window,
            payment,
            window,
            window_after_migration,
        }
    }
}

/// The entries of `section` whose keys are among `keys`.
fn only(section: &Node, keys: &[String]) -> Node {
    let entries = section
        .entries()
        .iter()
        .filter(|(key, _)| keys.contains(key));
    Node {
        value: Value::Table(entries.cloned().collect()),
        origin: section.origin.clone(),
    }
}

const PLANNING: &str = "planning";
const SCRIPT: &str = "script";

/// Maximum number of hosts that a host asks in a plan; larger values take minutes.
const ASKED_MAX: u32 = 10_000;
