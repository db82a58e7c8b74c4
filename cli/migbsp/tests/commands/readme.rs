//! README.md and docs: their console blocks show what the commands print, the pictures in them are those that the
//! commands draw, the other commands in them run, and their links lead somewhere.
//!
//! With `MIGBSP_UPDATE=1` the test writes the output of the commands into the pages, and the pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::invocation::root;

/// Pages that other tests compare: `paper` in this program, and the tests of `examples/poisson` and `examples/mandelbrot`.
const ELSEWHERE: [&str; 3] = [
    "lab/docs/tables.md",
    "docs/guide/custom-programs.md",
    "docs/guide/task-farms.md",
];

/// Two ways to write the name of the program.
const PROGRAM: [&str; 2] = ["cargo run --release -- ", "migbsp "];

/// Commands that `sh` blocks run here, because they end by themselves and need no cluster.
const RUNNABLE: [&str; 16] = [
    "chaos",
    "check",
    "compare",
    "explain",
    "export",
    "help",
    "new",
    "platform",
    "rebalance",
    "record",
    "report",
    "reproduce",
    "simulate",
    "sweep",
    "up",
    "verify",
];

/// Pictures of the pages that no command of a page draws: of the architecture, and of measurements and a loss on live nodes.
const DRAWN_ELSEWHERE: [&str; 3] = ["migbsp.svg", "moves.svg", "recovery.svg"];

/// Number of console blocks, over all pages.
const SHOWN: usize = 16;

/// Number of other commands that run, over all pages.
const RUN: usize = 81;

#[test]
fn pages_show_what_their_commands_print() {
    let mut session = Session::new();
    let (mut shown, mut run) = (0, 0);
    for name in pages() {
        let path = root().join(&name);
        let text = fs::read_to_string(&path).unwrap();
        let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
        for part in &mut parts {
            if let Some(block) = part.strip_prefix("console\n") {
                let (command, _) = block.split_once('\n').unwrap();
                let line = command.strip_prefix("$ ").unwrap();
                // The tests of an example compare what the program of the example prints.
                if arguments(line).is_some() {
                    *part = format!("console\n{command}\n{}", session.piped(line));
                    shown += 1;
                }
            } else if let Some(block) = part.strip_prefix("sh\n") {
                for line in block.lines().filter(|line| is_runnable(line)) {
                    let printed = session.piped(line);
                    assert!(
                        exit_code(line) != 0 || !printed.is_empty(),
                        "{name}: {line}"
                    );
                    run += 1;
                }
            }
        }
        compare(&name, &path, &parts.join("```"));
    }
    assert_eq!((shown, run), (SHOWN, RUN), "commands of all pages");
    compare_pictures(session.folder.path());
}

/// Fails if a picture of a page differs from the one of the same name that the commands wrote in `folder`.
fn compare_pictures(folder: &Path) {
    for shipped in pages().iter().flat_map(|page| pictures(page)) {
        let name = shipped.display();
        let drawn = fs::read(folder.join(shipped.file_name().unwrap()));
        let drawn = drawn.unwrap_or_else(|error| panic!("no command of a page: {name}: {error}"));
        if std::env::var_os("MIGBSP_UPDATE").is_some() {
            fs::write(&shipped, &drawn).unwrap();
        }
        let is_same = fs::read(&shipped).is_ok_and(|shipped| shipped == drawn);
        assert!(is_same, "{name} differs: MIGBSP_UPDATE=1 writes it");
    }
}

/// The pictures in a page that its commands, or those of another page, draw.
fn pictures(page: &str) -> Vec<PathBuf> {
    let page = root().join(page);
    let text = fs::read_to_string(&page).unwrap();
    let links = text.split("](").skip(1);
    links
        .filter_map(|link| link.split_once(')'))
        .filter(|(target, _)| target.ends_with(".svg"))
        .map(|(target, _)| page.parent().unwrap().join(target))
        .filter(|path| !DRAWN_ELSEWHERE.iter().any(|name| path.ends_with(name)))
        .collect()
}

/// README.md, then the pages below `docs` and `lab/docs` by name.
fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/guide", "docs/reference", "lab/docs"] {
        let names = fs::read_dir(root().join(folder))
            .unwrap()
            .map(|entry| format!("{folder}/{}", entry.unwrap().file_name().display()))
            .filter(|name| name.ends_with(".md") && !ELSEWHERE.contains(&name.as_str()));
        let mut names: Vec<String> = names.collect();
        names.sort();
        pages.append(&mut names);
    }
    pages
}

/// Pages for those who change the code or release it.
const OF_THE_CODE: [&str; 4] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "RELEASE.md",
];

