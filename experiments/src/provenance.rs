//! What made a result: the program, its build, and the configuration; and results as programs read them, headed by it.

use std::fmt::{self, Write as _};
use std::fs;
use std::io::{self, Write};

use protocol::Build;
use serde::Serialize;
use settings::{Files, Node, Override, Value, canonical, join, tree_of};
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::loaded::Loaded;
use crate::prepared::PreparedExperiment;
use crate::record::{Manifest, RecordedBuild};
use crate::registry::Registry;
use crate::scheduler::Scenario;

/// What made a result. It is at the head of every result that programs read, as JSON or CSV.
///
/// What does not apply to a result is absent: a reproduction has no configuration, a comparison has many.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schemas",
    derive(schemars::JsonSchema),
    schemars(description = "")
)]
pub struct Provenance {
    /// Name and version of the program, as `--version` prints them.
    version: String,
    /// The build of the program.
    build: Build,
    /// SHA-256 of the configuration in effect, as JSON without spaces, the entries of every section by key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    configuration_sha256: Option<String>,
    /// SHA-256 of the description of the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    platform_sha256: Option<String>,
    /// The policy of the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    /// The values that the environment and the command line have set.
    #[serde(skip_serializing_if = "Option::is_none")]
    overrides: Option<Vec<Override>>,
    /// Seed of all random numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// The build that made the record, if the result is about one; the configuration is that of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded_by: Option<RecordedBuild>,
}

impl Provenance {
    /// A result of the program of `registry` alone.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn of_program(registry: &Registry) -> Result<Self, Failure> {
        Ok(Self {
            version: format!("{} {}", registry.program(), registry.version()),
            build: registry.build()?,
            configuration_sha256: None,
            platform_sha256: None,
            policy: None,
            overrides: None,
            seed: None,
            recorded_by: None,
        })
    }

    /// A result of an experiment.
    ///
    /// # Errors
    ///
    /// If the binary of this process, or the platform, cannot be read.
    pub fn of_experiment(loaded: &Loaded, registry: &Registry) -> Result<Self, Failure> {
        let experiment = &loaded.experiment;
        let provenance = Self::of_program(registry)?
            .with_platform(&loaded.platform_text()?)
            .with_configuration(&experiment.effective())
            .with_overrides(loaded.overrides.clone())
            .with_seed(experiment.run.seed);
        Ok(Self {
            policy: Some(experiment.scheduler.policy_name()),
            ..provenance
        })
    }

    /// A result of the program `version` that another process has made, as a file says.
    ///
    /// # Errors
    ///
    /// If `build` is none.
    pub fn recorded(
        version: String,
        build: &RecordedBuild,
        overrides: Vec<Override>,
    ) -> Result<Self, String> {
        Ok(Self {
            version,
            build: build.build()?,
            configuration_sha256: None,
            platform_sha256: None,
            policy: None,
            overrides: Some(overrides),
            seed: None,
            recorded_by: None,
        })
    }

    /// A result about the record that `manifest` describes.
    ///
    /// # Errors
    ///
    /// If the binary of this process cannot be read.
    pub fn of_record(manifest: &Manifest, registry: &Registry) -> Result<Self, Failure> {
        let configuration = tree_of(&manifest.configuration);
        let provenance = Self::of_program(registry)?.with_configuration(&configuration);
        Ok(Self {
            platform_sha256: manifest.platform_sha256.clone(),
            policy: manifest.policy().map(str::to_owned),
            overrides: manifest.overrides.clone(),
            seed: manifest.seed,
            recorded_by: manifest.build.clone(),
            ..provenance
        })
    }

    /// The same, of this configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: &Node) -> Self {
        Self {
            configuration_sha256: Some(configuration_digest(configuration)),
            ..self
        }
    }

    /// The same, on the platform with this description.
    #[must_use]
    pub fn with_platform(self, description: &[u8]) -> Self {
        Self {
            platform_sha256: Some(platform_digest(description)),
            ..self
        }
    }

    /// The same, with these values set.
    #[must_use]
    pub fn with_overrides(self, overrides: Vec<Override>) -> Self {
        Self {
            overrides: Some(overrides),
            ..self
        }
    }

    /// The same, with this seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self {
            seed: Some(seed),
            ..self
        }
    }

    /// The same, about what `build` has made.
    #[must_use]
    pub fn with_recorded_by(self, build: RecordedBuild) -> Self {
        Self {
            recorded_by: Some(build),
            ..self
        }
    }

    /// The values that the environment and the command line have set, if they are known.
    #[must_use]
    pub fn overrides(&self) -> &[Override] {
        self.overrides.as_deref().unwrap_or_default()
    }

    /// The build of the program, as files have it.
    #[must_use]
    pub fn recorded_build(&self) -> RecordedBuild {
        RecordedBuild {
            program: self.build.program().to_owned(),
            version: self.build.version().to_owned(),
            sha256: self.build.sha256(),
        }
    }

    /// The build of the program.
    #[must_use]
    pub const fn build(&self) -> &Build {
        &self.build
    }
}

