//! Parameters of policies whose plans name processors.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

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
