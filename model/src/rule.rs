//! Rules that policies are made of.

use std::fmt;

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::Config;

/// A rule that a policy names: a [`When`](crate::When), a [`Plan`](crate::Plan) or a [`Gate`](crate::Gate).
///
/// ```
/// use model::{Draft, Parameter, Plan, Rule, Snapshot};
///
/// /// Moves every process to the host with this number.
/// #[derive(Debug)]
/// struct Gather {
///     host: f64,
/// }
///
/// impl Plan for Gather {
///     fn draft(&mut self, snapshot: &Snapshot) -> Draft {
///         let id = |host: &model::Host| f64::from(host.id.0) == self.host;
///         let host = snapshot.hosts().iter().position(id).unwrap_or_default();
///         Draft::only("gather", snapshot, vec![host; snapshot.processes().len()])
///     }
/// }
///
/// const GATHER: Rule<dyn Plan> = Rule::<dyn Plan>::new(
///     "gather",
///     "moves every process to one host",
///     |settings| Box::new(Gather { host: settings.argument("host") }),
/// )
/// .with_parameters(&[Parameter {
///     name: "host",
///     help: "number of the host",
///     default: 0.0,
///     min: 0.0,
///     max: 1e6,
/// }]);
///
/// let policies = model::Policies::shipped().with_plan(GATHER);
/// let policy = policies.policy("fixed+gather")?;
/// let policy = policy.with_argument("gather", "host", 2.0)?;
/// assert_eq!(policy.to_string(), "fixed+gather");
/// # Ok::<(), model::PolicyError>(())
/// ```
pub struct Rule<Product: ?Sized + 'static> {
    name: &'static str,
    help: &'static str,
    parameters: &'static [Parameter],
    need: Need,
    make: fn(&Settings<'_>) -> Box<Product>,
}

/// A number that an experiment may set for a rule, as `scheduler.RULE.NAME`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its key in the configuration.
    pub name: &'static str,
    /// One line about it.
    pub help: &'static str,
    /// The value if the configuration does not set it.
    pub default: f64,
    /// The least value allowed.
    pub min: f64,
    /// The greatest value allowed.
    pub max: f64,
}

/// What a when rule needs in addition to the times of supersteps, or a plan in addition to recent loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Need {
    /// Nothing.
    #[default]
    Nothing,
    /// The times of every process in every superstep ([`CallOutcome::supersteps`](crate::CallOutcome)).
    ProcessTimes,
    /// The utilisation of hosts over [`Planning::owner_window`](crate::Planning), even if their owners run no jobs.
    Utilisation,
    /// The costs of calls, which only a planner measures ([`Spacing`](crate::Spacing)): not with the plan `migbsp`.
    CallCosts,
}

/// What a rule is made from.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The parameters of the model.
    pub config: &'a Config,
    /// The parameters of policies whose plans name hosts.
    pub planning: &'a Planning,
    /// The rule's own parameters, and their values in the same order.
    pub(crate) parameters: &'static [Parameter],
    pub(crate) arguments: &'a [f64],
}

impl<Product: ?Sized> Rule<Product> {
    /// A rule without parameters of its own.
    #[must_use]
    pub const fn new(
        name: &'static str,
        help: &'static str,
        make: fn(&Settings<'_>) -> Box<Product>,
    ) -> Self {
        Self {
            name,
            help,
            parameters: &[],
            need: Need::Nothing,
            make,
        }
    }

    /// The same rule with `parameters`, whose values [`Settings::argument`] gives.
    #[must_use]
    pub const fn with_parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// The same rule with `need`.
    #[must_use]
    pub const fn with_need(self, need: Need) -> Self {
        Self { need, ..self }
    }

    /// Its name in policies.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// One line about it.
    #[must_use]
    pub const fn help(&self) -> &'static str {
        self.help
    }

    /// Its own parameters.
    #[must_use]
    pub const fn parameters(&self) -> &'static [Parameter] {
        self.parameters
    }

    /// What it needs in addition to the times of supersteps.
    #[must_use]
    pub const fn need(&self) -> Need {
        self.need
    }

    pub(crate) fn make(&self, settings: &Settings<'_>) -> Box<Product> {
        (self.make)(settings)
    }
}

impl Settings<'_> {
    /// The value of a parameter of the rule.
    ///
    /// # Panics
    ///
    /// If the rule has no parameter `name`.
    #[must_use]
    pub fn argument(&self, name: &str) -> f64 {
        let position = self.parameters.iter().position(|one| one.name == name);
        let position = position.unwrap_or_else(|| panic!("the rule has no parameter `{name}`"));
        self.arguments[position]
    }
}

impl<Product: ?Sized> Clone for Rule<Product> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Product: ?Sized> Copy for Rule<Product> {}

impl<Product: ?Sized> fmt::Debug for Rule<Product> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Rule").field(&self.name).finish()
    }
}

/// Parameters of [`Planner`](crate::Planner) and of the rules of policies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Planning {
    /// The most supersteps for which a plan is expected to stay good (`H`); below that, a plan is expected
    /// to last as long as the last one did. At least 1.
    pub horizon: f64,
    /// Supersteps without a call after one that found nothing to improve.
    pub pause: u64,
    /// The most supersteps without a call after plans that cost too much.
    pub pause_max: u64,
    /// The part of the run that calls without moves may take, in `(0, 1]`; the first ones are free.
    pub overhead: f64,
    /// How much longer than under a greedy assignment a superstep may take (`greedy-refine`); at least 1.
    pub refinement: f64,
    /// How many others every host asks (`bonorden-distributed`); at least 1.
    pub asked: u32,
    /// Moves and exchanges that `imlp` and `best` look at for each level.
    pub steps: u64,
    /// External load of the last moment is its mean over this long.
    pub load_window: Seconds,
    /// Which external load plans expect.
    pub load: LoadSource,
    /// The utilisation of a host by its owner is the mean of its external load over this long.
    pub owner_window: Seconds,
    /// Hosts with a higher utilisation are not on the idle list, in `[0, 1]`.
    pub idle_below: f64,
}

/// Which external load plans expect on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadSource {
    /// What owners' jobs are expected to take over the horizon; elsewhere that of the last moment.
    #[default]
    Forecast,
    /// That of the last moment.
    Recent,
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            horizon: 100.0,
            pause: 2,
            pause_max: 8,
            overhead: 0.01,
            refinement: 1.03,
            asked: 2,
            steps: 50_000,
            load_window: Seconds::new(1.0).expect("a second is finite"),
            load: LoadSource::default(),
            owner_window: Seconds::new(600.0).expect("ten minutes are finite"),
            idle_below: 0.8,
        }
    }
}
