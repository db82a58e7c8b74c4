//! The `migbsp` binary as its users meet it: arguments in; stdout, stderr and exit code out.
//!
//! Whole tables, and the same law on everything that ships, take minutes: the feature `long-tests` adds them, and
//! `.ci/nightly` runs them.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod advice;
mod advise;
mod background;
mod browser;
mod cert;
mod charts;
mod checkpoints;
mod compare;
mod configuration;
mod deploy;
mod environment;
mod explain;
mod export;
mod files;
mod flows;
mod invocation;
mod joins;
mod kernels;
mod keys;
mod launched;
mod limited_link;
mod live;
mod migration_cost;
mod misuse;
mod names;
mod namespaces;
mod new;
mod notes;
mod old_records;
mod outputs;
#[cfg(feature = "long-tests")]
mod paper;
mod parity;
mod platform;
mod provenance;
mod readme;
mod rebalance;
mod recorded;
mod reference;
mod report;
mod reproduce;
mod schemas;
mod script;
mod shipped;
mod simgrid;
mod simulate;
mod slurm;
mod stdin;
mod sweep;
mod terminal;
mod topics;
mod unended;
mod verify;
