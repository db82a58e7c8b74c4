//! Policies: when to call, what to plan, and whether it is worth it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rebalance::Method;
use crate::{
    Amortised, BonordenCentral, BonordenDistributed, Boulmier, Config, Either, Fixed, Gate,
    GreedyRefine, Interval, List, Menon, MetaLb, Open, Plan, Planning, Portfolio, Rebalanced,
    Rested, Thrifty, When,
};

/// A policy by the names of its parts.
///
/// Written as the name of one that has one (`migbsp`, `adaptive`), or as its parts:
/// `menon+greedy-refine`, `fixed+portfolio+amortised`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Policy {
    /// When to call.
    pub when: WhenRule,
    /// Which processes move where.
    pub plan: PlanRule,
    /// Whether that is worth it.
    pub gate: GateRule,
}

/// When to call, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenRule {
    /// [`Interval`]: MigBSP's.
    Migbsp,
    /// [`Fixed`].
    Fixed,
    /// [`Menon`].
    Menon,
    /// [`Boulmier`].
    Boulmier,
    /// [`Menon`] or [`Boulmier`], whichever calls first.
    MenonBoulmier,
    /// [`MetaLb`].
    MetaLb,
    /// [`Thrifty`].
    Thrifty,
    /// [`Menon`], [`Boulmier`] or [`Thrifty`], whichever calls first.
    Watchful,
}

/// What to plan, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanRule {
    /// MigBSP's: a list of potentials, negotiated between Managers.
    Migbsp,
    /// [`GreedyRefine`].
    GreedyRefine,
    /// [`BonordenCentral`].
    BonordenCentral,
    /// [`BonordenDistributed`].
    BonordenDistributed,
    /// [`List`].
    List,
    /// [`Portfolio`].
    Portfolio,
    /// [`Rebalanced`] with the algorithm of Chen, Wang and Lau.
    Imlp,
    /// [`Rebalanced`] with the best algorithm there is here.
    Best,
}

/// Whether a plan is worth it, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateRule {
    /// [`Open`].
    Open,
    /// [`Amortised`].
    Amortised,
}

impl Policy {
    /// MigBSP, as its papers describe it.
    pub const MIGBSP: Self = Self {
        when: WhenRule::Migbsp,
        plan: PlanRule::Migbsp,
        gate: GateRule::Open,
    };

    /// Among the best where loads, hosts and networks change, and not worse than MigBSP where they do not
    /// (`docs/policies.md`).
    pub const ADAPTIVE: Self = Self {
        when: WhenRule::Watchful,
        plan: PlanRule::Portfolio,
        gate: GateRule::Amortised,
    };

    /// Whether its plans name processors; else Managers negotiate MigBSP's list.
    #[must_use]
    pub fn names_processors(&self) -> bool {
        self.plan != PlanRule::Migbsp
    }

    /// Whether it judges the balance of every superstep by the times of all processes.
    #[must_use]
    pub fn judges_times(&self) -> bool {
        self.when == WhenRule::Migbsp
    }

    /// A rule that says when, as a run begins.
    #[must_use]
    pub fn when(&self, config: &Config) -> Box<dyn When> {
        let first = config.parameters().interval;
        let menon_boulmier = Either(Menon::at_start(), Boulmier::default());
        match self.when {
            WhenRule::Migbsp => rested(Interval::new(config), first),
            WhenRule::Fixed => rested(Fixed::new(first), first),
            WhenRule::Menon => rested(Menon::at_start(), first),
            WhenRule::Boulmier => rested(Boulmier::default(), first),
            WhenRule::MenonBoulmier => rested(menon_boulmier, first),
            WhenRule::MetaLb => rested(MetaLb::at_start(), first),
            WhenRule::Thrifty => rested(Thrifty::default(), first),
            WhenRule::Watchful => rested(Either(menon_boulmier, Thrifty::default()), first),
        }
    }

    /// A plan that names processors; `None`: Managers negotiate MigBSP's list.
    #[must_use]
    pub fn plan(&self, planning: &Planning) -> Option<Box<dyn Plan>> {
        match self.plan {
            PlanRule::Migbsp => None,
            PlanRule::GreedyRefine => Some(Box::new(GreedyRefine::new(planning.refinement))),
            PlanRule::BonordenCentral => Some(Box::new(BonordenCentral)),
            PlanRule::BonordenDistributed => {
                Some(Box::new(BonordenDistributed::new(planning.asked)))
            }
            PlanRule::List => Some(Box::new(List)),
            PlanRule::Portfolio => Some(Box::new(Portfolio)),
            PlanRule::Imlp => Some(Box::new(Rebalanced::new(Method::Imlp, planning.steps))),
            PlanRule::Best => Some(Box::new(Rebalanced::new(Method::Best, planning.steps))),
        }
    }

