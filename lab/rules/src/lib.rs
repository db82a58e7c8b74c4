//! Plans that reproduce one table of one paper, for the program `migbsp`.
//!
//! [`completion`] is the mean time that a task takes where an owner's jobs come first, by which some of them choose. They are
//! made with the public interface of `migbsp` and registered as a user's plans are:
//!
//! ```
//! use model::Policies;
//!
//! let policies = Policies::shipped().with_plans(lab_rules::PLANS);
//! assert_eq!(policies.policy("once+dsa")?.to_string(), "once+dsa");
//! assert!(Policies::shipped().policy("once+dsa").is_err());
//! # Ok::<(), model::PolicyError>(())
//! ```

mod bonorden;
pub mod completion;
mod destination;

use model::{Plan, Rule};

/// All of them.
pub const PLANS: [Rule<dyn Plan>; 7] = [
    bonorden::CENTRAL,
    bonorden::DISTRIBUTED,
    destination::DSA,
    destination::DSA_PLUS,
    destination::MCM,
    destination::ETM,
    destination::RANDOM,
];

#[cfg(test)]
mod tests;
