//! Why numbers do not describe a topology.

/// Why numbers do not describe a topology.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyProblem {
    /// The parts or lists do not have the form of the topology.
    #[error("must be {0}")]
    Form(&'static str),
    /// A number of hosts, switches or cables that is not positive.
    #[error("`{0}` is not a number from 1")]
    Number(String),
    /// A list of a fat tree that has not one number for each level.
    #[error("a fat tree of {levels} levels has {levels} numbers of {what}, not {met}")]
    Levels {
        /// What the list counts.
        what: &'static str,
        /// Number of levels.
        levels: usize,
        /// Length of the list.
        met: usize,
    },
    /// Another number of hosts.
    #[error("it has {expected} hosts, but {met} are declared")]
    Hosts {
        /// Hosts of the topology.
        expected: u64,
        /// Hosts declared.
        met: u64,
    },
    /// A dragonfly whose groups have no router for each other group.
    #[error(
        "{groups} groups take at least {groups} routers in each chassis, one for each other group, not \
         {routers}"
    )]
    FewRouters {
        /// Number of groups.
        groups: u32,
        /// Routers of a chassis.
        routers: u32,
    },
    /// More hosts, switches or cables than can be numbered.
    #[error("it has too many {0}")]
    TooLarge(&'static str),
}

/// The product of positive numbers, if it is small enough to count `what`.
pub(super) fn product(
    what: &'static str,
    factors: impl IntoIterator<Item = u32>,
) -> Result<u32, TopologyProblem> {
    let product = factors
        .into_iter()
        .try_fold(1_u64, |product, factor| {
            Some(product * u64::from(factor)).filter(|product| *product <= COUNT_MAX)
        })
        .ok_or(TopologyProblem::TooLarge(what))?;
    u32::try_from(product).map_err(|_| TopologyProblem::TooLarge(what))
}

/// The sum, if it is small enough to count `what`.
pub(super) fn sum(
    what: &'static str,
    summands: impl IntoIterator<Item = u32>,
) -> Result<u32, TopologyProblem> {
    summands
        .into_iter()
        .try_fold(0_u64, |sum, summand| {
            Some(sum + u64::from(summand)).filter(|sum| *sum <= COUNT_MAX)
        })
        .and_then(|sum| u32::try_from(sum).ok())
        .ok_or(TopologyProblem::TooLarge(what))
}

/// Refuses zero.
pub(super) fn check_positive(
    numbers: impl IntoIterator<Item = u32>,
) -> Result<(), TopologyProblem> {
    match numbers.into_iter().find(|number| *number == 0) {
        None => Ok(()),
        Some(zero) => Err(TopologyProblem::Number(zero.to_string())),
    }
}

/// Most hosts, switches or cables of one topology; more would take gigabytes.
const COUNT_MAX: u64 = 1 << 24;
