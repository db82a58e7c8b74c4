//! Bulk-synchronous parallel programs whose processes move while they run: one crate to depend on.
//!
//! A program is written once. It runs in the reference runner and on the threads of this machine from any `main`; with a
//! [`Workload`](experiments::Workload) and [`Commands`](commands::Commands) it becomes a command of its own that simulates
//! it on a described platform, compares policies on it, and runs it on real hosts.
//!
//! ```
//! use migbsp::bsp::reference::Limit;
//! use migbsp::prelude::*;
//! use serde::{Deserialize, Serialize};
//!
//! /// Adds the ranks of all processes.
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Ranks;
//!
//! impl Program for Ranks {
//!     type Message = ();
//!     type Output = u64;
//!
//!     fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<u64>, BoxError> {
//!         if ctx.index() == 0 {
//!             ctx.reduce("ranks", Sum(u64::from(ctx.rank().0)));
//!             return Ok(Step::Continue);
//!         }
//!         Ok(Step::Halt(ctx.reduced::<Sum<u64>>("ranks")?))
//!     }
//!
//!     fork_by_clone!();
//! }
//!
//! let run = Threads::available().run(vec![Ranks; 8], Limit::default())?;
//! assert_eq!(run.outputs, [28; 8]);
//! # Ok::<(), BoxError>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`prelude`] | the names that most programs use |
//! | [`bsp`] | programs: the interface, reductions, farms, tests of its laws, the reference runner, threads |
//! | `model` | the rescheduling model, and the traits of which rules of your own are made: when to call, a plan, a gate |
//! | `experiments` | workloads, the registry of those that a command knows, and experiment files |
//! | `commands` | the commands of a program |
//!
//! The last three come with the feature `commands`, which is on by default. The feature `laboratory` adds what reproduces
//! papers to the command `migbsp`.

pub use bsp;
#[cfg(feature = "commands")]
pub use {commands, experiments, model};

/// The names that most programs use: `use migbsp::prelude::*;`.
pub mod prelude {
    pub use bsp::units::Instructions;
    pub use bsp::{
        And, Array, BoxError, Max, Min, Or, Program, Rank, Step, Sum, Superstep, Threads,
        fork_by_clone,
    };
    #[cfg(feature = "commands")]
    pub use commands::Commands;
    #[cfg(feature = "commands")]
    pub use experiments::{
        BuildError, Common, Files, OutputFile, ParameterError, Registry, Rejection, Supersteps,
        Unit, Workload,
    };
}
