//! An experiment that is compared: a file, and values that are changed.

use std::path::{Path, PathBuf};

use experiments::Failure;

/// An experiment that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The file, TOML.
    pub file: PathBuf,
    /// Its name in results, which no other experiment has.
    pub name: String,
    /// Its name in charts.
    pub label: String,
    /// Values that are changed (`section.key=value`).
    pub set: Vec<String>,
}

impl Variant {
    /// The experiment in `file` with the values `set`, which its name does not show.
    pub fn of_file(file: &Path, set: &[String]) -> Self {
        Self {
            file: file.to_owned(),
            name: file.display().to_string(),
            label: stem(file),
            set: set.to_vec(),
        }
    }

    /// `failure`, with the name of the experiment in front if that is more than the file.
    pub(super) fn named(&self, failure: Failure) -> Failure {
        if self.file.as_os_str() == &*self.name {
            failure
        } else {
            failure.of(&self.name)
        }
    }
}

/// `drift` of `conf/dynamic/drift.toml`.
pub(crate) fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_values_of_an_experiment() {
        let file = Variant::of_file(Path::new("conf/a.toml"), &[]);
        assert_eq!((&*file.name, &*file.label), ("conf/a.toml", "a"));
        let changed = Variant {
            name: "conf/a.toml run.seed=2".to_owned(),
            ..file.clone()
        };
        let failure = || Failure::Usage("no".to_owned());
        assert_eq!(file.named(failure()).to_string(), "no");
        let text = changed.named(failure()).to_string();
        assert_eq!(text, "conf/a.toml run.seed=2: no");
    }
}
