//! What goes to stdout.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use comfy_table::CellAlignment;
use serde::Serialize;

use crate::failure::Failure;

/// How results are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    #[default]
    Table,
    /// One object, with a `schema`
    Json,
    /// Rows under a header
    Csv,
}

/// Writes `text` to stdout.
///
/// # Errors
///
/// If stdout does not take it.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes `value` to stdout as indented JSON and a line break.
///
/// # Errors
///
/// If stdout does not take it.
pub(crate) fn print_json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).expect("results are plain data");
    text.push('\n');
    print(&text)
}

/// Writes a file that was asked for: all of it, or what was there before stays.
///
/// # Errors
///
/// If the operating system refuses.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    check_writable(file)?;
    replace(file, text).map_err(|error| unwritable(file, &error))
}

/// Whether [`write`] will be able to write `file`, asked before the work for it begins; leaves it as it is.
///
/// # Errors
///
/// If the operating system refuses.
pub(crate) fn check_writable(file: &Path) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let checked = match created {
        Ok(_) => fs::remove_file(file),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if file.is_file() || file.is_dir() => {
            OpenOptions::new().append(true).open(file).map(drop)
        }
        // Who reads from a pipe would take it for the end, and a link to nothing would become a file.
        Err(_) => Ok(()),
    };
    checked.map_err(|error| unwritable(file, &error))
}

fn replace(file: &Path, text: &str) -> io::Result<()> {
    // A device or a pipe cannot be replaced, and a link to nothing is not to be.
    if !file.is_file() && file.symlink_metadata().is_ok() {
        return fs::write(file, text);
    }
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let mut whole = tempfile::Builder::new();
    #[cfg(unix)]
    whole.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let Ok(mut whole) = whole.tempfile_in(folder.unwrap_or_else(|| Path::new("."))) else {
        // A file may be writable in a folder that is not.
        return fs::write(file, text);
    };
    if let Ok(before) = file.metadata() {
        whole.as_file().set_permissions(before.permissions())?;
    }
    whole.write_all(text.as_bytes())?;
    // Some files may be written but not replaced: those of others, in a folder for all, and those mounted alone.
    whole
        .persist(&file)
        .map(drop)
        .or_else(|_| fs::write(&file, text))
}

fn unwritable(file: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: cannot be written: {error}", file.display()))
}

/// Writes a line to stderr; that it cannot be written is nobody's concern.
pub(crate) fn warn(line: &str) {
    let _lost = writeln!(io::stderr().lock(), "{line}");
}

/// `number` with so many `decimals`, or with an exponent if that would show too little or too much.
pub(crate) fn rounded(number: f64, decimals: u8) -> String {
    let size = number.abs();
    let least = 10_f64.powi(1 - i32::from(decimals));
    if size == 0.0 || (least..1e9).contains(&size) {
        format!("{number:.*}", usize::from(decimals))
    } else {
        format!("{number:.*e}", usize::from(decimals))
    }
}

/// Two digits per byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}

/// `number` of what is called `name`.
pub(crate) fn counted(number: usize, name: &str) -> String {
    match (number, name.ends_with('s')) {
        (1, _) => format!("1 {name}"),
        (_, true) => format!("{number} {name}es"),
        (_, false) => format!("{number} {name}s"),
    }
}

/// `headers` and `rows` as a table for people, without lines that a copy would carry along; numbers
/// stand to the right.
pub(crate) fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(headers);
    let mut numeric = vec![true; headers.len()];
    for row in rows {
        for (numeric, cell) in numeric.iter_mut().zip(&row) {
            let number = cell.trim_start_matches(['+', '-']);
            *numeric &=
                number.is_empty() || number.starts_with(|first: char| first.is_ascii_digit());
        }
        table.add_row(row);
    }
    for (column, numeric) in table.column_iter_mut().zip(numeric) {
        if numeric {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let text = table.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_checking_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("a.svg"), folder.path().join("b.svg"));
        write(&file, "old").unwrap();
        check_writable(&file).unwrap();
        let old = fs::File::open(&file).unwrap();
        write(&file, "new").unwrap();
        assert_eq!(io::read_to_string(old).unwrap(), "old");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        check_writable(&other).unwrap();
        assert!(!other.exists());
        assert!(check_writable(folder.path()).is_err());
        assert!(check_writable(&folder.path().join("none/c.svg")).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn devices_links_to_nothing_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        write(Path::new("/dev/null"), "lost").unwrap();
        assert!(!Path::new("/dev/null").is_file());
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.svg"), folder.path().join("b.svg"));
        std::os::unix::fs::symlink(&file, &link).unwrap();
        check_writable(&link).unwrap();
        assert!(!file.exists());
        write(&link, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        write(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_replaced_and_not_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("a.svg"), folder.path().join("b.svg"));
        write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(link.is_symlink());
    }

    #[test]
    fn small_and_large_numbers_stay_readable() {
        assert_eq!(rounded(0.0, 3), "0.000");
        assert_eq!(rounded(0.018_49, 3), "0.018");
        assert_eq!(rounded(-678.476_4, 3), "-678.476");
        assert_eq!(rounded(0.000_123_4, 3), "1.234e-4");
        assert_eq!(rounded(5_155_463_917_530.8, 3), "5.155e12");
    }

    #[test]
    fn numbers_stand_to_the_right_and_words_to_the_left() {
        let rows = [["a-1", "1", "+5 %"], ["b", "100", ""]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec());
        let expected = " host    n  share\n a-1     1   +5 %\n b     100\n";
        assert_eq!(table(&["host", "n", "share"], rows), expected);
    }
}
