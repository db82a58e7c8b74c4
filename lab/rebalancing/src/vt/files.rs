//! The files of vt's ranks: names, contents, compressed or not, and whether there is one for each rank.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use brotli::enc::BrotliEncoderParams;
use brotli::enc::backward_references::BrotliEncoderMode;
use experiments::Failure;
use settings::{Fault, read_bytes};

/// The file of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RankFile {
    /// Its path, as messages show it.
    pub(super) path: String,
    /// Its name in its folder.
    pub(super) name: String,
    /// Its text, decompressed.
    pub(super) text: String,
    pub(super) is_compressed: bool,
}

/// The files of all ranks, by rank.
#[derive(Clone, Debug)]
pub(super) struct RankFiles {
    /// What precedes the rank in their names, as `data`.
    pub(super) stem: String,
    pub(super) files: Vec<RankFile>,
}

/// Where the file of a rank is.
#[derive(Clone, Debug)]
struct Named {
    path: PathBuf,
    stem: String,
    rank: u32,
}

impl RankFiles {
    /// Reads the files that `paths` name: each is a file `STEM.RANK.json` or `STEM.RANK.json.br`, or a folder of them.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, two are of one rank, a rank between 0 and the highest has none, or stems differ.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut named = Vec::new();
        for path in paths {
            if path.is_dir() {
                named.extend(listed(path)?);
            } else {
                named.push(Named::of(path).ok_or_else(|| misnamed(path))?);
            }
        }
        let (stem, paths) = arranged(named)?;
        let mut rest = TOTAL_MAX;
        let files = paths.into_iter().map(|path| read_file(&path, &mut rest));
        Ok(Self {
            stem,
            files: files.collect::<Result<_, _>>()?,
        })
    }
}

impl Named {
    /// `path`, if it has the name of a rank's file.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(".br").unwrap_or(name);
        let (stem, rank) = name.strip_suffix(".json")?.rsplit_once('.')?;
        let is_number = rank.bytes().all(|byte| byte.is_ascii_digit());
        Some(Self {
            path: path.to_owned(),
            stem: stem.to_owned(),
            rank: rank.parse().ok().filter(|_| is_number)?,
        })
    }
}

/// The ranks' files in `folder`, of which there is at least one.
fn listed(folder: &Path) -> Result<Vec<Named>, Failure> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let entries = entries.map_err(|error| {
        Failure::input(format!("{}: cannot be read: {error}", folder.display()))
    })?;
    let named = entries.iter().filter_map(|entry| Named::of(&entry.path()));
    let mut named: Vec<Named> = named.filter(|file| !file.path.is_dir()).collect();
    named.sort_by(|left, right| left.path.cmp(&right.path));
    if named.is_empty() {
        let problem = "no file of a rank: must have data.0.json, data.1.json and so on, or data.0.json.br and so on";
        return Err(fault(folder, problem.to_owned()).into());
    }
    Ok(named)
}

/// The stem of all files, and their paths by rank.
fn arranged(named: Vec<Named>) -> Result<(String, Vec<PathBuf>), Failure> {
    let stems: BTreeSet<String> = named.iter().map(|file| file.stem.clone()).collect();
    if let (Some(first), Some(last), true) = (stems.first(), stems.last(), 1 < stems.len()) {
        let problem = format!(
            "files of {} runs: `{first}.*.json` and `{last}.*.json`; must be of one, so name its files instead of \
             the folder, as `{first}.*.json`",
            stems.len()
        );
        return Err(Failure::input(problem));
    }
    let mut by_rank: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for file in named {
        if let Some(other) = by_rank.get(&file.rank) {
            let other = other.display();
            let problem = format!(
                "a second file of rank {}, after {other}; must be one for each rank",
                file.rank
            );
            return Err(fault(&file.path, problem).into());
        }
        by_rank.insert(file.rank, file.path);
    }
    let gap = (0_u32..)
        .zip(by_rank.keys())
        .find(|(rank, found)| rank != *found);
    if let Some((missing, found)) = gap {
        let problem = format!(
            "there is no file of rank {missing}, and one of rank {found}; must be one for each rank from 0 on"
        );
        return Err(fault(&by_rank[found], problem).into());
    }
    let stem = stems.into_iter().next().unwrap_or_default();
    Ok((stem, by_rank.into_values().collect()))
}

