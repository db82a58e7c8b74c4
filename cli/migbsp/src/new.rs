//! `new`: a package for a program of one's own.

use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use clap::Args;
use commands::output::print;
use commands::{Command, CommandFailure, Context};
use experiments::Failure;

/// Arguments of `new`.
#[derive(Debug, Args)]
struct NewArguments {
    /// Folder to create; its last part becomes the name of the package and of its program
    #[arg(value_name = "NAME")]
    folder: PathBuf,
    /// Depend on migbsp in this folder [default: the one this program was built from, if it is still there, otherwise the
    /// version that is published]
    #[arg(long, value_name = "FOLDER")]
    path: Option<PathBuf>,
    /// Depend on migbsp in this Git repository
    #[arg(long, value_name = "URL", conflicts_with = "path")]
    git: Option<String>,
}

/// The command `new`.
pub(crate) fn command() -> Command {
    Command::new(
        "new",
        "Write a package for a program of your own, which builds and runs",
        execute,
    )
    .long_about(ABOUT)
    .example("new wave", "a program of your own")
}

const ABOUT: &str = "\
Write a package for a program of your own, which builds and runs

It has a program (heat that spreads along a rod), its workload, an experiment, a platform, tests, and a README with \
commands to try. Change it step by step into your program: docs/guide/custom-programs.md is a guide.

Nothing is written where there is a folder of that name.";

/// Writes the package.
///
/// # Errors
///
/// [`Failure::Usage`] if the name is none of a package or the folder cannot be made, [`Failure::Input`] if there is no migbsp
/// to depend on.
fn execute(arguments: &NewArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let folder = &arguments.folder;
    let name = package_name(folder, &context.registry().names())?;
    let source = Source::of(arguments)?;
    let refused = |problem: &dyn ToString| {
        let problem = problem.to_string();
        Failure::Usage(format!("{}: {problem}", folder.display()))
    };
    fs::create_dir(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => refused(&"it exists already; choose another name"),
        _ => refused(&format!("the folder cannot be created: {error}")),
    })?;
    if let Err(error) = write(folder, &name, &source) {
        // Nothing half-written.
        let _lost = fs::remove_dir_all(folder);
        return Err(refused(&format!("the files cannot be written: {error}")).into());
    }
    let folder = folder.display();
    print(&format!(
        "{folder}: a program with its workload, an experiment and tests

  cd {folder}
  cargo test                                              the first build takes some minutes
  cargo run --release -- simulate {name}.toml
  cargo run --release -- up --local 4 --slow 4:0.4 -- run {name}.toml

{folder}/README.md has more.
"
    ))
}

/// The last part of the path, if Cargo takes it as the name of a package with a program, and none of these workloads has it.
fn package_name(folder: &Path, workloads: &[&str]) -> Result<String, Failure> {
    let refused = |problem: String| Failure::Usage(format!("{}: {problem}", folder.display()));
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.unwrap_or_default();
    let is_first = |character: char| character.is_ascii_lowercase();
    let is_next = |character: char| {
        is_first(character) || character.is_ascii_digit() || "-_".contains(character)
    };
    if !name.starts_with(is_first) || !name.chars().all(is_next) {
        return Err(refused(format!(
            "`{name}` is no name of a package; a name begins with a lower-case letter and has such letters, digits, - and _"
        )));
    }
    let owner = if workloads.contains(&name) {
        "a workload that ships has"
    } else if RESERVED.contains(&name) {
        "Cargo or Rust has"
    } else {
        return Ok(name.to_owned());
    };
    Err(refused(format!(
        "{owner} the name `{name}` already; choose another one"
    )))
}

/// Names that Cargo refuses, and those of the dependencies.
const RESERVED: [&str; 62] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "migbsp",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "serde",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// Where the package gets migbsp from.
enum Source {
    /// A folder, absolute.
    Folder(PathBuf),
    Git(String),
    Published,
}

impl Source {
    fn of(arguments: &NewArguments) -> Result<Self, Failure> {
        if let Some(url) = &arguments.git {
            return Ok(Self::Git(url.clone()));
        }
        let Some(folder) = &arguments.path else {
            let built_from = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
            let is_workspace = built_from.join(LOCK).is_file();
            return Ok(if is_workspace {
                Self::Folder(built_from)
            } else {
                Self::Published
            });
        };
        // The repository, or the folder of the package in it.
        let candidates = [folder.join("cli/migbsp"), folder.clone()];
        let found = candidates
            .iter()
            .find(|folder| folder.join("template").is_dir());
        let found = found.ok_or_else(|| {
            let folder = folder.display();
            Failure::Input(format!(
                "{folder}: no clone of migbsp; expected a folder with cli/migbsp"
            ))
        })?;
        path::absolute(found)
            .map(Self::Folder)
            .map_err(Failure::input)
    }

    /// The value of the dependency in `Cargo.toml`.
    fn dependency(&self) -> String {
        let (key, value) = match self {
            Self::Folder(folder) => ("path", folder.display().to_string()),
            Self::Git(url) => ("git", url.clone()),
            Self::Published => ("version", env!("CARGO_PKG_VERSION").to_owned()),
        };
        format!("{{ {key} = {} }}", toml::Value::String(value))
    }
}

/// The versions with which migbsp was tested, seen from its folder.
const LOCK: &str = "../../Cargo.lock";

/// Writes the files of the package `name`.
fn write(folder: &Path, name: &str, source: &Source) -> io::Result<()> {
    for (path, text) in TEMPLATE {
        let path = folder.join(path.replace(NAME, name));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text.replace(NAME, name))?;
    }
    let dependency = source.dependency();
    let manifest = MANIFEST
        .replace(NAME, name)
        .replace("DEPENDENCY", &dependency);
    fs::write(folder.join("Cargo.toml"), manifest + PROFILE)?;
    match source {
        Source::Folder(migbsp) => fs::copy(migbsp.join(LOCK), folder.join("Cargo.lock")).map(drop),
        Source::Git(_) | Source::Published => Ok(()),
    }
}

/// The name in the template, in texts and names of files.
const NAME: &str = "my-program";

const MANIFEST: &str = "\
[package]
name = \"my-program\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

[dependencies]
migbsp = DEPENDENCY
serde = { version = \"1\", features = [\"derive\"] }

# A package of its own, wherever it is.
[workspace]

# As migbsp builds itself: what runs spend no time in is compiled faster.
";

/// What a workspace says of its dependencies holds for itself alone, so packages have it again.
const PROFILE: &str = include_str!("../template/profile.toml");

/// The files of a package but its manifest, and where they are in it.
const TEMPLATE: [(&str, &str); 8] = [
    (".gitignore", include_str!("../template/gitignore")),
    ("README.md", include_str!("../template/README.md")),
    ("cluster.toml", include_str!("../template/cluster.toml")),
    (
        "my-program.toml",
        include_str!("../template/my-program.toml"),
    ),
    ("src/main.rs", include_str!("../template/src/main.rs")),
    ("src/rod.rs", include_str!("../template/src/rod.rs")),
    (
        "src/workload.rs",
        include_str!("../template/src/workload.rs"),
    ),
    (
        "tests/commands.rs",
        include_str!("../template/tests/commands.rs"),
    ),
];
