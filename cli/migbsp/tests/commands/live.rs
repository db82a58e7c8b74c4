//! `node`, `run`, `status` and `up`: node processes on loopback, and whatever can go wrong with them.
//!
//! | file | law |
//! |---|---|
//! | `up` | a cluster of one command computes what a simulation does, and leaves no process behind |
//! | `between` | a limited link between Sets is measured, and changes no result |
//! | `builds` | nodes of another build of the program are refused unless both ends allow it, and shown |
//! | `certificates` | certificates that are renewed while they are in use interrupt nothing |
//! | `clocks` | clocks that differ by an hour make no difference |
//! | `dashboard` | a page of a run is served while it goes on, to its own viewers alone |
//! | `daemons` | nodes do one job after the other, and leave in order |
//! | `external` | programs in other languages move, recover, resume and fail as those in Rust do, where nodes allow them |
//! | `failures` | whatever goes wrong ends in a message and an exit code within seconds, and nodes are free again |
//! | `kill` | nodes are killed once a superstep is over, and the error says so |
//! | `logs` | a node's log has times and the begin and end of jobs; a client's names hosts, in order of time |
//! | `losses` | a run goes on without nodes that are lost during a call, moves, a checkpoint or a restart |
//! | `migrations` | states move as predicted between two nodes, and outputs are those without moves |
//! | `others` | busy processes of other programs are shown with their processor time, within two seconds |
//! | `recovery` | a run goes on without any of its nodes, with the outputs of a run that lost none |
//! | `resume` | a job that was killed resumes on any nodes, with the outputs of a run that was not |
//! | `service` | supervisors and monitors are told how a node is |
//! | `supersteps` | r, g and l of a cluster are measured; g of a limited link is what its rate says |
//! | `records` | a run that never started leaves nothing, and one that was interrupted a record to read |
//! | `watch` | nodes are shown again and again, those that do not answer included |
//! | `files` | outputs that stay on nodes are those that a client receives, and are listed |
//! | `inputs` | what is wrong with what is given is named |
//! | `mistakes` | mistakes with certificates, names and addresses are sentences that say what to do |

mod between;
mod builds;
mod certificates;
mod checkpoints;
mod clocks;
pub(crate) mod cluster;
mod daemons;
mod dashboard;
mod elasticity;
pub(crate) mod external;
mod failures;
mod files;
mod inputs;
mod joining;
mod kill;
mod logs;
mod losses;
mod migrations;
mod mistakes;
mod others;
mod play;
mod records;
pub(crate) mod recovery;
mod resume;
pub(crate) mod service;
mod supersteps;
pub(crate) mod under_way;
mod up;
mod watch;

use std::ops::Range;

use sha2::{Digest, Sha256};

/// What a build is known by whose binary has these bytes: the digest of the build ID that its linker has written.
pub(crate) fn identity_of(binary: &[u8]) -> String {
    build_id(binary).map_or_else(|| digest_of(binary), |id| digest_of(&binary[id]))
}

/// Where a binary has its build ID, if it has one: behind the lengths of its name and its own, its type, and its name.
pub(crate) fn build_id(binary: &[u8]) -> Option<Range<usize>> {
    let is_head = |head: &[u8]| head[..4] == [4, 0, 0, 0] && &head[8..] == b"\x03\0\0\0GNU\0";
    let at = binary.windows(16).position(is_head)?;
    Some(at + 16..at + 16 + usize::from(binary[at + 4]))
}

/// The SHA-256 of a file with these bytes.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}