/// Reads a file, and takes its length from `rest`, what all texts may still take.
fn read_file(path: &Path, rest: &mut usize) -> Result<RankFile, Failure> {
    let bytes = read_bytes(path)
        .map_err(|error| Failure::input(format!("{}: cannot be read: {error}", path.display())))?;
    let Decoded {
        text,
        is_compressed,
    } = decode(bytes, TEXT_MAX.min(*rest)).map_err(|problem| fault(path, problem))?;
    if is_compressed {
        *rest -= text.len();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(RankFile {
        path: path.display().to_string(),
        name: name.into_owned(),
        text,
        is_compressed,
    })
}

/// The failure of a path that is neither a folder nor named as a rank's file.
fn misnamed(path: &Path) -> Failure {
    if let Err(error) = fs::metadata(path) {
        return Failure::input(format!("{}: cannot be read: {error}", path.display()));
    }
    let problem = "the name has no rank; must be as data.0.json or data.0.json.br";
    fault(path, problem.to_owned()).into()
}

fn fault(path: &Path, problem: String) -> Fault {
    Fault::new(Some(&path.display().to_string()), "", problem)
}

/// Bytes of a decompressed text. vt writes some 300 for each task and phase.
const TEXT_MAX: usize = 1 << 29;

/// Bytes of all decompressed texts.
const TOTAL_MAX: usize = 1 << 32;

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decoded {
    text: String,
    /// Whether the file is compressed.
    is_compressed: bool,
}

/// The text of a file with these contents, at most `limit` bytes long if it is compressed.
///
/// Names do not say which files are compressed: vt adds `.br`, LBAF keeps `.json`. A text of ours begins with `{`, and no
/// stream of Brotli with contents does: that byte announces an empty one (RFC 7932, section 9.1).
///
/// # Errors
///
/// What is wrong with the contents, and what would be valid.
fn decode(bytes: Vec<u8>, limit: usize) -> Result<Decoded, String> {
    let own = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let begins = own.iter().find(|byte| !byte.is_ascii_whitespace());
    let is_compressed = begins != Some(&b'{');
    let contents = if is_compressed {
        decompress(&bytes, limit)?
    } else {
        bytes
    };
    let text = settings::text(contents).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("the text is not UTF-8, from byte {at} on; must be JSON of vt")
    })?;
    Ok(Decoded {
        text,
        is_compressed,
    })
}

fn decompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut contents = Vec::new();
    let read = brotli::Decompressor::new(bytes, BUFFER)
        .take(most)
        .read_to_end(&mut contents);
    if limit < contents.len() {
        return Err(format!(
            "the decompressed text is longer than {limit} bytes, which may be a decompression bomb; if it is not, \
             `brotli -d` makes a file that has no such limit"
        ));
    }
    match read {
        Ok(_) => Ok(contents),
        Err(_) if contents.is_empty() => Err(
            "the contents are neither a JSON object nor compressed with Brotli; must be LB data of vt".to_owned(),
        ),
        Err(_) => Err(format!(
            "the Brotli stream is cut off or damaged after {} bytes of text; must be a whole file of vt",
            contents.len()
        )),
    }
}

/// `text`, compressed as LBAF compresses it.
///
/// # Panics
///
/// Never: a buffer in memory takes everything.
pub(super) fn compress(text: &str) -> Vec<u8> {
    let parameters = BrotliEncoderParams {
        mode: BrotliEncoderMode::BROTLI_MODE_TEXT,
        quality: QUALITY,
        ..BrotliEncoderParams::default()
    };
    let mut compressed = Vec::new();
    let written: io::Result<usize> =
        brotli::BrotliCompress(&mut text.as_bytes(), &mut compressed, &parameters);
    written.expect("a buffer takes everything");
    compressed
}

/// What editors write before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of input that the decoder takes in one step.
const BUFFER: usize = 1 << 16;