/// SHA-256 of the description of a platform, as provenances have it.
#[must_use]
pub fn platform_digest(description: &[u8]) -> String {
    hex::encode(Sha256::digest(description))
}

/// SHA-256 of `configuration` as JSON without spaces, the entries of every section by key, in hexadecimal digits.
///
/// Unlike the digest of a run, it has no part in the build of the program and the files that the configuration names.
pub(crate) fn configuration_digest(configuration: &Node) -> String {
    hex::encode(Sha256::digest(canonical(configuration).as_bytes()))
}

// Results as programs read them, JSON or CSV, with what made them.
//
// A command computes a report, a struct without a head. Here it is written after its schema and the provenance:
// program, build, digest of the configuration, policy, overrides, seed. `docs/reference/schemas` describes all JSON; a test
// validates what commands write, and a key that no schema has fails. Reports have names of hosts, Sets and processes.
// Events of a record have indices, and their first line has the names.

/// A result with a form that programs rely on. `docs/reference/schemas` describes it.
pub trait Published: Serialize {
    /// Name and version of the form, as `migbsp.simulate/1`.
    const SCHEMA: &'static str;
}

/// A result as one JSON object: its schema, what made it, then its own fields.
// The description in its schema is that of the result.
#[derive(Debug, Serialize)]
#[cfg_attr(
    feature = "schemas",
    derive(schemars::JsonSchema),
    schemars(description = "")
)]
pub struct Attributed<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    provenance: &'a Provenance,
    #[serde(flatten)]
    result: &'a T,
}

impl<'a, T: Published> Attributed<'a, T> {
    /// `result`, made by `provenance`.
    pub const fn new(provenance: &'a Provenance, result: &'a T) -> Self {
        Self {
            schema: T::SCHEMA,
            provenance,
            result,
        }
    }
}

/// A result as CSV: comments that say what made it, then rows under a header.
///
/// A comment is a line `# key: value`, its value JSON. A row whose first field begins with `#` is quoted.
#[derive(Debug)]
pub struct CsvTable<W: Write = Vec<u8>> {
    writer: csv::Writer<W>,
}

/// The comments of a table.
#[derive(Serialize)]
struct Head<'a> {
    schema: &'static str,
    #[serde(flatten)]
    provenance: &'a Provenance,
}

impl CsvTable {
    /// An empty table of the form `schema`; the fields of the first row make its header.
    #[must_use]
    pub fn new(schema: &'static str, provenance: &Provenance) -> Self {
        Self {
            writer: writer(true, comments(schema, provenance).into_bytes()),
        }
    }

    /// An empty table of the form `schema` under `header`.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn with_header<'a>(
        schema: &'static str,
        provenance: &Provenance,
        header: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, Failure> {
        Self::streamed(schema, provenance, header, Vec::new()).map_err(Failure::run)
    }

