//! The workloads that a binary knows, by name.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use agents::record::Event;

use crate::configuration::{Fault, Files, decode, nearest, tree_of};
use crate::simulate::{Finished, SimulationError, simulate};
use crate::tree::Node;
use crate::workload::{Common, Supersteps, Workload};

/// The workloads that a binary knows.
#[derive(Default)]
pub struct Registry {
    entries: Vec<Box<dyn Entry>>,
}

/// What a workload is to be built from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    /// Its parameters, as written.
    pub(crate) written: &'a Node,
    /// What every workload is told.
    pub(crate) common: Common,
    /// The folder that names of files are relative to.
    pub(crate) folder: &'a Path,
}

/// A workload whose types have been forgotten, for any number of threads.
pub(crate) trait Entry: Send + Sync {
    /// What an experiment calls it.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn about(&self) -> &'static str;

    /// What it makes of `application.supersteps`.
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
        self.entries.push(Box::new(Registered::<W>(PhantomData)));
        self
    }

    /// The names, in the order of registration.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|entry| entry.name()).collect()
    }

    /// Names and what they are.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.entries
            .iter()
            .map(|entry| (entry.name(), entry.about()))
    }

    /// The workload that was asked for at `place`.
    ///
    /// # Errors
    ///
    /// If there is none of that name; says which there are.
    pub(crate) fn find(&self, name: &str, place: Option<&str>) -> Result<&dyn Entry, Fault> {
        let found = self.entries.iter().find(|entry| entry.name() == name);
        found.map(AsRef::as_ref).ok_or_else(|| {
            let names = self.names();
            let hint = nearest(name, &names).map_or_else(String::new, |nearest| {
                format!("; did you mean \"{nearest}\"?")
            });
            let list = names.join(", ");
            let problem = format!("met \"{name}\", which is no workload; known: {list}{hint}");
            Fault::new(place, "application.workload", problem)
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
        let Order {
            written,
            common,
            folder,
        } = order;
        let parameters = Self::parameters(written)?;
        let files = Files::new(folder, written);
        let programs = W::build_from(&parameters, common, files).map_err(|problem| {
            let place = place_of(&problem, written);
            Fault::new(place, &format!("application.{}", W::NAME), problem)
        })?;
        let verify = |outputs: &[_]| W::verify(&parameters, common, files, outputs);
        simulate(setup, programs, verify, observer)
    }
}

/// Where the parameter was written that `problem` names first, in backquotes.
fn place_of<'a>(problem: &str, written: &'a Node) -> Option<&'a str> {
    let key = problem.split('`').nth(1).unwrap_or_default();
    let key = key.split('[').next().unwrap_or_default();
    written.find(key).unwrap_or(written).place()
}
