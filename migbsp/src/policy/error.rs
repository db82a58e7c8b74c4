//! Why a text names no policy.

use crate::rule::Parameter;

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
