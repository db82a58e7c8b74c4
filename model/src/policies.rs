//! The rules that a binary knows, and the policies that can be made of them.

use std::str::FromStr;

use crate::policy::{NAMED, NEGOTIATION, check};
use crate::rule::{Parameter, Rule};
use crate::{Gate, Plan, Policy, PolicyError, When, acceptance, plan, when};

/// The rules that a binary knows, by name.
#[derive(Clone, Debug)]
pub struct Policies {
    whens: Vec<Rule<dyn When>>,
    plans: Vec<Rule<dyn Plan>>,
    gates: Vec<Rule<dyn Gate>>,
}

/// A rule as lists of rules show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Description {
    /// `when`, `plan` or `gate`.
    pub kind: &'static str,
    /// Its name in policies.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    /// Its own parameters.
    pub parameters: &'static [Parameter],
}

impl Policies {
    /// The shipped rules.
    #[must_use]
    pub fn shipped() -> Self {
        Self {
            whens: when::WHENS.to_vec(),
            plans: plan::PLANS.to_vec(),
            gates: acceptance::GATES.to_vec(),
        }
    }

    /// These rules, and `rule`.
    ///
    /// # Panics
    ///
    /// If there already is a rule or policy of that name, or the name is not made of letters, digits and hyphens.
    #[must_use]
    pub fn with_when(mut self, rule: Rule<dyn When>) -> Self {
        self.check_name(rule.name());
        self.whens.push(rule);
        self
    }

    /// These rules, and `rule`.
    ///
    /// # Panics
    ///
    /// As [`Policies::with_when`].
    #[must_use]
    pub fn with_plan(mut self, rule: Rule<dyn Plan>) -> Self {
        self.check_name(rule.name());
        self.plans.push(rule);
        self
    }

    /// These rules, and `plans`.
    ///
    /// # Panics
    ///
    /// As [`Policies::with_when`].
    #[must_use]
    pub fn with_plans(self, plans: impl IntoIterator<Item = Rule<dyn Plan>>) -> Self {
        plans.into_iter().fold(self, Self::with_plan)
    }

    /// These rules, and `rule`.
    ///
    /// # Panics
    ///
    /// As [`Policies::with_when`].
    #[must_use]
    pub fn with_gate(mut self, rule: Rule<dyn Gate>) -> Self {
        self.check_name(rule.name());
        self.gates.push(rule);
        self
    }

    /// The policy that `text` names: one with a name of its own, or `when+plan`, or `when+plan+gate`.
    ///
    /// # Errors
    ///
    /// If a name is unknown, or the rules do not go together.
    pub fn policy(&self, text: &str) -> Result<Policy, PolicyError> {
        if let Some((_, policy)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(policy.clone());
        }
        let parts: Vec<&str> = text.split('+').collect();
        let (when, plan, gate) = match parts[..] {
            [name] => {
                let names = NAMED.iter().map(|(name, _)| *name).collect();
                return Err(unknown(name, "policy", names));
            }
            [when, plan] => (when, plan, None),
            [when, plan, gate] => (when, plan, Some(gate)),
            _ => return Err(PolicyError::Parts(text.to_owned())),
        };
        let plan = self.plan(plan)?;
        if plan.is_none() && gate.is_some() {
            return Err(PolicyError::Negotiated);
        }
        let when = find(when, "when rule", &self.whens)?;
        let gate = gate.map_or(Ok(acceptance::OPEN), |gate| find(gate, "gate", &self.gates));
        Policy::new(when, plan, gate?)
    }

    /// The parameters of the rule called `name`; `None`: there is no such rule.
    #[must_use]
    pub fn parameters(&self, name: &str) -> Option<&'static [Parameter]> {
        let rules = self.descriptions();
        let found = rules.into_iter().find(|rule| rule.name == name);
        found.map(|rule| rule.parameters)
    }

    /// Checks that the rule called `rule` has the parameter `name`, which takes `value`.
    ///
    /// # Errors
    ///
    /// If there is no such rule or parameter, or the value is out of range.
    pub fn check_argument(&self, rule: &str, name: &str, value: f64) -> Result<(), PolicyError> {
        let rules = self.descriptions();
        let found = rules.iter().find(|known| known.name == rule);
        let found = found.ok_or_else(|| {
            let names = rules.iter().map(|known| known.name).collect();
            unknown(rule, "rule", names)
        })?;
        check(found.name, found.parameters, name, value).map(drop)
    }

    /// The policies that have a name, each with the names of its rules.
    #[must_use]
    pub fn named() -> Vec<(&'static str, String)> {
        NAMED
            .iter()
            .map(|(name, policy)| (*name, policy.rules()))
            .collect()
    }

    /// Every rule: when rules, then plans, then gates, each in the order of registration.
    #[must_use]
    pub fn descriptions(&self) -> Vec<Description> {
        let negotiation = Description {
            kind: "plan",
            name: NEGOTIATION,
            help: "MigBSP's list of potentials, negotiated between Managers",
            parameters: &[],
        };
        let mut all: Vec<_> = self
            .whens
            .iter()
            .map(|rule| describe("when", rule))
            .collect();
        all.push(negotiation);
        all.extend(self.plans.iter().map(|rule| describe("plan", rule)));
        all.extend(self.gates.iter().map(|rule| describe("gate", rule)));
        all
    }

    /// The when rules, in the order of registration.
    #[must_use]
    pub fn whens(&self) -> &[Rule<dyn When>] {
        &self.whens
    }

    /// The plans, in the order of registration; MigBSP's negotiation is not among them.
    #[must_use]
    pub fn plans(&self) -> &[Rule<dyn Plan>] {
        &self.plans
    }

    /// The gates, in the order of registration.
    #[must_use]
    pub fn gates(&self) -> &[Rule<dyn Gate>] {
        &self.gates
    }

    fn plan(&self, name: &str) -> Result<Option<Rule<dyn Plan>>, PolicyError> {
        if name == NEGOTIATION {
            return Ok(None);
        }
        find(name, "plan", &self.plans).map(Some).map_err(|_| {
            let plans = self.plans.iter().map(Rule::name);
            unknown(
                name,
                "plan",
                [NEGOTIATION].into_iter().chain(plans).collect(),
            )
        })
    }

    fn check_name(&self, name: &'static str) {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        assert!(
            !name.is_empty() && name.chars().all(is_plain),
            "the rule name `{name}` is not made of letters, digits and hyphens"
        );
        let is_taken = self.parameters(name).is_some() || NAMED.iter().any(|(one, _)| *one == name);
        assert!(!is_taken, "two rules or policies are called `{name}`");
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    /// Reads a policy made of shipped rules.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Policies::shipped().policy(text)
    }
}

impl Default for Policies {
    fn default() -> Self {
        Self::shipped()
    }
}

fn describe<Product: ?Sized>(kind: &'static str, rule: &Rule<Product>) -> Description {
    Description {
        kind,
        name: rule.name(),
        help: rule.help(),
        parameters: rule.parameters(),
    }
}

fn find<Product: ?Sized>(
    name: &str,
    kind: &'static str,
    rules: &[Rule<Product>],
) -> Result<Rule<Product>, PolicyError> {
    let found = rules.iter().find(|rule| rule.name() == name);
    found
        .copied()
        .ok_or_else(|| unknown(name, kind, rules.iter().map(Rule::name).collect()))
}

fn unknown(name: &str, kind: &'static str, names: Vec<&'static str>) -> PolicyError {
    PolicyError::Unknown {
        name: name.to_owned(),
        kind,
        names,
    }
}
