//! A file that a workload derives from its outputs.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::array::{Numbers, npy};

/// A file that a workload derives from the outputs of its programs: a name and the contents.
///
/// # Examples
///
/// ```
/// use experiments::OutputFile;
///
/// let text = OutputFile::new("summary.txt", "two processes\n");
/// assert_eq!(text.name(), "summary.txt");
/// let array = OutputFile::array("ranks.npy", &[2, 2], vec![0.1, 0.2, 0.3, 0.4]);
/// assert!(array.contents().starts_with(b"\x93NUMPY"));
/// let picture = OutputFile::picture("shade.pgm", [2, 1], |x, _| if x == 0 { 0.0 } else { 1.0 });
/// assert_eq!(picture.contents(), b"P5\n2 1\n255\n\x00\xff");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    name: String,
    contents: Vec<u8>,
}

impl OutputFile {
    /// A file with these contents. The name has no folder in it.
    #[must_use]
    pub fn new(name: &str, contents: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.to_owned(),
            contents: contents.into(),
        }
    }

    /// An array in NumPy's format, its elements row after row.
    ///
    /// # Panics
    ///
    /// If it has another number of elements than its `shape`.
    #[must_use]
    pub fn array(name: &str, shape: &[usize], elements: impl Into<Numbers>) -> Self {
        Self::new(name, npy(shape, &elements.into()))
    }

    /// A picture in shades of grey, as a portable graymap (PGM): the brightness of every pixel, from 0 to 1, by its
    /// column and by its row from the top.
    #[must_use]
    pub fn picture(
        name: &str,
        [width, height]: [usize; 2],
        brightness: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let mut contents = format!("P5\n{width} {height}\n255\n").into_bytes();
        for y in 0..height {
            contents.extend((0..width).map(|x| shade(brightness(x, y))));
        }
        Self::new(name, contents)
    }

    /// Checks that the files of `workload` have names of their own in one folder, beside the `reserved` ones.
    ///
    /// # Errors
    ///
    /// The first name that is taken, or is not the plain name of a file.
    pub fn check_names(workload: &str, files: &[Self], reserved: &[&str]) -> Result<(), String> {
        let mut names: BTreeSet<&str> = reserved.iter().copied().collect();
        for file in files {
            let name = file.name();
            let mut components = Path::new(name).components();
            let is_plain =
                matches!(components.next(), Some(Component::Normal(only)) if only == name);
            let problem = if !is_plain {
                "must be the name of a file, without a folder"
            } else if names.insert(name) {
                continue;
            } else {
                "is there twice"
            };
            return Err(format!(
                "workload `{workload}`: the output file {name:?} {problem}"
            ));
        }
        Ok(())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its contents.
    #[must_use]
    pub fn contents(&self) -> &[u8] {
        &self.contents
    }
}

/// The nearest of 256 shades.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is from 0 to 255"
)]
fn shade(brightness: f64) -> u8 {
    (brightness.clamp(0.0, 1.0) * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_workload_stay_in_their_folder_and_are_distinct() {
        let files = |names: &[&str]| {
            let files: Vec<OutputFile> =
                names.iter().map(|name| OutputFile::new(name, "")).collect();
            OutputFile::check_names("life", &files, &["outputs.json"])
        };
        assert_eq!(files(&["a.txt", "b c.pgm", "..."]), Ok(()));
        for name in ["", ".", "..", "/a", "a/b", "../a", "a/", "./a"] {
            let found = files(&["a.txt", name]).unwrap_err();
            assert_eq!(
                found,
                format!(
                    "workload `life`: the output file {name:?} must be the name of a file, without a folder"
                )
            );
        }
        for names in [&["a", "a"][..], &["outputs.json"]] {
            assert!(files(names).unwrap_err().ends_with("is there twice"));
        }
    }
}
