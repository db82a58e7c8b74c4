//! `migbsp bench`: what a cluster is capable of.

use std::fmt::Write;

use agents::hosts;
use agents::record::Event;
use analysis::bench::{KindReport, Report, Timeline};
use clap::{Args, Subcommand, ValueEnum};
use experiments::submission::{request, scenario};
use experiments::{Failure, Finished, Provenance, Registry, RunFailure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::failure::CommandFailure;
use crate::live::cluster_members::{ClusterArguments, ClusterMembers};
use crate::output::{Format, print, print_json, print_text};
use crate::progress::Progress;
use crate::signals::TerminationSignal;

/// Arguments of `bench`.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

/// What is measured.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Move states between two nodes, and compare what that takes with what was predicted
    Migration(MigrationArguments),
}

/// Arguments of `bench migration`.
#[derive(Clone, Debug, Args)]
pub(crate) struct MigrationArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Moves of each kind of state
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    moves: u32,
    /// Kinds of state
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = StateKind::ALL)]
    kind: Vec<StateKind>,
    /// Node where each process starts [default: the first]
    #[arg(long, value_name = "NODE")]
    from: Option<String>,
    /// Node to which it moves, and back [default: the first of another Set, or the second]
    #[arg(long, value_name = "NODE")]
    to: Option<String>,
    /// Bytes of a problem's data, drawn for each problem
    #[arg(long, value_name = "A..B", default_value = "0.4MB..16MB")]
    state: String,
    /// Seed of problems and of the supersteps after which they move
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Whether a bar on stderr is wanted.
    #[arg(skip)]
    pub(crate) progress: bool,
}

/// A kind of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum StateKind {
    /// One large array
    Linpack,
    /// A tree of many small nodes
    Bitonic,
    /// A small state
    Gzip,
    /// A state whose size changes
    Xlintims,
}

impl StateKind {
    const ALL: [Self; 4] = [Self::Linpack, Self::Bitonic, Self::Gzip, Self::Xlintims];

    const fn name(self) -> &'static str {
        match self {
            Self::Linpack => "linpack",
            Self::Bitonic => "bitonic",
            Self::Gzip => "gzip",
            Self::Xlintims => "xlintims",
        }
    }
}