/// From 0 to 11. Above 9 the time grows tenfold, and files become a few per cent smaller.
const QUALITY: i32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "{}").unwrap();
        }
        let read = RankFiles::read(&[folder.path().to_owned()]);
        let found = match read {
            Ok(read) => {
                let names = read.files.into_iter().map(|file| file.name);
                format!("{}: {}", read.stem, names.collect::<Vec<_>>().join(" "))
            }
            Err(failure) => failure.to_string(),
        };
        assert!(found.contains(expected), "{found}");
    }

    #[test]
    fn files_are_those_of_ranks_from_0_on() {
        check(
            &[
                "data.1.json",
                "data.0.json.br",
                "data.yaml",
                "x.json",
                "data..json",
            ],
            "data: data.0.json.br data.1.json",
        );
        check(&["a.b.0.json"], "a.b: a.b.0.json");
        check(&["x.json"], "no file of a rank: must have data.0.json");
        check(
            &["data.0.json", "data.0.json.br"],
            "a second file of rank 0, after ",
        );
        check(
            &["data.0.json", "data.2.json"],
            "there is no file of rank 1, and one of rank 2",
        );
        check(
            &["data.1.json"],
            "there is no file of rank 0, and one of rank 1",
        );
        check(
            &["a.0.json", "b.0.json", "b.1.json"],
            "files of 2 runs: `a.*.json` and `b.*.json`",
        );
    }

    #[test]
    fn a_path_is_a_file_of_a_rank_or_a_folder() {
        for (path, words) in [
            ("data.json", "the name has no rank"),
            ("data.-1.json", "the name has no rank"),
            ("data.+1.json", "the name has no rank"),
            ("data.99999999999.json", "the name has no rank"),
            ("none/data.0.json", "cannot be read"),
            ("none", "cannot be read"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(path);
            if !words.contains("read") {
                fs::write(&path, "{}").unwrap();
            }
            let failure = RankFiles::read(&[path]).unwrap_err();
            assert!(failure.to_string().contains(words), "{failure}");
        }
    }

    const TEXT: &str = r#"{"type": "LBDatafile", "phases": []}"#;

    #[test]
    fn texts_are_read_compressed_or_not() {
        for (bytes, is_compressed) in [
            (TEXT.as_bytes().to_vec(), false),
            (compress(TEXT), true),
            (format!(" \n{TEXT}").into_bytes(), false),
            (format!("\u{feff}\n{TEXT}").into_bytes(), false),
            (compress(&format!("\u{feff}{TEXT}")), true),
        ] {
            let decoded = decode(bytes, 100).unwrap();
            assert_eq!(decoded.text.trim_start(), TEXT);
            assert_eq!(decoded.is_compressed, is_compressed);
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_anywhere_is_refused() {
        let whole = compress(&TEXT.repeat(20));
        for length in 0..whole.len() {
            let fault = decode(whole[..length].to_vec(), 10_000).unwrap_err();
            let is_named = fault.contains("cut off") || fault.contains("neither");
            assert!(is_named, "{length}: {fault}");
        }
    }

    #[test]
    fn a_changed_stream_never_panics() {
        let whole = compress(&TEXT.repeat(20));
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[at] ^= 1 << bit;
                if let Ok(decoded) = decode(changed, 10_000) {
                    assert!(decoded.text.len() <= 10_000);
                }
            }
        }
    }

    #[test]
    fn the_size_of_the_text_is_limited() {
        let bomb = compress(&" ".repeat(1 << 20));
        assert!(bomb.len() < 100, "{}", bomb.len());
        assert!(decode(bomb.clone(), 1 << 20).is_ok());
        let fault = decode(bomb, (1 << 20) - 1).unwrap_err();
        assert!(fault.contains("longer than 1048575 bytes"), "{fault}");
    }

    #[test]
    fn other_contents_are_refused() {
        for bytes in [&b""[..], b"[1, 2]", b"phases:\n- 1"] {
            let fault = decode(bytes.to_vec(), 100).unwrap_err();
            assert!(fault.contains("neither a JSON object nor"), "{fault}");
        }
        let fault = decode(b"{\"a\xff\"}".to_vec(), 100).unwrap_err();
        assert!(fault.contains("not UTF-8, from byte 3"), "{fault}");
    }
}
