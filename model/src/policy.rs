//! Policies: when to call, what to plan, and whether a plan is accepted.
//!
//! A policy is a rule of each of three traits:
//!
//! * `When` says after which supersteps a call is held, of those that end a round of the program. Every Manager has one
//!   and feeds it the outcome of each call, so all of them have the same schedule. Rules look at imbalance and time.
//!   `Cooldown`, around each of them, enforces pauses.
//! * `Plan` says where each process should run, from a `Snapshot` of hosts, loads and rates. The first Manager alone
//!   makes plans, because a plan is one decision about all hosts. MigBSP's plan is none of these: its Managers
//!   negotiate.
//! * `Gate` says whether a plan is carried out. Until then nothing has moved.

use std::fmt;

use crate::rule::{Need, Parameter, Planning, Rule, Settings};
use crate::when::{self, Cooldown};
use crate::{Config, Gate, Memory, Plan, When, acceptance, plan};

/// A policy: a [`When`], a [`Plan`] and a [`Gate`], each with the values of its parameters.
///
/// Written as the name of one that has one (`migbsp`, `adaptive`), or as the names of its rules:
/// `menon+greedy-refine`, `fixed+portfolio+amortised`. [`Policies`](crate::Policies) reads such texts;
/// [`str::parse`] knows the shipped rules alone.
#[derive(Clone, PartialEq)]
pub struct Policy {
    when: Part<dyn When>,
    /// `None`: Managers negotiate MigBSP's list.
    plan: Option<Part<dyn Plan>>,
    gate: Part<dyn Gate>,
}

impl Policy {
    /// MigBSP, as its papers describe it.
    pub const MIGBSP: Self = Self {
        when: Part::new(when::MIGBSP_INTERVAL),
        plan: None,
        gate: Part::new(acceptance::OPEN),
    };

    /// Among the best where loads, hosts and networks change, and not worse than MigBSP where they do not
    /// (`lab/docs/policies.md`).
    pub const ADAPTIVE: Self = Self {
        when: Part::new(when::MENON_BOULMIER_BUDGETED),
        plan: Some(Part::new(plan::PORTFOLIO)),
        gate: Part::new(acceptance::AMORTISED),
    };

    /// The policy made of these rules; `None` for `plan`: Managers negotiate MigBSP's list.
    ///
    /// # Errors
    ///
    /// If `when` needs the costs of calls, which no planner measures without a plan.
    pub fn new(
        when: Rule<dyn When>,
        plan: Option<Rule<dyn Plan>>,
        gate: Rule<dyn Gate>,
    ) -> Result<Self, PolicyError> {
        if plan.is_none() && when.need() == Need::CallCosts {
            return Err(PolicyError::Unmeasured(when.name()));
        }
        Ok(Self {
            when: Part::new(when),
            plan: plan.map(Part::new),
            gate: Part::new(gate),
        })
    }

    /// The same policy with another value for a parameter of one of its rules.
    ///
    /// # Errors
    ///
    /// If the policy has no such rule, the rule has no such parameter, or the value is out of range.
    pub fn with_argument(
        mut self,
        rule: &str,
        parameter: &str,
        value: f64,
    ) -> Result<Self, PolicyError> {
        let names = self.names();
        let [when, plan, gate] = names.map(|name| name == Some(rule));
        match &mut self.plan {
            _ if when => self.when.set(parameter, value)?,
            Some(part) if plan => part.set(parameter, value)?,
            _ if gate => self.gate.set(parameter, value)?,
            _ => {
                return Err(PolicyError::Unknown {
                    name: rule.to_owned(),
                    kind: "rule of the policy",
                    names: names.into_iter().flatten().collect(),
                });
            }
        }
        Ok(self)
    }

    /// The parameters of the policy's rules: rule, name and value.
    #[must_use]
    pub fn arguments(&self) -> Vec<(&'static str, &'static str, f64)> {
        let mut arguments = of(&self.when);
        arguments.extend(self.plan.iter().flat_map(of));
        arguments.extend(of(&self.gate));
        arguments
    }

    /// Whether its plans name processors; else Managers negotiate MigBSP's list.
    #[must_use]
    pub fn names_processors(&self) -> bool {
        self.plan.is_some()
    }

    /// What each process records for this policy.
    #[must_use]
    pub fn memory(&self) -> Memory {
        Memory {
            times: self.when.rule.need() == Need::ProcessTimes,
            forecast: self.names_processors(),
        }
    }

    /// Whether its plan needs the utilisation of hosts over a long time.
    #[must_use]
    pub fn needs_utilisation(&self) -> bool {
        let plan = self.plan.as_ref();
        plan.is_some_and(|plan| plan.rule.need() == Need::Utilisation)
    }

    /// Its when rule, as a run begins; enforces the pause before the first call and after each.
    #[must_use]
    pub fn when(&self, config: &Config, planning: &Planning) -> Box<dyn When> {
        let rule = self.when.make(config, planning);
        let first = config.parameters().interval;
        let cooldown = Cooldown::new(rule, first.into());
        Box::new(if self.when.rule.need() == Need::CallCosts {
            cooldown.with_budget()
        } else {
            cooldown
        })
    }

    /// Its plan; `None`: Managers negotiate MigBSP's list.
    #[must_use]
    pub fn plan(&self, config: &Config, planning: &Planning) -> Option<Box<dyn Plan>> {
        self.plan.as_ref().map(|part| part.make(config, planning))
    }

    /// Its gate.
    #[must_use]
    pub fn gate(&self, config: &Config, planning: &Planning) -> Box<dyn Gate> {
        self.gate.make(config, planning)
    }

