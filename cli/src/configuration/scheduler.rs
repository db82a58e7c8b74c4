//! `[scheduler]`: who reschedules, in which scenarios, and with which parameters.

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

/// The whole section: [`Options`], beside them the parameters of the policy, and moves of one's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scheduler {
    /// What every policy has.
    pub(crate) options: Options,
    /// The parameters of the model.
    pub(crate) model: Config,
    /// The parameters of policies whose plans name processors.
    pub(crate) planning: Planning,
    /// Moves decided beforehand; none: the model decides.
    pub(crate) orders: Vec<Order>,
}

/// What every policy has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    /// Who reschedules.
    pub(crate) policy: PolicyName,
    /// Which of the papers' scenarios are run.
    pub(crate) scenario: Scenario,
    /// External load is its mean over this long.
    pub(crate) load_window: Seconds,
    /// Who pays for a migration.
    pub(crate) payment: Payment,
    /// A superstep with a call lasts at least this long.
    pub(crate) window: Seconds,
    /// What the window means for a call that migrates.
    pub(crate) window_after_migration: WindowRule,
}

/// Which of the papers' scenarios are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scenario {
    /// The application alone.
    I,
    /// Everything computed and paid for, nobody moves.
    Ii,
    /// Processes migrate.
    Iii,
    /// One after the other.
    #[default]
    All,
}

impl Scheduler {
    /// The section as written.
    ///
    /// # Errors
    ///
    /// The first key or value that will not do.
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
            let problem = format!("met {section}, expected a section");
            return Err(Fault::new(section.place(), "scheduler", problem));
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
            let problem = format!("met {}, expected {}", error.value, error.expected);
            Fault::new(place, &path, problem)
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
                let problem = format!("met {}, expected a time of at least 0 s", length.get());
                return Err(Fault::new(place, &format!("scheduler.{key}"), problem));
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
                let problem = format!("met {factor}, expected a finite number of at least 1");
                return Err(Fault::new(place, &format!("scheduler.{key}"), problem));
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
            ("steps", 0.0, "a whole number of at least 1")
        } else {
            return Ok(());
        };
        let (key, met, expected) = (format!("planning.{}", expected.0), expected.1, expected.2);
        let place = section.find(&key).and_then(Node::place);
        let problem = format!("met {met}, expected {expected}");
        Err(Fault::new(place, &format!("scheduler.{key}"), problem))
    }

    /// What the agents of a run in `scenario` are told.
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

/// Every host asks so many others in a plan: more than anybody has hosts takes minutes.
const ASKED_MAX: u32 = 10_000;