    /// A gate for its plans.
    #[must_use]
    pub fn gate(&self, planning: &Planning) -> Box<dyn Gate> {
        match self.gate {
            GateRule::Open => Box::new(Open),
            GateRule::Amortised => Box::new(Amortised::new(planning.pause_max)),
        }
    }
}

/// A name that is no policy's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A name that nothing has.
    #[error("`{name}` is no {kind}; there are {}", names.join(", "))]
    Unknown {
        /// What was met.
        name: String,
        /// What it should have named.
        kind: &'static str,
        /// What would do.
        names: Vec<&'static str>,
    },
    /// Too many or too few parts.
    #[error("`{0}` has not two or three parts, as in menon+greedy-refine+amortised")]
    Parts(String),
    /// A gate for what needs none.
    #[error("the plan migbsp has no gate: its Managers negotiate whether t1 < t2")]
    Negotiated,
    /// A rule that needs to know what calls take, for a plan that does not say.
    #[error(
        "`{0}` calls when there is time for a call, which only plans that name processors know: not the plan migbsp"
    )]
    Unspaced(&'static str),
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        if let Some((_, policy)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(*policy);
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
        let plan = find(plan, "plan", &PLANS)?;
        if plan == PlanRule::Migbsp && gate.is_some() {
            return Err(PolicyError::Negotiated);
        }
        let when = find(when, "rule that says when", &WHENS)?;
        let needs_spacing = matches!(when, WhenRule::Thrifty | WhenRule::Watchful);
        if needs_spacing && plan == PlanRule::Migbsp {
            return Err(PolicyError::Unspaced(name_of(&when, &WHENS)));
        }
        Ok(Self {
            when,
            plan,
            gate: gate.map_or(Ok(GateRule::Open), |gate| find(gate, "gate", &GATES))?,
        })
    }
}

impl TryFrom<String> for Policy {
    type Error = PolicyError;

    fn try_from(text: String) -> Result<Self, PolicyError> {
        text.parse()
    }
}

impl From<Policy> for String {
    fn from(policy: Policy) -> Self {
        policy.to_string()
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = NAMED.iter().find(|(_, policy)| policy == self) {
            return formatter.write_str(name);
        }
        let (when, plan) = (name_of(&self.when, &WHENS), name_of(&self.plan, &PLANS));
        write!(formatter, "{when}+{plan}")?;
        match self.gate {
            GateRule::Open => Ok(()),
            GateRule::Amortised => write!(formatter, "+{}", name_of(&self.gate, &GATES)),
        }
    }
}

fn find<Rule: Copy>(
    name: &str,
    kind: &'static str,
    rules: &[(&'static str, Rule)],
) -> Result<Rule, PolicyError> {
    let found = rules.iter().find(|(known, _)| *known == name);
    found
        .map(|(_, rule)| *rule)
        .ok_or_else(|| unknown(name, kind, rules.iter().map(|(known, _)| *known).collect()))
}

fn rested(rule: impl When + 'static, first: u32) -> Box<dyn When> {
    Box::new(Rested::new(rule, first.into()))
}

fn unknown(name: &str, kind: &'static str, names: Vec<&'static str>) -> PolicyError {
    PolicyError::Unknown {
        name: name.to_owned(),
        kind,
        names,
    }
}

fn name_of<Rule: PartialEq>(rule: &Rule, rules: &[(&'static str, Rule)]) -> &'static str {
    let found = rules.iter().find(|(_, known)| known == rule);
    found.map(|(name, _)| *name).expect("every rule has a name")
}

/// Policies with a name of their own.
pub const NAMED: [(&str, Policy); 2] = [("migbsp", Policy::MIGBSP), ("adaptive", Policy::ADAPTIVE)];

/// Rules that say when, by name.
pub const WHENS: [(&str, WhenRule); 8] = [
    ("migbsp-interval", WhenRule::Migbsp),
    ("fixed", WhenRule::Fixed),
    ("menon", WhenRule::Menon),
    ("boulmier", WhenRule::Boulmier),
    ("menon-boulmier", WhenRule::MenonBoulmier),
    ("metalb", WhenRule::MetaLb),
    ("thrifty", WhenRule::Thrifty),
    ("watchful", WhenRule::Watchful),
];

/// Plans, by name.
pub const PLANS: [(&str, PlanRule); 8] = [
    ("migbsp", PlanRule::Migbsp),
    ("greedy-refine", PlanRule::GreedyRefine),
    ("bonorden-central", PlanRule::BonordenCentral),
    ("bonorden-distributed", PlanRule::BonordenDistributed),
    ("list", PlanRule::List),
    ("portfolio", PlanRule::Portfolio),
    ("imlp", PlanRule::Imlp),
    ("best", PlanRule::Best),
];

/// Gates, by name.
pub const GATES: [(&str, GateRule); 2] =
    [("open", GateRule::Open), ("amortised", GateRule::Amortised)];
