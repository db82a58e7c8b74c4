//! `[scheduler]`: the policy, its parameters, and the scenarios that are run.

use std::collections::BTreeMap;

use agents::{LinkProbing, Payment, Script, WindowRule};
use bsp::units::Seconds;
use migbsp::{Config, Parameters, Planning, Policies, Policy, PolicyError};
use serde::{Deserialize, Serialize};

use crate::policy::name;
use crate::policy::policy;
use crate::script::ScriptedMove;
use settings::Fault;
use settings::Node;
use settings::Unit;
use settings::Value;
use settings::decode;
use settings::tree_of;

/// The whole section: [`Options`], the parameters of the policy, and scripted migrations.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    /// The policy of the options, with the parameters of its rules; `None`: no rescheduling.
    pub policy: Option<Policy>,
    /// Options of every policy.
    pub options: Options,
    /// The parameters of the model.
    pub model: Config,
    /// The parameters of policies whose plans name processors.
    pub planning: Planning,
    /// Scripted migrations; none: the policy decides.
    pub orders: Vec<ScriptedMove>,
}

/// Options of every policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The name of the policy.
    pub policy: String,
    /// Which of the papers' scenarios are run.
    pub scenario: Scenario,
    /// Whether programs are asked how many supersteps are left; `None`: if plans name hosts.
    pub horizon_known: Option<bool>,
    /// Length of time over which external load is averaged.
    pub load_window: Seconds,
    /// Which processes pay for a migration.
    pub payment: Payment,
    /// Bytes on the simulated network for each byte of a state that moves; `None`: one.
    pub transfer_factor: Option<f64>,
    /// Time between probes of the bandwidths between simulated hosts; `None`: links have their nominal ones.
    pub link_probes: Option<Seconds>,
    /// Minimum duration of a superstep with a call.
    pub window: Seconds,
    /// Effect of the window on a call with migrations.
    pub window_after_migration: WindowRule,
}

