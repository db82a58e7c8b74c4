//! `[scheduler]`: the policy, its parameters, the scenarios that are run, and scripted moves.

use std::collections::BTreeMap;

use agents::{Payment, Script};
use bsp::units::Seconds;
use bsp::{HostId, Rank};
use model::{Config, Parameters, Planning, Policies, Policy, PolicyError};
use serde::{Deserialize, Serialize};
use settings::{
    Fault, Node, Unit, Value, decode, decode_part, keys_of, list, nearest, refuse_unknown, tree_of,
};

/// The whole section.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheduler {
    /// The policy, with the parameters of its rules; `None`: no rescheduling.
    pub policy: Option<Policy>,
    /// Which of the papers' scenarios are run.
    pub scenario: Scenario,
    /// The scheduler of the agents, but for the policy and what depends on the run.
    pub settings: agents::Scheduler,
    /// Scripted migrations; none: the policy decides.
    pub orders: Vec<ScriptedMove>,
}

/// The keys whose values are no settings of the agents as they are written.
#[derive(Serialize, Deserialize)]
#[serde(default)]
struct Choice {
    policy: String,
    scenario: Scenario,
}

/// The sections inside the section, except those of rules.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Inner {
    planning: Planning,
    script: Vec<ScriptedMove>,
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
        if !matches!(section.value, Value::Table(_)) {
            let (place, rule) = (section.place(), "must be a section");
            return Err(Fault::invalid(place, PATH, section, rule));
        }
        let own_keys = Self::keys();
        let rules = policies.descriptions().into_iter();
        let rules = rules.filter(|rule| !rule.parameters.is_empty());
        let known: Vec<&str> = own_keys
            .iter()
            .copied()
            .chain(rules.map(|rule| rule.name))
            .collect();
        refuse_unknown(section, PATH, &known)?;
        let choice: Choice = decode_part(section, PATH, Unit::of_key)?;
        let mut settings: agents::Scheduler = decode_part(section, PATH, Unit::of_key)?;
        let policy = policy(&choice.policy, policies).map_err(|problem| {
            let place = section.get("policy").and_then(Node::place);
            Fault::new(place, "scheduler.policy", problem)
        })?;
        let policy = with_arguments(policy, section, &own_keys, policies)?;
        let parameters: Parameters = decode_part(section, PATH, Unit::of_key)?;
        settings.model = Config::new(parameters)
            .map_err(|error| section.invalid(PATH, error.key, error.value, error.rule))?;
        let inner: Inner = decode_part(section, PATH, Unit::of_key)?;
        settings.planning = inner.planning;
        let scheduler = Self {
            policy,
            scenario: choice.scenario,
            settings,
            orders: inner.script,
        };
        scheduler.check(section)?;
        Ok(scheduler)
    }

    /// The keys of the section that do not name a rule.
    pub fn keys() -> Vec<&'static str> {
        [
            keys_of::<Choice>(),
            keys_of::<agents::Scheduler>(),
            keys_of::<Parameters>(),
            keys_of::<Inner>(),
        ]
        .concat()
    }

    /// The name of the policy, as `scheduler.policy` states it.
    #[must_use]
    pub fn policy_name(&self) -> String {
        name(self.policy.as_ref())
    }

    fn check(&self, section: &Node) -> Result<(), Fault> {
        let time = &self.settings.planning_time;
        let lengths = [
            ("load_window", self.settings.load_window),
            ("planning.load_window", self.settings.planning.load_window),
            ("planning.owner_window", self.settings.planning.owner_window),
            ("planning_time.per_process", time.per_process),
            ("planning_time.per_candidate", time.per_candidate),
            ("window", self.settings.window),
        ];
        let invalid = |key, found: f64, rule| Err(section.invalid(PATH, key, found, rule));
        for (key, length) in lengths {
            if length < Seconds::ZERO {
                return invalid(key, length.get(), "must be at least 0 s");
            }
        }
        if let Some(probing) = self.settings.link_probes
            && probing.interval < Seconds::new(PROBES_APART_MIN).expect("finite")
        {
            return invalid(
                "link_probes",
                probing.interval.get(),
                "must be at least 1 ms",
            );
        }
        let planning = &self.settings.planning;
        if !(0.0..=1.0).contains(&planning.idle_below) {
            let rule = "must be a number from 0 to 1";
            return invalid("planning.idle_below", planning.idle_below, rule);
        }
        self.check_transfer_factor(section)?;
        let factors = [
            ("planning.horizon", planning.horizon),
            ("planning.refinement", planning.refinement),
        ];
        for (key, factor) in factors {
            if !(1.0..f64::INFINITY).contains(&factor) {
                return invalid(key, factor, "must be at least 1 and finite");
            }
        }
        if !(0.0 < planning.overhead && planning.overhead <= 1.0) {
            let rule = "must be a number above 0 and at most 1";
            return invalid("planning.overhead", planning.overhead, rule);
        }
        if !(1..=ASKED_MAX).contains(&planning.asked) {
            let rule = "must be a whole number from 1 to 10000";
            return invalid("planning.asked", planning.asked.into(), rule);
        }
        if planning.steps == 0 {
            return invalid("planning.steps", 0.0, "must be at least 1");
        }
        Ok(())
    }

    fn check_transfer_factor(&self, section: &Node) -> Result<(), Fault> {
        let Some(factor) = self.settings.transfer_factor else {
            return Ok(());
        };
        let invalid = |rule| section.invalid(PATH, "transfer_factor", factor, rule);
        if !(1.0..=TRANSFER_FACTOR_MAX).contains(&factor) {
            return Err(invalid("must be from 1 to 1000000"));
        }
        if self.settings.payment == Payment::Migrant {
            let rule =
                "needs `scheduler.payment = \"transfer\"`, by which states cross the network";
            let mut fault = invalid(rule);
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
        let mut scheduler = agents::Scheduler {
            policy,
            moves,
            script,
            ..self.settings.clone()
        };
        if let Some(probing) = &mut scheduler.link_probes {
            probing.seed = seed;
        }
        Some(scheduler)
    }

    /// The section as it is in effect: the settings, then the parameters.
    pub fn effective(&self) -> Node {
        let choice = Choice {
            policy: self.policy_name(),
            scenario: self.scenario,
        };
        let inner = Inner {
            planning: self.settings.planning,
            script: self.orders.clone(),
        };
        let parts = [
            tree_of(&choice),
            tree_of(&self.settings),
            tree_of(self.settings.model.parameters()),
            tree_of(&inner),
        ];
        let mut entries: Vec<_> = parts.iter().flat_map(Node::entries).cloned().collect();
        let mut rules: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
        for (rule, parameter, value) in self.policy.iter().flat_map(Policy::arguments) {
            rules.entry(rule).or_default().insert(parameter, value);
        }
        let rules = rules.into_iter();
        entries.extend(rules.map(|(rule, values)| (rule.to_owned(), tree_of(&values))));
        Node::table(entries)
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

impl Default for Choice {
    fn default() -> Self {
        Self {
            policy: agents::Scheduler::default().policy.to_string(),
            scenario: Scenario::default(),
        }
    }
}

/// `policy` with the parameters that `section` sets for its rules, each in a section of its name. Those of other rules
/// are checked, too.
fn with_arguments(
    mut policy: Option<Policy>,
    section: &Node,
    own_keys: &[&str],
    policies: &Policies,
) -> Result<Option<Policy>, Fault> {
    let is_rule = |key: &String| !own_keys.contains(&key.as_str());
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

/// Where the section is.
const PATH: &str = "scheduler";

/// Maximum number of hosts that a host asks in a plan; larger values take minutes.
const ASKED_MAX: u32 = 10_000;

/// Seconds between probes.
const PROBES_APART_MIN: f64 = 1e-3;

/// Maximum number of bytes on the network for each byte of a state.
const TRANSFER_FACTOR_MAX: f64 = 1e6;

/// The policy that `text` names; `None`: no rescheduling, scenario i alone.
///
/// # Errors
///
/// The part that is not known, with the names that are.
pub(crate) fn policy(text: &str, policies: &Policies) -> Result<Option<Policy>, String> {
    if text == NONE {
        return Ok(None);
    }
    match policies.policy(text) {
        Ok(policy) => Ok(Some(policy)),
        Err(PolicyError::Unknown {
            name,
            kind,
            mut names,
        }) => {
            if kind == "policy" {
                names.insert(0, NONE);
            }
            let hint = nearest(&name, &names).map_or_else(String::new, |nearest| {
                format!("; did you mean `{nearest}`?")
            });
            Err(format!(
                "unknown {kind} `{name}`, must be one of {}{}{hint}",
                list(&names),
                if kind == "policy" { PARTS } else { "" },
            ))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// The name of a policy as [`policy`] reads it.
pub(crate) fn name(policy: Option<&Policy>) -> String {
    policy.map_or_else(|| NONE.to_owned(), ToString::to_string)
}

const NONE: &str = "none";
const PARTS: &str = ", or when+plan+gate, such as menon+greedy-refine+amortised";

/// One move: at the call after `superstep`, `process` goes `to` a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedMove {
    /// Number of completed supersteps.
    pub superstep: u64,
    /// As `p21`; p1 is the first.
    pub process: String,
    /// Name of a host.
    pub to: String,
}

/// The script of `orders` for `processes` on hosts that `find` knows by name; `None` if there are none.
///
/// `written` is the experiment that has them.
///
/// # Errors
///
/// The first order that names an unknown process or host, or that contradicts an earlier one.
pub fn script(
    orders: &[ScriptedMove],
    written: &Node,
    processes: u32,
    find: impl Fn(&str) -> Result<HostId, String>,
) -> Result<Option<Script>, Fault> {
    let mut moves: BTreeMap<u64, Vec<(Rank, HostId)>> = BTreeMap::new();
    for (index, order) in orders.iter().enumerate() {
        let fault = |key: &str, problem: String| {
            let path = format!("scheduler.script[{index}].{key}");
            Fault::new(place(written, index, key), &path, problem)
        };
        let superstep = order.superstep;
        if superstep == 0 {
            let (key, rule) = ("superstep", "must be at least 1");
            let path = format!("scheduler.script[{index}].{key}");
            return Err(Fault::invalid(place(written, index, key), &path, 0, rule));
        }
        let rank = rank(&order.process, processes).map_err(|problem| fault("process", problem))?;
        let host = find(&order.to).map_err(|problem| fault("to", problem))?;
        let moves = moves.entry(superstep).or_default();
        if moves.iter().any(|(earlier, _)| *earlier == rank) {
            let problem = format!("{rank} is moved twice after superstep {superstep}");
            return Err(fault("process", problem));
        }
        moves.push((rank, host));
    }
    Ok((!moves.is_empty()).then_some(Script(moves)))
}

/// Place of `key` of the order at `index`.
fn place<'a>(written: &'a Node, index: usize, key: &str) -> Option<&'a str> {
    let script = written.find("scheduler.script")?;
    let order = match &script.value {
        Value::Array(items) => items.get(index)?,
        _ => script,
    };
    order.get(key).unwrap_or(order).place()
}

/// The rank of the process `name`.
///
/// # Errors
///
/// If there is no such process.
pub fn rank(name: &str, processes: u32) -> Result<Rank, String> {
    let number = name
        .strip_prefix('p')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse::<u32>().ok());
    let rank = |number: u32| number.checked_sub(1).filter(|rank| *rank < processes);
    if let Some(rank) = number.and_then(rank) {
        return Ok(Rank(rank));
    }
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    let nearest = match digits.parse::<u32>() {
        Ok(number) => number.clamp(1, processes),
        Err(_) if digits.is_empty() => 1,
        Err(_) => processes,
    };
    Err(format!(
        "there is no process \"{name}\", must be one of p1 to p{processes}; did you mean \"p{nearest}\"?"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_name_parses_to_itself() {
        let policies = Policies::shipped();
        for text in [
            "none",
            "migbsp",
            "fixed+migbsp",
            "menon+greedy-refine",
            "migbsp-interval+greedy-refine+amortised",
        ] {
            let read = policy(text, &policies).unwrap();
            assert_eq!(name(read.as_ref()), text);
        }
    }

    #[test]
    fn an_unknown_name_gets_a_suggestion() {
        let fault = |text: &str| policy(text, &Policies::shipped()).unwrap_err();
        let unknown = fault("migbps");
        assert!(unknown.contains("did you mean `migbsp`?"), "{unknown}");
        assert!(unknown.contains("when+plan+gate"), "{unknown}");
        let plan = fault("fixed+greedyrefine");
        assert!(
            plan.contains("unknown plan") && plan.contains("; did you mean `greedy-refine`?"),
            "{plan}"
        );
        assert!(fault("a+b+c+d").contains("two or three parts"));
        assert!(fault("budgeted+migbsp").contains("only plans that name processors"));
        assert!(fault("fixed+migbsp+amortised").contains("negotiate"));
    }

    #[test]
    fn an_unknown_process_suggests_the_nearest() {
        assert_eq!(rank("p1", 25), Ok(Rank(0)));
        assert_eq!(rank("p25", 25), Ok(Rank(24)));
        let check = |name: &str, nearest: &str| {
            let problem = rank(name, 25).unwrap_err();
            let end = format!("must be one of p1 to p25; did you mean \"{nearest}\"?");
            assert!(problem.ends_with(&end), "{problem}");
        };
        check("p26", "p25");
        check("p0", "p1");
        check("P21", "p21");
        check("21", "p21");
        check("p-3", "p3");
        check("p+3", "p3");
        check("p99999999999", "p25");
        check("master", "p1");
    }
}