    /// The names of its when rule, plan and gate.
    fn names(&self) -> [Option<&'static str>; 3] {
        [
            Some(self.when.rule.name()),
            self.plan.as_ref().map(|part| part.rule.name()),
            Some(self.gate.rule.name()),
        ]
    }

    /// The names of its rules, as `scheduler.policy` may state them: `menon+greedy-refine`.
    #[must_use]
    pub fn rules(&self) -> String {
        let [when, plan, gate] = self.names().map(|name| name.unwrap_or(NEGOTIATION));
        if gate == acceptance::OPEN.name() {
            format!("{when}+{plan}")
        } else {
            format!("{when}+{plan}+{gate}")
        }
    }
}

impl fmt::Display for Policy {
    /// Writes the name of the policy or of its rules; arguments are not part of it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.names();
        let is_named = |(_, policy): &&(&str, Self)| policy.names() == names;
        if let Some((name, _)) = NAMED.iter().find(is_named) {
            return formatter.write_str(name);
        }
        formatter.write_str(&self.rules())
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments();
        write!(formatter, "Policy({self}, {arguments:?})")
    }
}

fn of<Product: ?Sized>(part: &Part<Product>) -> Vec<(&'static str, &'static str, f64)> {
    let parameters = part.rule.parameters().iter().zip(part.values());
    parameters
        .map(|(parameter, value)| (part.rule.name(), parameter.name, value))
        .collect()
}

/// Policies with a name of their own.
pub(crate) const NAMED: &[(&str, Policy)] =
    &[("migbsp", Policy::MIGBSP), ("adaptive", Policy::ADAPTIVE)];

/// The plan that is none: Managers negotiate MigBSP's list.
pub(crate) const NEGOTIATION: &str = "migbsp";

/// Why a text names no policy, or a policy does not take an argument.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// No rule or policy has the name.
    #[error("unknown {kind} `{name}`: expected one of {}", names.join(", "))]
    Unknown {
        /// The name that was given.
        name: String,
        /// What it should have named.
        kind: &'static str,
        /// The known names.
        names: Vec<&'static str>,
    },
    /// Too many or too few parts.
    #[error("`{0}` has not two or three parts, as in menon+greedy-refine+amortised")]
    Parts(String),
    /// A gate with the plan `migbsp`, which has none.
    #[error("the plan migbsp has no gate: its Managers negotiate whether t1 < t2")]
    Negotiated,
    /// A rule that needs the costs of calls, with the plan `migbsp`.
    #[error(
        "`{0}` needs the costs of calls, which only plans that name processors measure: not the plan migbsp"
    )]
    Unmeasured(&'static str),
    /// A parameter that the rule does not have.
    #[error("unknown parameter `{name}` of `{rule}`: expected one of {}", names.join(", "))]
    UnknownParameter {
        /// The rule.
        rule: &'static str,
        /// The name that was given.
        name: String,
        /// The parameters of the rule.
        names: Vec<&'static str>,
    },
    /// A value out of range.
    #[error(
        "invalid value `{value}` for `{rule}.{}`: must be from {} to {}",
        parameter.name, parameter.min, parameter.max
    )]
    OutOfRange {
        /// The rule.
        rule: &'static str,
        /// Its parameter.
        parameter: Parameter,
        /// The value that was given.
        value: String,
    },
}

/// A rule of a policy with the values of its parameters.
#[derive(Debug)]
struct Part<Product: ?Sized + 'static> {
    rule: Rule<Product>,
    /// In the order of the rule's parameters; empty: all have their defaults.
    arguments: Vec<f64>,
}

impl<Product: ?Sized> Part<Product> {
    /// The rule with the defaults of its parameters.
    const fn new(rule: Rule<Product>) -> Self {
        Self {
            rule,
            arguments: Vec::new(),
        }
    }

    /// Sets a parameter.
    fn set(&mut self, name: &str, value: f64) -> Result<(), PolicyError> {
        let position = check(self.rule.name(), self.rule.parameters(), name, value)?;
        self.arguments = self.values();
        self.arguments[position] = value;
        Ok(())
    }

    /// The values of the rule's parameters, in their order.
    fn values(&self) -> Vec<f64> {
        if self.arguments.is_empty() {
            let parameters = self.rule.parameters().iter();
            return parameters.map(|parameter| parameter.default).collect();
        }
        self.arguments.clone()
    }

    fn make(&self, config: &Config, planning: &Planning) -> Box<Product> {
        self.rule.make(&Settings {
            config,
            planning,
            parameters: self.rule.parameters(),
            arguments: &self.values(),
        })
    }
}

/// The position of the parameter `name` of `rule`, which takes `value`.
pub(crate) fn check(
    rule: &'static str,
    parameters: &[Parameter],
    name: &str,
    value: f64,
) -> Result<usize, PolicyError> {
    let position = parameters.iter().position(|one| one.name == name);
    let position = position.ok_or_else(|| PolicyError::UnknownParameter {
        rule,
        name: name.to_owned(),
        names: parameters.iter().map(|one| one.name).collect(),
    })?;
    let parameter = parameters[position];
    if !(parameter.min..=parameter.max).contains(&value) {
        return Err(PolicyError::OutOfRange {
            rule,
            parameter,
            value: value.to_string(),
        });
    }
    Ok(position)
}

impl<Product: ?Sized> Clone for Part<Product> {
    fn clone(&self) -> Self {
        Self {
            rule: self.rule,
            arguments: self.arguments.clone(),
        }
    }
}

impl<Product: ?Sized> PartialEq for Part<Product> {
    /// Rules are equal if their names are.
    fn eq(&self, other: &Self) -> bool {
        self.rule.name() == other.rule.name() && self.values() == other.values()
    }
}
