//! The workloads that a binary knows, by name.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use agents::hosts::{self, Kind};
use agents::record::Event;

use crate::configuration::{Fault, Files, Loaded, decode, nearest, tree_of};
use crate::live::{LiveError, Submission};
use crate::simulate::{Finished, SimulationError, digest, simulate};
use crate::tree::Node;
use crate::workload::{Common, Supersteps, Unbuilt, Workload};

/// The workloads that a binary knows.
#[derive(Clone, Default)]
pub struct Registry {
    entries: Vec<Arc<dyn Entry>>,
}

/// The source of a workload's programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    /// Its parameters, as written.
    pub(crate) written: &'a Node,
    /// Parameters that every workload has.
    pub(crate) common: Common,
    /// The folder that names of files are relative to.
    pub(crate) folder: &'a Path,
}

impl<'a> Order<'a> {
    /// The source of the programs of an experiment's workload.
    pub(crate) fn of(loaded: &'a Loaded) -> Self {
        let experiment = &loaded.experiment;
        let application = &experiment.application;
        Self {
            written: &application.written,
            common: Common {
                processes: application.processes,
                supersteps: application.supersteps,
                seed: experiment.run.seed,
            },
            folder: &loaded.folder,
        }
    }
}

/// A workload with its types erased, for any number of threads.
pub(crate) trait Entry: Send + Sync {
    /// Its name in experiments.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn about(&self) -> &'static str;

    /// Its use of `application.supersteps`.
    fn supersteps(&self) -> Supersteps;

    /// All parameters, those that are not written included.
    ///
    /// # Errors
    ///
    /// The first parameter that is unknown or of the wrong type.
    fn effective(&self, written: &Node) -> Result<Node, Fault>;

    /// Whether the seed makes any difference to it.
    ///
    /// # Errors
    ///
    /// The first parameter that is unknown or of the wrong type.
    fn draws(&self, written: &Node) -> Result<bool, Fault>;

    /// One run of it.
    ///
    /// # Errors
    ///
    /// If the parameters do not make a program, or the run has no result.
    fn simulate(
        &self,
        order: Order<'_>,
        setup: &agents::Setup,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<Finished, SimulationError>;

    /// Its programs, for nodes.
    fn kind(&self) -> Kind;

    /// One run of it on real hosts.
    ///
    /// # Errors
    ///
    /// If the parameters do not make a program, or the run has no result.
    fn run(&self, order: Order<'_>, submission: Submission<'_>) -> Result<Finished, LiveError>;
}

impl Registry {
    /// No workloads yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These, and `W`.
    ///
    /// # Panics
    ///
    /// If there already is one of that name.
    #[must_use]
    pub fn with<W: Workload>(mut self) -> Self {
        assert!(
            !self.names().contains(&W::NAME),
            "two workloads are called {}",
            W::NAME
        );
        self.entries.push(Arc::new(Registered::<W>(PhantomData)));
        self
    }

    /// The names, in the order of registration.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|entry| entry.name()).collect()
    }

    /// Names and descriptions.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.entries
            .iter()
            .map(|entry| (entry.name(), entry.about()))
    }

    /// The workload that was asked for at `place`.
    ///
    /// # Errors
    ///
    /// If there is none of that name.
    pub(crate) fn find(&self, name: &str, place: Option<&str>) -> Result<&dyn Entry, Fault> {
        let found = self.entries.iter().find(|entry| entry.name() == name);
        found.map(AsRef::as_ref).ok_or_else(|| {
            let names = self.names();
            let hint = nearest(name, &names).map_or_else(String::new, |nearest| {
                format!("; did you mean \"{nearest}\"?")
            });
            let list = names.join(", ");
            let problem = format!("unknown workload, must be one of {list}{hint}");
            Fault::invalid(place, "application.workload", name, problem)
        })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Registry")
            .field(&self.names())
            .finish()
    }
}

/// No workload is inside: all of it is in its type.
struct Registered<W>(PhantomData<fn() -> W>);

impl<W: Workload> Registered<W> {
    fn parameters(written: &Node) -> Result<W::Parameters, Fault> {
        decode(written, &format!("application.{}", W::NAME), W::unit)
    }

    fn programs(order: Order<'_>) -> Result<(W::Parameters, Vec<W::Program>), Fault> {
        let Order {
            written,
            common,
            folder,
        } = order;
        let parameters = Self::parameters(written)?;
        let files = Files::new(folder, written);
        let programs = W::build_from(&parameters, common, files).map_err(|unbuilt| {
            let place = place_of(&unbuilt.to_string(), written);
            let fault = Fault::new(place, &format!("application.{}", W::NAME), &unbuilt);
            match unbuilt {
                // A file that was named on the command line is no fault of the command line.
                Unbuilt::File(_) if fault.is_usage() => Fault {
                    origin: None,
                    ..fault
                },
                Unbuilt::File(_) | Unbuilt::Parameter(_) => fault,
            }
        })?;
        Ok((parameters, programs))
    }
}

impl<W: Workload> Entry for Registered<W> {
    fn name(&self) -> &'static str {
        W::NAME
    }

    fn about(&self) -> &'static str {
        W::ABOUT
    }

    fn supersteps(&self) -> Supersteps {
        W::SUPERSTEPS
    }

    fn effective(&self, written: &Node) -> Result<Node, Fault> {
        Ok(tree_of(&Self::parameters(written)?))
    }

    fn draws(&self, written: &Node) -> Result<bool, Fault> {
        Ok(W::draws(&Self::parameters(written)?))
    }

    fn simulate(
        &self,
        order: Order<'_>,
        setup: &agents::Setup,
        observer: &mut dyn FnMut(&Event),
    ) -> Result<Finished, SimulationError> {
        let (parameters, programs) = Self::programs(order)?;
        let files = Files::new(order.folder, order.written);
        let verify = |outputs: &[_]| W::verify(&parameters, order.common, files, outputs);
        simulate(setup, programs, verify, observer)
    }

    fn kind(&self) -> Kind {
        Kind::of::<W::Program>()
    }

    fn run(&self, order: Order<'_>, submission: Submission<'_>) -> Result<Finished, LiveError> {
        let (parameters, programs) = Self::programs(order)?;
        let Submission {
            client,
            request,
            observer,
            interrupted,
        } = submission;
        let finished = hosts::run(client, request, programs, observer, interrupted)?;
        let files = Files::new(order.folder, order.written);
        let verified = W::verify(&parameters, order.common, files, &finished.outputs)?;
        let end = finished.end;
        Ok(Finished {
            seconds: end.seconds,
            supersteps: end.supersteps,
            calls: finished.calls,
            attainable: end.attainable,
            imbalance: end.imbalance,
            moved: end.moved,
            messages: end.messages,
            bytes: end.bytes,
            outputs: digest(&finished.outputs),
            verified,
        })
    }
}

/// Place of the parameter that `problem` names first, in backquotes.
fn place_of<'a>(problem: &str, written: &'a Node) -> Option<&'a str> {
    let key = problem.split('`').nth(1).unwrap_or_default();
    let key = key.split('[').next().unwrap_or_default();
    written.find(key).unwrap_or(written).place()
}
