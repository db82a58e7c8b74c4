//! Task farms: bags of independent tasks, dealt out to workers.
//!
//! A user implements [`Tasks`]: what all workers share, a task, its outcome, and one function. [`processes`] makes a
//! [`Program`](crate::Program) of it like any other. Process 0, the master, deals tasks to the other processes, the
//! workers, by a rule of [`Dealing`], and leaves the outcomes in the order of the tasks.
//!
//! First, the workers get what they share. Then the farm works in interactions of three supersteps: the master deals, the
//! workers execute, and each says how long that took ([`Superstep::elapsed`](crate::Superstep::elapsed)). The next
//! interaction is dealt by these times. A worker on standby ([`Superstep::is_standby`](crate::Superstep::is_standby)) gets
//! no tasks until its host has joined.
//!
//! # Examples
//!
//! ```
//! use bsp::farm::{self, Dealing, Tasks, Work};
//! use bsp::reference;
//! use bsp::units::Instructions;
//!
//! struct Powers;
//!
//! impl Tasks for Powers {
//!     type Shared = u32;
//!     type Task = u64;
//!     type Outcome = u64;
//!
//!     fn execute(exponent: &u32, base: &u64, work: &mut Work) -> u64 {
//!         work.charge(Instructions(u64::from(*exponent)));
//!         base.pow(*exponent)
//!     }
//! }
//!
//! let processes = farm::processes::<Powers>(&2, (0..6).collect(), 4, Dealing::default()).unwrap();
//! let run = reference::run(processes, reference::Limit::default()).unwrap();
//! assert_eq!(run.outputs[0], [0, 1, 4, 9, 16, 25]);
//! ```

mod block_cyclic;
mod dealer;
mod dealing;
mod dealing_error;
mod master;
mod message;
mod process;
mod shared;
mod tasks;
mod weighted;
mod worker;

pub use block_cyclic::{BlockCyclic, Reference};
pub use dealer::Dealer;
pub use dealing::Dealing;
pub use dealing_error::DealingError;
pub use message::FarmMessage;
pub use process::{Farm, FarmError, processes};
pub use tasks::{Tasks, Work};
pub use weighted::Weighted;
