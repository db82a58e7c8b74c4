//! The folder that the paths of a recorded experiment are relative to.

use std::path::{Path, PathBuf};
use std::{env, fs};

use experiments::record::Manifest;
use experiments::{Failure, platform_digest};
use settings::folder_of;

/// The folder that the paths of the experiment of `manifest` are relative to: that of its `file` if it is named, else the
/// current folder or one above the record in `folder`, in which the platform of the record is.
///
/// # Errors
///
/// If the platform is in none of them.
pub(super) fn experiment_folder(
    manifest: &Manifest,
    folder: &Path,
    file: Option<&Path>,
) -> Result<PathBuf, Failure> {
    let platform = manifest.configuration["platform"]["file"].as_str();
    let platform = platform.unwrap_or_default();
    let candidates = match file {
        Some(file) => vec![folder_of(file)],
        None => above(folder),
    };
    let is_recorded = |candidate: &PathBuf| {
        let Ok(text) = fs::read(candidate.join(platform)) else {
            return false;
        };
        let recorded = manifest.platform_sha256.as_ref();
        recorded.is_none_or(|recorded| *recorded == platform_digest(&text))
    };
    if let Some(found) = candidates.iter().find(|candidate| is_recorded(candidate)) {
        return Ok(found.clone());
    }
    let shown: Vec<String> = candidates
        .iter()
        .map(|candidate| candidate.join(platform).display().to_string())
        .collect();
    Err(Failure::input(format!(
        "{}: the platform of the record, `{platform}` with its recorded digest, is not {}\n  help: name the experiment with \
         `--file FILE`: its paths are relative to its folder",
        folder.display(),
        shown.join(", nor ")
    )))
}

/// The current folder, and those above the record, the nearest first.
fn above(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    let absolute = folder
        .canonicalize()
        .unwrap_or_else(|_| folder.to_path_buf());
    let current = env::current_dir().ok();
    let ancestors = absolute.ancestors().skip(1).map(Path::to_path_buf);
    all.extend(ancestors.filter(|ancestor| Some(ancestor) != current.as_ref()));
    all
}
