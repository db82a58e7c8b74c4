//! Reading files of the store, and what is wrong with those that are not as they were written.

use std::io;

use bytes::Bytes;
use protocol::transport::JobId;
use sha2::{Digest, Sha256};

use super::super::piece::{Generation, Piece};
use super::description::{DescriptionFile, JobDescription};
use super::files::Files;
use super::flaw::{Damage, Flaw, Part, Problem};
use super::layout;
use super::manifest::{ListedFile, Manifest};
use super::pieces_file::{self, Place};
use super::sealed;

/// The description of `job`, without its experiment.
pub(super) fn description_file(
    files: &mut impl Files,
    job: JobId,
) -> Result<DescriptionFile, Damage> {
    let path = layout::description(job);
    let bytes = read(files, &path, Length::AtMost(DESCRIPTION_MAX))?;
    let description: Result<DescriptionFile, Flaw> = sealed::open(&bytes);
    let description = description.and_then(|description| {
        check_job(description.job(), job)?;
        Ok(description)
    });
    description.map_err(|flaw| flaw.of(files.locate(&path)))
}

/// The description of `job`.
pub(super) fn description(files: &mut impl Files, job: JobId) -> Result<JobDescription, Damage> {
    let description = description_file(files, job)?;
    let path = layout::experiment(job);
    let experiment = read(files, &path, Length::Exactly(description.experiment_len()))?;
    let description = description.with(experiment);
    description.map_err(|flaw| flaw.of(files.locate(&path)))
}

/// The manifest of a checkpoint; `None`: the checkpoint was not completed.
pub(super) fn manifest(
    files: &mut impl Files,
    job: JobId,
    generation: Generation,
) -> Result<Option<Manifest>, Damage> {
    let path = layout::manifest(job, generation);
    let bytes = match read(files, &path, Length::AtMost(MANIFEST_MAX)) {
        Err(damage) if damage.problem == Problem::Missing => return Ok(None),
        result => result?,
    };
    let manifest: Result<Manifest, Flaw> = sealed::open(&bytes);
    let manifest = manifest.and_then(|manifest| {
        check_job(manifest.job(), job)?;
        let [found, expected] = [manifest.generation(), generation].map(|it| it.to_string());
        check("checkpoint", found, expected)?;
        Ok(Some(manifest))
    });
    manifest.map_err(|flaw| flaw.of(files.locate(&path)))
}

/// The pieces of one host, from a file that the manifest describes as `listed`.
pub(super) fn pieces(
    files: &mut impl Files,
    place: Place,
    listed: &ListedFile,
) -> Result<Vec<Piece>, Damage> {
    let path = layout::pieces(place.job, place.generation, place.host);
    let bytes = Bytes::from(read(files, &path, Length::Exactly(listed.length))?);
    let found = pieces_file::decode(place, bytes.clone()).and_then(|pieces| {
        // Last, because what is wrong with a piece says more.
        if Sha256::digest(&bytes)[..] == listed.sha256()[..] {
            Ok(pieces)
        } else {
            Err(Flaw::new(0, Problem::Checksum(Part::File)))
        }
    });
    found.map_err(|flaw| flaw.of(files.locate(&path)))
}

fn check_job(found: JobId, expected: JobId) -> Result<(), Flaw> {
    let [found, expected] = [found, expected].map(layout::job_folder);
    check("job", found, expected)
}

fn check(what: &'static str, found: String, expected: String) -> Result<(), Flaw> {
    if found == expected {
        return Ok(());
    }
    let problem = Problem::Other {
        what,
        found,
        expected,
    };
    Err(Flaw::new(0, problem))
}

/// How long a file may be.
#[derive(Clone, Copy)]
enum Length {
    Exactly(u64),
    AtMost(u64),
}

/// A file of an expected length.
fn read(files: &mut impl Files, path: &str, expected: Length) -> Result<Vec<u8>, Damage> {
    let bytes = files.len(path).map_err(unread).and_then(|found| {
        match expected {
            Length::Exactly(expected) if found != expected => {
                let problem = Problem::Length { found, expected };
                return Err(Flaw::new(found.min(expected), problem));
            }
            Length::AtMost(limit) if limit < found => {
                let problem = format!("it has {found} bytes, expected at most {limit}");
                return Err(Flaw::new(0, Problem::Invalid(problem)));
            }
            Length::Exactly(_) | Length::AtMost(_) => {}
        }
        files.read(path).map_err(unread)
    });
    bytes.map_err(|flaw| flaw.of(files.locate(path)))
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn unread(error: io::Error) -> Flaw {
    let problem = match error.kind() {
        io::ErrorKind::NotFound => Problem::Missing,
        _ => Problem::Unreadable(error.to_string()),
    };
    Flaw::new(0, problem)
}

/// Bytes of a description: its texts have at most 1 KiB each.
const DESCRIPTION_MAX: u64 = 64 << 10;
/// Bytes of a manifest: those of a million processes take 8 MiB.
const MANIFEST_MAX: u64 = 64 << 20;