/// Which of the papers' scenarios are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
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
    pub fn new(section: &Node, policies: &Policies) -> Result<Self, Fault> {
        let option_keys = keys(&tree_of(&Options::default()));
        let parameter_keys = keys(&tree_of(&Parameters::default()));
        let own_keys = Self::keys();
        let rules = policies.descriptions().into_iter();
        let rules = rules.filter(|rule| !rule.parameters.is_empty());
        let known: Vec<&str> = own_keys
            .iter()
            .map(String::as_str)
            .chain(rules.map(|rule| rule.name))
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
        let mut options: Options = decode(&only(section, &option_keys), "scheduler", Unit::of_key)?;
        let policy = policy(&options.policy, policies).map_err(|problem| {
            let place = section.get("policy").and_then(Node::place);
            Fault::new(place, "scheduler.policy", problem)
        })?;
        let policy = with_arguments(policy, section, &own_keys, policies)?;
        options.policy = name(policy.as_ref());
        let parameters = decode(&only(section, &parameter_keys), "scheduler", Unit::of_key)?;
        let model = Config::new(parameters).map_err(|error| {
            let path = format!("scheduler.{}", error.key);
            let place = section.find(error.key).and_then(Node::place);
            Fault::invalid(place, &path, error.value, error.rule)
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
            policy,
            options,
            model,
            planning,
            orders,
        };
        scheduler.check(section)?;
        Ok(scheduler)
    }

    /// The keys of the section that do not name a rule.
    pub fn keys() -> Vec<String> {
        let mut all = keys(&tree_of(&Options::default()));
        all.extend(keys(&tree_of(&Parameters::default())));
        all.extend([PLANNING, SCRIPT].map(str::to_owned));
        all
    }

    fn check(&self, section: &Node) -> Result<(), Fault> {
        let lengths = [
            ("load_window", self.options.load_window),
            ("planning.load_window", self.planning.load_window),
            ("planning.owner_window", self.planning.owner_window),
            ("window", self.options.window),
        ];
        for (key, length) in lengths {
            if length < Seconds::ZERO {
                let place = section.find(key).and_then(Node::place);
                let (key, rule) = (format!("scheduler.{key}"), "must be at least 0 s");
                return Err(Fault::invalid(place, &key, length.get(), rule));
            }
        }
        if let Some(interval) = self.options.link_probes
            && interval < Seconds::new(PROBES_APART_MIN).expect("finite")
        {
            let place = section.find("link_probes").and_then(Node::place);
            let key = "scheduler.link_probes";
            let rule = "must be at least 1 ms";
            return Err(Fault::invalid(place, key, interval.get(), rule));
        }
        let idle_below = self.planning.idle_below;
        if !(0.0..=1.0).contains(&idle_below) {
            let place = section.find("planning.idle_below").and_then(Node::place);
            let key = "scheduler.planning.idle_below";
            let rule = "must be a number from 0 to 1";
            return Err(Fault::invalid(place, key, idle_below, rule));
        }
        self.check_transfer_factor(section)?;
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

    fn check_transfer_factor(&self, section: &Node) -> Result<(), Fault> {
        let Some(factor) = self.options.transfer_factor else {
            return Ok(());
        };
        let place = section.find("transfer_factor").and_then(Node::place);
        let key = "scheduler.transfer_factor";
        if !(1.0..=TRANSFER_FACTOR_MAX).contains(&factor) {
            let rule = "must be from 1 to 1000000";
            return Err(Fault::invalid(place, key, factor, rule));
        }
        if self.options.payment == Payment::Migrant {
            let rule =
                "needs `scheduler.payment = \"transfer\"`, by which states cross the network";
            let mut fault = Fault::invalid(place, key, factor, rule);
            fault.help = Some("state the cost in `scheduler.migration.data_rate`".to_owned());
            return Err(fault);
        }
        Ok(())
    }

    /// The scheduler of the agents in a run of `scenario`.
    ///
    /// `seed` is the one of the run.
    pub fn agents(
        &self,
        scenario: Scenario,
        script: Option<Script>,
        seed: u64,
    ) -> Option<agents::Scheduler> {
        let policy = self.policy.clone()?;
        let moves = match scenario {
            Scenario::I => return None,
            Scenario::Ii => false,
            Scenario::Iii | Scenario::All => true,
        };
        let asks = self.options.horizon_known;
        Some(agents::Scheduler {
            horizon_known: asks.unwrap_or_else(|| policy.names_processors()),
            policy,
            model: self.model,
            planning: self.planning,
            moves,
            payment: self.options.payment,
            transfer_factor: self.options.transfer_factor,
            link_probes: self
                .options
                .link_probes
                .map(|interval| LinkProbing { interval, seed }),
            window: self.options.window,
            window_after_migration: self.options.window_after_migration,
            load_window: self.options.load_window,
            script,
        })
    }

    /// The section as it is in effect: the options, then the parameters.
    pub fn effective(&self) -> Node {
        let mut entries = tree_of(&self.options).entries().to_vec();
        entries.extend_from_slice(tree_of(self.model.parameters()).entries());
        entries.push((PLANNING.to_owned(), tree_of(&self.planning)));
        entries.push((SCRIPT.to_owned(), tree_of(&self.orders)));
        let mut rules: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for (rule, parameter, value) in self.policy.iter().flat_map(Policy::arguments) {
            rules.entry(rule).or_default().insert(parameter, value);
        }
        let rules = rules.into_iter();
        entries.extend(rules.map(|(rule, values)| (rule.to_owned(), tree_of(&values))));
        Node {
            value: Value::Table(entries),
            origin: None,
        }
    }
}

impl Scenario {
    /// The scenarios to run under `policy`, in order.
    pub const fn runs(self, policy: Option<&Policy>) -> &'static [Self] {
        match self {
            _ if policy.is_none() => &[Self::I],
            Self::I => &[Self::I],
            Self::Ii => &[Self::Ii],
            Self::Iii => &[Self::Iii],
            Self::All => &[Self::I, Self::Ii, Self::Iii],
        }
    }

    /// The one scenario of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::I, Self::Ii, Self::Iii];
        all.into_iter().find(|scenario| scenario.name() == name)
    }

    /// As the papers write it.
    pub const fn name(self) -> &'static str {
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
            transfer_factor,
            window,
            window_after_migration,
            load_window,
            ..
        } = agents::Scheduler::default();
        Self {
            policy: policy.to_string(),
            scenario: Scenario::default(),
            horizon_known: None,
            load_window,
            payment,
            transfer_factor,
            link_probes: None,
            window,
            window_after_migration,
        }
    }
}

/// `policy` with the parameters that `section` sets for its rules, each in a section of its name. Those of other rules
/// are checked, too.
fn with_arguments(
    mut policy: Option<Policy>,
    section: &Node,
    own_keys: &[String],
    policies: &Policies,
) -> Result<Option<Policy>, Fault> {
    let is_rule = |key: &String| !own_keys.contains(key);
    for (rule, node) in section.entries().iter().filter(|(key, _)| is_rule(key)) {
        let path = format!("scheduler.{rule}");
        let values: BTreeMap<String, f64> = decode(node, &path, Unit::of_key)?;
        for (parameter, value) in values {
            let key = format!("{path}.{parameter}");
            let place = node.get(&parameter).and_then(Node::place);
            let fault = |error: PolicyError| Fault::new(place, &key, error);
            policies
                .check_argument(rule, &parameter, value)
                .map_err(fault)?;
            let is_used = |policy: &Policy| policy.arguments().iter().any(|(one, ..)| one == rule);
            if let Some(used) = policy.take_if(|policy| is_used(policy)) {
                policy = Some(used.with_argument(rule, &parameter, value).map_err(fault)?);
            }
        }
    }
    Ok(policy)
}

fn keys(node: &Node) -> Vec<String> {
    node.entries().iter().map(|(key, _)| key.clone()).collect()
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

/// Seconds between probes.
const PROBES_APART_MIN: f64 = 1e-3;

/// Maximum number of bytes on the network for each byte of a state.
const TRANSFER_FACTOR_MAX: f64 = 1e6;