    /// The text of the table.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn text(self) -> Result<String, Failure> {
        let bytes = self.writer.into_inner().map_err(Failure::run)?;
        String::from_utf8(bytes).map_err(Failure::run)
    }
}

impl<W: Write> CsvTable<W> {
    /// A table of the form `schema` under `header`, written to `output` row by row.
    ///
    /// # Errors
    ///
    /// If `output` refuses.
    pub fn streamed<'a>(
        schema: &'static str,
        provenance: &Provenance,
        header: impl IntoIterator<Item = &'a str>,
        mut output: W,
    ) -> io::Result<Self> {
        output.write_all(comments(schema, provenance).as_bytes())?;
        let mut writer = writer(false, output);
        writer.write_record(header)?;
        Ok(Self { writer })
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// If it is no row of this table, or its output refuses.
    pub fn push(&mut self, row: impl Serialize) -> Result<(), Failure> {
        self.writer.serialize(row).map_err(Failure::run)
    }

    /// Hands all rows to the output.
    ///
    /// # Errors
    ///
    /// If the output refuses.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn writer<W: Write>(has_headers: bool, output: W) -> csv::Writer<W> {
    csv::WriterBuilder::new()
        .has_headers(has_headers)
        .comment(Some(b'#'))
        .from_writer(output)
}

/// What made a table, a comment for each key.
fn comments(schema: &'static str, provenance: &Provenance) -> String {
    let head = tree_of(&Head { schema, provenance });
    let entries = head.entries().iter();
    entries
        .map(|(key, value)| {
            let value = serde_json::to_string(value).expect("a provenance is plain data");
            format!("# {key}: {value}\n")
        })
        .collect()
}

impl PreparedExperiment {
    /// A digest that differs if a run of `scenario` may: of the build, the configuration with its seed, the
    /// platform as it was read, and the files that the workload's parameters name. What a run of `scenario` is not given
    /// is no part of it: without a policy, `[scheduler]`.
    ///
    /// # Errors
    ///
    /// If such a file cannot be read, or the binary.
    pub fn digest(&self, scenario: Scenario, registry: &Registry) -> Result<String, Failure> {
        let build = registry.build()?;
        let experiment = &self.loaded.experiment;
        let application = &experiment.application;
        let mut digest = Hashed(Sha256::new());
        let is_scheduled = self.setup(scenario).scheduler.is_some();
        let effective = experiment.decisive(is_scheduled);
        let platform = &self.platform;
        let scenario = scenario.name();
        write!(digest, "{build:?}\n{scenario}\n{effective}\n{platform:?}\n")
            .map_err(Failure::run)?;
        let files = Files::new(&self.loaded.folder, &application.written);
        digest.add_files("", &application.effective, files)?;
        Ok(hex::encode(digest.0.finalize()))
    }
}

impl PreparedExperiment {
    /// A digest of all that the length of a superstep depends on under a given placement, if all supersteps are alike:
    /// the application without its length, the platform, network and barrier, the files that the application names, and
    /// where processes start, because Managers run there.
    ///
    /// It is the same in all builds, for any scheduler and seed.
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn steady_digest(&self) -> Result<String, Failure> {
        let experiment = &self.loaded.experiment;
        let application = &experiment.application;
        let effective = experiment.effective();
        let mut digest = Hashed(Sha256::new());
        for (section, node) in effective.entries() {
            let left_out: &[&str] = match section.as_str() {
                "scheduler" | "placement" | "run" | "recovery" => continue,
                "elasticity" if experiment.elasticity.pool.is_empty() => continue,
                "checkpoint" if !experiment.checkpoint.is_on() => continue,
                "application" => &["supersteps"],
                "platform" => &["file"],
                _ => &[],
            };
            let entries = node.entries().iter();
            let kept = entries.filter(|(key, _)| !left_out.contains(&key.as_str()));
            let kept = Node::table(kept.cloned().collect());
            let text = canonical(&kept);
            writeln!(digest, "{section} {text}").map_err(Failure::run)?;
        }
        for host in &self.placement {
            writeln!(digest, "{}", host.index()).map_err(Failure::run)?;
        }
        digest.0.update(self.loaded.platform_text()?);
        let files = Files::new(&self.loaded.folder, &application.written);
        digest.add_files("", &application.effective, files)?;
        Ok(hex::encode(digest.0.finalize()))
    }
}

