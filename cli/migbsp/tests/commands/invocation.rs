//! Running the binary in a folder of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program.
pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_migbsp");

/// The root of the repository, below which is what ships.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with files, and the binary to run in it.
pub(crate) struct Folder {
    directory: TempDir,
    variables: Vec<(String, String)>,
}

/// What a run of the binary left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    /// An experiment `e.toml` on a platform `two.xml`, both right.
    pub(crate) fn new() -> Self {
        let folder = Self {
            directory: TempDir::new().unwrap(),
            variables: Vec::new(),
        };
        folder.with("e.toml", EXPERIMENT).with("two.xml", PLATFORM)
    }

    /// With the file `name`.
    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// With the environment variable `name`.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The binary, ready to run here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(arguments).current_dir(self.path()).env_clear();
        command
            .envs(self.variables.iter().cloned())
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        let output = self.command(arguments).output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the binary, which has to succeed; its stdout.
    #[track_caller]
    pub(crate) fn stdout(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.stdout
    }

    /// Runs the binary, which has to succeed and print a table as CSV; the table without the comments at its head.
    #[track_caller]
    pub(crate) fn csv(&self, arguments: &[&str]) -> String {
        let text = self.stdout(&[arguments, &["--format", "csv"]].concat());
        rows(&text)
    }

    /// Runs the binary, which has to fail with `code`, print nothing on stdout, and `message` alone.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &[&str], code: i32, message: &str) {
        let expected = Ended {
            code: Some(code),
            stdout: String::new(),
            stderr: format!("error: {message}\n"),
        };
        assert_eq!(self.run(arguments), expected);
    }
}

/// The JSON object in `text` without some of its keys.
#[track_caller]
pub(crate) fn without(text: &str, keys: &[&str]) -> Value {
    let mut object: Value = serde_json::from_str(text).unwrap();
    for key in keys {
        assert!(
            object.as_object_mut().unwrap().remove(*key).is_some(),
            "{key}"
        );
    }
    object
}

/// A table as CSV without the comments at its head, the first of which names its schema.
#[track_caller]
pub(crate) fn rows(table: &str) -> String {
    assert!(table.starts_with("# schema: \"migbsp."), "{table}");
    let rows = table.split_inclusive('\n');
    rows.skip_while(|line| line.starts_with("# ")).collect()
}

/// Four processes on two clusters of two hosts, the second one slow.
pub(crate) const EXPERIMENT: &str = r#"[application]
workload = "synthetic"
processes = 4
supersteps = 20

[application.synthetic]
instructions = [1e8]
memory = 1e5

[platform]
file = "two.xml"

[placement]
order = "fill"
"#;

pub(crate) const PLATFORM: &str = r#"<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="world" routing="Full">
    <cluster id="slow" prefix="slow-" suffix="" radical="1-4" speed="0.5Gf" bw="12.5MBps" lat="50us" router_id="slow-router"/>
    <cluster id="fast" prefix="fast-" suffix="" radical="1-4" speed="2Gf" bw="125MBps" lat="50us" router_id="fast-router"/>
    <link id="between" bandwidth="125MBps" latency="100us"/>
    <zoneRoute src="slow" dst="fast" gw_src="slow-router" gw_dst="fast-router">
      <link_ctn id="between"/>
    </zoneRoute>
  </zone>
</platform>
"#;