#[test]
fn links_lead_to_files_and_headings() {
    let others = [&ELSEWHERE[..], &OF_THE_CODE].concat();
    let others = others.into_iter().map(str::to_owned);
    let mut broken = Vec::new();
    for name in pages().into_iter().chain(others) {
        let page = root().join(&name);
        for target in links(&fs::read_to_string(&page).unwrap()) {
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let path = match file {
                "" => page.clone(),
                _ => page.parent().unwrap().join(file),
            };
            if !path.exists() || !(heading.is_empty() || headings(&path).contains(heading)) {
                broken.push(format!("{name}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// What is outside of blocks of code.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The targets of relative links.
fn links(text: &str) -> Vec<String> {
    let outside_of_code: String = prose(text).split('`').step_by(2).collect();
    let links = outside_of_code.split("](").skip(1);
    let targets = links.filter_map(|link| Some(link.split_once(')')?.0));
    let relative = targets.filter(|target| !target.contains("://"));
    relative.map(str::to_owned).collect()
}

/// The headings of a page, as links name them.
fn headings(page: &Path) -> BTreeSet<String> {
    let text = prose(&fs::read_to_string(page).unwrap());
    let lines = text.lines().filter(|line| line.starts_with('#'));
    let names = lines.map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter_map(|next| match next {
            ' ' => Some('-'),
            '-' | '_' => Some(next),
            _ => next.is_alphanumeric().then_some(next),
        });
        kept.collect()
    });
    names.collect()
}

/// Fails if the page `name` differs from `printed`.
pub(crate) fn compare(name: &str, path: &Path, printed: &str) {
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        fs::write(path, printed).unwrap();
    }
    let written = fs::read_to_string(path).unwrap();
    for (number, (is, should)) in written.lines().zip(printed.lines()).enumerate() {
        assert_eq!(is, should, "{name}:{}", number + 1);
    }
    assert_eq!(written.len(), printed.len(), "{name} is too long or short");
}

/// The arguments of a command line, without comment and program; none for another program.
fn arguments(line: &str) -> Option<&str> {
    let command = line.split(" # ").next()?.trim();
    PROGRAM
        .iter()
        .find_map(|program| command.strip_prefix(program))
}

/// The exit code of a command line: that of its comment, `# exits with 5`, or 0.
fn exit_code(line: &str) -> i32 {
    let comment = line.split_once(" # exits with ");
    comment.map_or(0, |(_, code)| code.trim().parse().unwrap())
}

fn is_runnable(line: &str) -> bool {
    arguments(line).is_some_and(|arguments| {
        let subcommand = arguments.split_whitespace().next().unwrap();
        // A cluster without a command stays until it is interrupted; a collector is there in the tests of `export`.
        RUNNABLE.contains(&subcommand)
            && (subcommand != "up" || arguments.contains(" -- "))
            // Without a file, it is about nodes.
            && (subcommand != "check" || arguments.contains(".toml"))
            && !arguments.contains(" http://")
    })
}

/// A folder with `conf`, and with the examples in C, compiled, in which each command runs once.
struct Session {
    folder: TempDir,
    outputs: BTreeMap<String, String>,
}

impl Session {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["conf", "c", "examples/c", "examples/poisson"] {
            copy(&root().join(name), &folder.path().join(name));
        }
        let make = ["-s", "-C", "examples/c"];
        let mut made = Command::new("make");
        made.args(make).current_dir(&folder);
        assert!(made.status().unwrap().success(), "make and cc are needed");
        Self {
            folder,
            outputs: BTreeMap::new(),
        }
    }

    /// The output of a command line, cut by `| head -N` and `| tail -N`; `> FILE` keeps it as well.
    fn piped(&mut self, line: &str) -> String {
        if let Some((line, file)) = line.split_once(" > ") {
            let printed = self.piped(line);
            fs::write(self.folder.path().join(file.trim()), &printed).unwrap();
            return printed;
        }
        let mut parts = arguments(line).unwrap().split(" | ");
        let output = self.output(parts.next().unwrap(), exit_code(line));
        let mut lines: Vec<&str> = output.lines().collect();
        for filter in parts {
            let (name, count) = filter.split_once(" -").unwrap();
            let count: usize = count.parse().unwrap();
            match name {
                "head" => lines.truncate(count),
                "tail" => drop(lines.drain(..lines.len().saturating_sub(count))),
                _ => panic!("{line}: the filters are head and tail"),
            }
        }
        lines.iter().flat_map(|line| [*line, "\n"]).collect()
    }

    fn output(&mut self, arguments: &str, exit_code: i32) -> &str {
        let folder = self.folder.path();
        let run = || stdout(folder, arguments, exit_code);
        let output = self.outputs.entry(arguments.to_owned());
        output.or_insert_with(run)
    }
}

/// Standard output of `migbsp`, run in `folder`, which has to exit with `exit_code`.
fn stdout(folder: &Path, arguments: &str, exit_code: i32) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_migbsp"))
        .current_dir(folder)
        .env_remove("COLUMNS")
        .args(arguments.split_whitespace())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(exit_code),
        "{arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Copies a folder with all files and folders in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
