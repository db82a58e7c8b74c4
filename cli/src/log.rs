//! The log on stderr.

use std::env;
use std::io::{self, IsTerminal};
use std::panic;
use std::sync::OnceLock;

use clap::ValueEnum;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt, registry, reload};

use crate::output;

/// The form of a node's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object per line
    Json,
}

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    /// How often `--verbose` was given.
    pub(crate) verbose: u8,
    /// Only errors.
    pub(crate) quiet: bool,
    /// A node's log has times, and says when jobs begin and end.
    pub(crate) node: Option<LogFormat>,
}

impl Log {
    /// Writes the log to stderr from now on. An existing subscriber is used instead.
    pub(crate) fn begin(self) {
        let layer = fmt::layer()
            .with_writer(io::stderr)
            .with_ansi(io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none())
            .with_target(false);
        let layer = match self.node {
            None => layer.without_time().boxed(),
            // The default time is UTC, as RFC 3339 writes it.
            Some(LogFormat::Text) => layer.boxed(),
            Some(LogFormat::Json) => {
                panic::set_hook(Box::new(|panic| tracing::error!(%panic, "a panic")));
                let layer = layer.json().flatten_event(true);
                // All spans are listed, the innermost one too.
                layer.with_current_span(false).boxed()
            }
        };
        let (filter, handle) = reload::Layer::new(self.filter(None));
        let subscriber = registry().with(layer.with_filter(filter));
        if subscriber.try_init().is_ok() {
            // There is one subscriber in a process.
            drop(BEGUN.set((self, handle)));
        }
    }

    /// Reports the error that ends this process.
    pub(crate) fn report(self, error: &str) {
        if self.node == Some(LogFormat::Json) {
            tracing::error!("{error}");
        } else {
            output::warn(&format!("error: {error}"));
        }
    }

    /// What is logged: as options say, else `RUST_LOG`, else `written`.
    fn filter(self, written: Option<Targets>) -> Targets {
        let from_environment = env::var("RUST_LOG").ok().filter(|text| !text.is_empty());
        let from_environment = from_environment.and_then(|text| text.parse().ok());
        let written = from_environment.or(written);
        let level = match (self.quiet, self.verbose) {
            (true, _) => LevelFilter::ERROR,
            (false, 0) => {
                let jobs = self.node.map(|_| OWN.map(|own| (own, LevelFilter::INFO)));
                let default = Targets::new().with_default(LevelFilter::WARN);
                return written.unwrap_or_else(|| default.with_targets(jobs.into_iter().flatten()));
            }
            (false, 1) => LevelFilter::INFO,
            (false, _) => LevelFilter::DEBUG,
        };
        Targets::new().with_default(level)
    }
}

/// Logs from now on what `written` says, in the form of `RUST_LOG`, unless options or `RUST_LOG` say it.
///
/// # Errors
///
/// If it has another form.
pub(crate) fn set_levels(written: Option<&str>) -> Result<(), String> {
    let levels = written.map(levels).transpose()?;
    if let Some((log, handle)) = BEGUN.get() {
        let set = handle.reload(log.filter(levels));
        set.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What is logged as `text` says. A target has its level: one without would stand for all that it says, and nothing else.
fn levels(text: &str) -> Result<Targets, String> {
    let directives: Vec<&str> = text.split(',').map(str::trim).collect();
    for directive in &directives {
        let (_, level) = directive.rsplit_once('=').unwrap_or(("", directive));
        // No text is a level, too.
        if level.is_empty() || level.parse::<LevelFilter>().is_err() {
            return Err(format!("`{directive}` has no level"));
        }
    }
    let directives = directives.join(",");
    directives.parse().map_err(|error| format!("{error}"))
}

/// The log of this process, and what changes its levels, which are those of the process as its subscriber is.
static BEGUN: OnceLock<(Log, reload::Handle<Targets, Registry>)> = OnceLock::new();

/// The crates whose lines a node's log has without `--verbose`.
const OWN: [&str; 6] = [
    "agents",
    "checkpoint",
    "commands",
    "hosts",
    "machines",
    "protocol",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directive_of_the_levels_has_a_level() {
        for text in ["debug", "off", "info,hosts=debug", "warn, protocol=trace"] {
            assert!(levels(text).is_ok(), "{text}");
        }
        for text in ["", "verbose", "hosts", "info,hosts", "hosts=verbose", "?="] {
            assert!(levels(text).is_err(), "{text}");
        }
    }
}
