//! The `migbsp` binary as its users meet it: arguments in; stdout, stderr and exit code out.

mod configuration;
mod files;
mod flows;
mod invocation;
mod platform;
mod simulate;
