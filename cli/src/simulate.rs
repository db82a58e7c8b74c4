//! `migbsp simulate`: an experiment on a simulated platform.

mod progress;
mod report;
mod run;
mod script;
mod text;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use agents::record::{Event, Run, SCHEMA, WriteError, Writer};
use agents::{Script, Setup, placement};
use bsp::HostId;
use serde::Serialize;
use sha2::{Digest, Sha256};
use simulator::Platform;

use crate::command::SimulateArguments;
use crate::configuration::{self, Loaded, Scenario};
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::registry::{Order, Registry};
use crate::simulate::progress::Progress;
use crate::simulate::report::{Report, RunReport};
use crate::tree::Node;
use crate::workload::Common;

pub(crate) use run::{Finished, SimulationError, simulate};

/// Runs the scenarios of an experiment and shows what came of them.
///
/// # Errors
///
/// Whatever is wrong with the experiment, the platform, the program or the disk.
pub(crate) fn command(arguments: &SimulateArguments, registry: &Registry) -> Result<(), Failure> {
    let loaded = configuration::load(&arguments.file, &arguments.set, registry)?;
    let effective = loaded.experiment.effective();
    if arguments.print_config {
        return print(&configuration::print(&effective, &loaded.written));
    }
    let stage = Stage::new(&loaded, effective)?;
    let mut runs = Vec::new();
    let options = loaded.experiment.scheduler.options;
    let scenarios = options.scenario.runs(options.policy);
    if let Some(folder) = &arguments.out {
        refuse_records(folder, scenarios)?;
    }
    for scenario in scenarios {
        runs.push(stage.run(*scenario, arguments, registry)?);
    }
    if let Some(script) = &stage.script {
        for warning in script::unfollowed(script, &runs, &stage.platform) {
            tracing::warn!("{warning}");
        }
    }
    let report = Report::new(&loaded, &stage.platform, runs);
    match arguments.format {
        Format::Table => print(&text::text(&report)),
        Format::Json => print_json(&report),
        Format::Csv => print(&report.csv().map_err(Failure::run)?),
    }
}

/// What all scenarios of an experiment share.
struct Stage<'a> {
    loaded: &'a Loaded,
    effective: Node,
    platform: Arc<Platform>,
    platform_digest: String,
    placement: Vec<HostId>,
    script: Option<Script>,
}

/// The head of a record: what the run was, and what came of it.
#[derive(Debug, Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    version: &'static str,
    scenario: &'static str,
    seed: u64,
    configuration: &'a Node,
    platform_sha256: &'a str,
    results: &'a RunReport,
}

impl<'a> Stage<'a> {
    fn new(loaded: &'a Loaded, effective: Node) -> Result<Self, Failure> {
        let experiment = &loaded.experiment;
        let file = loaded.platform_file();
        let platform = loaded.platform()?;
        for warning in platform.warnings() {
            tracing::warn!(platform = %file.display(), "{warning}");
        }
        let bytes = fs::read(&file).map_err(Failure::input)?;
        let options = experiment.placement.options();
        let placement = placement(&platform, &options, experiment.application.processes)
            .map_err(Failure::input)?;
        let script = configuration::script(
            &experiment.scheduler.orders,
            &loaded.written,
            experiment.application.processes,
            &platform,
        )?;
        Ok(Self {
            loaded,
            effective,
            platform: Arc::new(platform),
            platform_digest: hexadecimal(&Sha256::digest(&bytes)),
            placement,
            script,
        })
    }

    fn run(
        &self,
        scenario: Scenario,
        arguments: &SimulateArguments,
        registry: &Registry,
    ) -> Result<RunReport, Failure> {
        let experiment = &self.loaded.experiment;
        let application = &experiment.application;
        let common = Common {
            processes: application.processes,
            supersteps: application.supersteps,
            seed: experiment.run.seed,
        };
        let setup = self.setup(scenario);
        let mut record = None;
        if let Some(folder) = &arguments.out {
            let mut writer =
                Writer::create(&folder.join(scenario.name())).map_err(Failure::chain)?;
            writer
                .append(&self.head(scenario))
                .map_err(Failure::chain)?;
            record = Some(writer);
        }
        let mut lost = None;
        let mut progress = Progress::new(arguments.progress, scenario, common.supersteps);
        let mut observer = |event: &Event| {
            progress.observe(event);
            if let Some(writer) = &mut record
                && lost.is_none()
            {
                lost = writer.append(event).err();
            }
        };
        let entry = registry.find(&application.workload, None)?;
        let order = Order {
            written: &application.written,
            common,
            folder: &self.loaded.folder,
        };
        let finished = entry.simulate(order, &setup, &mut observer);
        progress.finish();
        let finished = finished?;
        if let Some(error) = lost {
            return Err(Failure::chain(error));
        }
        let report = RunReport::new(scenario, &finished, &self.platform);
        if let Some(writer) = record {
            let manifest = Manifest {
                schema: "migbsp.run/1",
                version: env!("CARGO_PKG_VERSION"),
                scenario: scenario.name(),
                seed: experiment.run.seed,
                configuration: &self.effective,
                platform_sha256: &self.platform_digest,
                results: &report,
            };
            writer.finish(&manifest).map_err(Failure::chain)?;
        }
        Ok(report)
    }

    /// The first line of a record.
    fn head(&self, scenario: Scenario) -> Event {
        let host = |id: &HostId| self.platform.host(*id).name.clone();
        Event::Run(Run {
            schema: SCHEMA.to_owned(),
            scenario: scenario.name().to_owned(),
            sets: self
                .platform
                .sets()
                .iter()
                .map(|set| set.name.clone())
                .collect(),
            hosts: self
                .platform
                .hosts()
                .iter()
                .map(|host| host.name.clone())
                .collect(),
            placement: self.placement.iter().map(host).collect(),
        })
    }

    fn setup(&self, scenario: Scenario) -> Setup {
        let experiment = &self.loaded.experiment;
        Setup {
            platform: Arc::clone(&self.platform),
            network: experiment.platform.network(),
            start: experiment.network.start,
            placement: self.placement.clone(),
            barrier: experiment.barrier.options(),
            scheduler: experiment.scheduler.agents(scenario, self.script.clone()),
            superstep_limit: experiment.run.superstep_limit,
        }
    }
}

/// No scenario is run if the record of one of them would have no place: all or nothing.
fn refuse_records(folder: &Path, scenarios: &[Scenario]) -> Result<(), Failure> {
    for scenario in scenarios {
        let place = folder.join(scenario.name());
        let taken = fs::read_dir(&place).is_ok_and(|mut entries| entries.next().is_some());
        if taken {
            let directory = place;
            return Err(Failure::chain(WriteError::NotEmpty { directory }));
        }
    }
    Ok(())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    })
}
