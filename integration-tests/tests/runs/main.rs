//! Laws of whole runs: programs, agents, simulator.
//!
//! | file | law |
//! |---|---|
//! | `migration` | wherever and whenever processes migrate, outputs equal the reference runner's |
//! | `kernels` | so do those of programs with real data, whose states and messages are what they are |
//! | `determinism` | the same setup gives the same record, in any mailbox |
//! | `faults` | a program at fault ends the run with a message that names it |
//! | `calls` | all Managers agree, and a call costs simulated time |
//! | `checkpoints` | checkpoints take what they take by hand; longer intervals take less |
//! | `broadcast` | a value to all processes of a host travels once |
//! | `barrier` | a master that goes by rank takes and sends one message after the other |
//! | `extremes` | a run ends, whatever the numbers of its platform |
//! | `elapsed` | a process learns how long it computed, on whatever host |
//! | `farm` | a farm executes each task once, wherever its workers migrate |
//! | `repetition` | a superstep that repeats an earlier one takes what it would take if it were simulated |
//! | `attainable` | what rescheduling could win depends on no barrier |
//! | `settings` | numbers of any magnitude are run or refused |
//! | `owners` | owners take what their jobs need, and draws are repeatable |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod attainable;
mod barrier;
mod broadcast;
mod calls;
mod checkpoints;
mod determinism;
mod elapsed;
mod extremes;
mod farm;
mod faults;
mod gradients;
mod horizon;
mod kernels;
mod migration;
mod owners;
mod relay;
mod repetition;
mod settings;
mod setups;