/// A digest of formatted text.
struct Hashed(Sha256);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text.as_bytes());
        Ok(())
    }
}

impl Hashed {
    /// Adds the contents of every file that a value in `node` names.
    fn add_files(&mut self, path: &str, node: &Node, files: Files<'_>) -> Result<(), Failure> {
        for (key, value) in node.entries() {
            let path = join(path, key);
            if let Value::Text(name) = &value.value {
                let file = files.path(&path, name);
                if file.is_file() {
                    let place = |error| Failure::Input(format!("{}: {error}", file.display()));
                    self.0.update(fs::read(&file).map_err(place)?);
                }
            }
            self.add_files(&path, value, files)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[derive(Serialize)]
    struct Answer {
        name: &'static str,
        number: f64,
    }

    impl Published for Answer {
        const SCHEMA: &'static str = "test.answer/1";
    }

    fn provenance() -> Provenance {
        let registry = Registry::new().named("life", "7.1.2");
        let overrides = settings::assignments(&["run.note=a\n\"b\"".to_owned()]).unwrap();
        let overrides = settings::merge(&overrides);
        let provenance = Provenance::of_program(&registry).unwrap().with_seed(3);
        provenance.with_overrides(settings::overrides(&overrides))
    }

    #[test]
    fn json_begins_with_the_schema_and_what_made_it() {
        let (name, number) = ("a", 0.1);
        let text = serde_json::to_string(&Attributed::new(&provenance(), &Answer { name, number }));
        let text = text.unwrap();
        let begin = r#"{"schema":"test.answer/1","version":"life 7.1.2","build":{"program":"life","version":"7.1.2","#;
        assert!(text.starts_with(begin), "{text}");
        let end = r#""seed":3,"name":"a","number":0.1}"#;
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn csv_has_it_in_comments_which_rows_are_not_taken_for() {
        let provenance = provenance();
        let mut table = CsvTable::new(Answer::SCHEMA, &provenance);
        for name in ["#1", "b"] {
            table.push(Answer { name, number: 2.0 }).unwrap();
        }
        let text = table.text().unwrap();
        let (comments, rows): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.starts_with("# "));
        assert_eq!(comments[0], "# schema: \"test.answer/1\"");
        assert_eq!(comments[1], "# version: \"life 7.1.2\"");
        let sha256 = provenance.build().sha256();
        let build =
            format!(r#"# build: {{"program":"life","version":"7.1.2","sha256":"{sha256}"}}"#);
        assert_eq!(comments[2], build);
        let overrides = r#"# overrides: [{"key":"run.note","value":"a\n\"b\"","from":"--set"}]"#;
        assert_eq!(comments[3..], [overrides, "# seed: 3"]);
        assert_eq!(rows, ["name,number", "\"#1\",2.0", "b,2.0"]);
        let mut reader = csv::ReaderBuilder::new();
        let mut reader = reader.comment(Some(b'#')).from_reader(text.as_bytes());
        let first: Vec<String> = reader
            .records()
            .map(|row| row.unwrap()[0].to_owned())
            .collect();
        assert_eq!(first, ["#1", "b"]);
    }

    #[test]
    fn a_table_without_rows_has_a_header() {
        let table = CsvTable::with_header(Answer::SCHEMA, &provenance(), ["name", "number"]);
        let text = table.unwrap().text().unwrap();
        assert_eq!(text.lines().last(), Some("name,number"));
    }
}
