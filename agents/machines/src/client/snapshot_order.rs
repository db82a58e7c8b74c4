//! The files that processes have written while they ran, in the order of the record.

use std::collections::{BTreeMap, BTreeSet};

use agents::{Setup, check};
use bsp::{HostId, Rank, SNAPSHOTS_MAX, SnapshotName};
use record::{Call, Snapshot};

/// Puts what nodes say of files before the superstep in which they were written, and checks it.
///
/// Nodes send their parts of the record independently: a file may be known here long before the end of its superstep, or after.
/// Whether a process was where its file is follows from the calls before that superstep, which the record has at its end.
#[derive(Debug)]
pub(super) struct SnapshotOrder {
    /// The hosts of each process, by rank, each with the first superstep there.
    hosts: Vec<Vec<(u64, HostId)>>,
    /// The number of supersteps that are over.
    over: u64,
    /// Files of supersteps that are not over.
    waiting: BTreeMap<(u64, Rank, SnapshotName), Snapshot>,
    /// The names of all files, by superstep and process.
    names: BTreeMap<(u64, Rank), BTreeSet<SnapshotName>>,
}

impl SnapshotOrder {
    /// No files yet of a job on `setup`.
    pub(super) fn new(setup: &Setup) -> Self {
        let hosts = setup.placement.iter().map(|host| vec![(0, *host)]);
        Self {
            hosts: hosts.collect(),
            over: 0,
            waiting: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    /// Adds a file that a process of the job has written in one of its supersteps, on a host that exists. Returns it if its
    /// superstep is over: it is recorded now.
    ///
    /// # Errors
    ///
    /// If it is known already, if a process may not write so many, if the process was elsewhere, or if too many files wait for the
    /// end of their supersteps.
    pub(super) fn add(&mut self, snapshot: Snapshot) -> Result<Option<Snapshot>, String> {
        let Snapshot {
            superstep, rank, ..
        } = snapshot;
        let name = &snapshot.name;
        let names = self.names.entry((superstep, rank)).or_default();
        check(names.insert(name.clone()), || {
            format!("the file `{name}` of {rank} in superstep {superstep} twice")
        })?;
        check(names.len() <= SNAPSHOTS_MAX, || {
            format!("more than {SNAPSHOTS_MAX} files of {rank} in superstep {superstep}")
        })?;
        if superstep < self.over {
            self.check_host(&snapshot)?;
            return Ok(Some(snapshot));
        }
        check(self.waiting.len() < WAITING_MAX, || {
            format!("more than {WAITING_MAX} files of supersteps that are not over")
        })?;
        self.waiting
            .insert((superstep, rank, name.clone()), snapshot);
        Ok(None)
    }

    /// Processes have moved after a superstep.
    pub(super) fn move_processes(&mut self, call: &Call) {
        for migration in &call.migrations {
            self.hosts[migration.rank.index()].push((call.superstep, migration.to));
        }
    }

    /// A superstep is over. Returns its files, by rank and name.
    ///
    /// # Errors
    ///
    /// The host of a node that has named a file of a process which was elsewhere, and what is wrong.
    pub(super) fn complete(&mut self, superstep: u64) -> Result<Vec<Snapshot>, (HostId, String)> {
        self.over = superstep + 1;
        let later = match self.waiting.keys().find(|key| superstep < key.0).cloned() {
            Some(first) => self.waiting.split_off(&first),
            None => BTreeMap::new(),
        };
        let complete = std::mem::replace(&mut self.waiting, later);
        for snapshot in complete.values() {
            let checked = self.check_host(snapshot);
            checked.map_err(|problem| (snapshot.host, problem))?;
        }
        Ok(complete.into_values().collect())
    }

    /// The host of a file whose superstep is not over, and that superstep, if there is one.
    pub(super) fn first_waiting(&self) -> Option<(HostId, u64)> {
        let first = self.waiting.values().next();
        first.map(|snapshot| (snapshot.host, snapshot.superstep))
    }

    /// Checks that the process was on the host of its file.
    fn check_host(&self, snapshot: &Snapshot) -> Result<(), String> {
        let Snapshot {
            superstep,
            rank,
            host,
            name,
            ..
        } = snapshot;
        let hosts = &self.hosts[rank.index()];
        let later = hosts.partition_point(|(first, _)| first <= superstep);
        let was_on = later.checked_sub(1).map(|at| hosts[at].1);
        check(was_on == Some(*host), || {
            format!("the file `{name}` of {rank} in superstep {superstep}, which was elsewhere")
        })
    }
}

/// The most files of supersteps that are not over, of all nodes together: 40 MB.
const WAITING_MAX: usize = 1 << 18;
