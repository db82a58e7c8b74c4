//! Files in memory, with the faults of disks.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use bsp::numbers::length;

use super::files::{Entry, Files};

/// A folder in memory that fails as disks do: for tests, and for simulations of faults.
///
/// What was not synchronised may be lost or torn by [`power_loss`](Self::power_loss).
#[derive(Clone, Debug, Default)]
pub struct SimulatedFiles {
    /// Names as programs see them.
    names: BTreeMap<String, Node>,
    /// Names on the disk.
    durable: BTreeMap<String, Node>,
    files: Vec<Contents>,
    operations: u64,
    /// The operation that fails, and how.
    fault: Option<(u64, DiskFault)>,
    /// The bytes that all files may have together.
    capacity: Option<u64>,
}

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// It alone fails, with an error of input or output.
    Error,
    /// It and all that follow do nothing, until [`SimulatedFiles::power_loss`].
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Folder,
    /// A file, by its number.
    File(usize),
}

#[derive(Clone, Debug, Default)]
struct Contents {
    written: Vec<u8>,
    /// The bytes on the disk.
    durable: Vec<u8>,
    is_begun: bool,
}

impl SimulatedFiles {
    /// Has operation `number` fail, counted from 0 over all operations.
    pub fn fail_at(&mut self, number: u64, fault: DiskFault) {
        self.fault = Some((number, fault));
    }

    /// Has all operations succeed.
    pub fn repair(&mut self) {
        (self.fault, self.capacity) = (None, None);
    }

    /// Limits the bytes of all files together: a write that exceeds them fails, and writes what fits.
    pub fn limit(&mut self, capacity: u64) {
        self.capacity = Some(capacity);
    }

    /// Loses all that is not on the disk. `draw` gives a number below its argument, and decides which changed names, and
    /// which part of the bytes of each file, reached the disk without being synchronised.
    pub fn power_loss(&mut self, draw: &mut dyn FnMut(u64) -> u64) {
        let changed: Vec<String> = self
            .names
            .keys()
            .chain(self.durable.keys())
            .cloned()
            .collect();
        for name in changed {
            let new = self.names.get(&name).copied();
            if self.durable.get(&name).copied() != new && draw(2) == 0 {
                self.set_durable(&name, new);
            }
        }
        // A folder that is not there has no files.
        let durable = self.durable.clone();
        self.durable.retain(|name, _| {
            let mut folders = name.match_indices('/').map(|(end, _)| &name[..end]);
            folders.all(|folder| durable.contains_key(folder))
        });
        self.names = self.durable.clone();
        for contents in &mut self.files {
            if contents.written != contents.durable {
                contents.durable = torn(contents, draw);
            }
            contents.written = contents.durable.clone();
            contents.is_begun = false;
        }
        self.fault = None;
    }

    /// Replaces the bytes of a file, on the disk as well.
    ///
    /// # Panics
    ///
    /// If there is no such file.
    pub fn replace(&mut self, path: &str, bytes: Vec<u8>) {
        let file = self.file(path).expect("a file is replaced that exists");
        file.durable.clone_from(&bytes);
        file.written = bytes;
    }

    /// The number of operations so far.
    #[must_use]
    pub const fn operations(&self) -> u64 {
        self.operations
    }

    /// The paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let all = self.names.iter();
        all.filter(|(_, node)| **node != Node::Folder)
            .map(|(path, _)| path.as_str())
    }

    /// Counts an operation, which fails if it is the one that should.
    fn operate(&mut self) -> io::Result<()> {
        let number = self.operations;
        self.operations += 1;
        match self.fault {
            Some((at, DiskFault::Error)) if at == number => {
                Err(io::Error::other("input/output error"))
            }
            Some((at, DiskFault::Stop)) if at <= number => Err(io::Error::other("power lost")),
            _ => Ok(()),
        }
    }

    fn file(&mut self, path: &str) -> io::Result<&mut Contents> {
        match self.names.get(path) {
            Some(Node::File(number)) => Ok(&mut self.files[*number]),
            Some(Node::Folder) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn parent_exists(&self, path: &str) -> io::Result<()> {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        match self.names.get(parent) {
            Some(Node::Folder) => Ok(()),
            _ if path.is_empty() => Ok(()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn set_durable(&mut self, name: &str, node: Option<Node>) {
        match node {
            Some(node) => drop(self.durable.insert(name.to_owned(), node)),
            None => drop(self.durable.remove(name)),
        }
    }

    fn bytes(&self) -> u64 {
        let numbers = self.names.values().filter_map(|node| match node {
            Node::File(number) => Some(*number),
            Node::Folder => None,
        });
        let lengths = numbers.map(|number| self.files[number].written.len());
        lengths.map(length).sum()
    }
}

impl Files for SimulatedFiles {
    fn create_dir(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        self.parent_exists(path)?;
        let node = self.names.entry(path.to_owned()).or_insert(Node::Folder);
        if *node != Node::Folder {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // The folder of all is on the disk: it was made by hand.
        if path.is_empty() {
            self.durable.insert(String::new(), Node::Folder);
        }
        Ok(())
    }

    fn create(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        self.parent_exists(path)?;
        // The old bytes, which `open` truncates, may still be on the disk when power is lost.
        if let Ok(file) = self.file(path) {
            file.written.clear();
            file.is_begun = true;
            return Ok(());
        }
        let node = Node::File(self.files.len());
        self.files.push(Contents {
            is_begun: true,
            ..Contents::default()
        });
        self.names.insert(path.to_owned(), node);
        Ok(())
    }

    fn write(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.operate()?;
        let left = self
            .capacity
            .map(|capacity| capacity.saturating_sub(self.bytes()));
        let fits = left.map_or(bytes.len(), |left| {
            usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
        });
        let file = self.file(path)?;
        if !file.is_begun {
            return Err(io::ErrorKind::NotFound.into());
        }
        file.written.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        let file = self.file(path)?;
        file.durable.clone_from(&file.written);
        file.is_begun = false;
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.operate()?;
        self.parent_exists(to)?;
        self.file(from)?;
        let node = self.names.remove(from).expect("it was found");
        self.names.insert(to.to_owned(), node);
        Ok(())
    }

    fn sync_dir(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        if self.names.get(path) != Some(&Node::Folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let all: Vec<String> = self
            .names
            .keys()
            .chain(self.durable.keys())
            .cloned()
            .collect();
        for name in all.iter().filter(|name| is_in(path, name)) {
            self.set_durable(name, self.names.get(name).copied());
        }
        Ok(())
    }

    fn remove(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        self.file(path)?;
        self.names.remove(path);
        Ok(())
    }

    fn remove_dir(&mut self, path: &str) -> io::Result<()> {
        self.operate()?;
        if self.names.keys().any(|name| is_in(path, name)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        match self.names.get(path) {
            Some(Node::Folder) => drop(self.names.remove(path)),
            Some(Node::File(_)) => return Err(io::ErrorKind::NotADirectory.into()),
            None => return Err(io::ErrorKind::NotFound.into()),
        }
        Ok(())
    }

    fn list(&mut self, path: &str) -> io::Result<Vec<Entry>> {
        self.operate()?;
        if self.names.get(path) != Some(&Node::Folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = self.names.iter().filter(|(name, _)| is_in(path, name));
        let mut entries: Vec<Entry> = inside
            .map(|(name, node)| Entry {
                name: name
                    .rsplit_once('/')
                    .map_or(&name[..], |(_, name)| name)
                    .to_owned(),
                is_dir: *node == Node::Folder,
            })
            .collect();
        entries.sort();
        Ok(entries)
    }

    fn len(&mut self, path: &str) -> io::Result<u64> {
        self.operate()?;
        Ok(length(self.file(path)?.written.len()))
    }

    fn read(&mut self, path: &str) -> io::Result<Vec<u8>> {
        self.operate()?;
        Ok(self.file(path)?.written.clone())
    }

    fn locate(&self, path: &str) -> PathBuf {
        if path.is_empty() {
            ".".into()
        } else {
            path.into()
        }
    }
}

/// Whether `name` is directly in `folder`.
fn is_in(folder: &str, name: &str) -> bool {
    let (parent, last) = name.rsplit_once('/').unwrap_or(("", name));
    !last.is_empty() && parent == folder
}

/// What a loss of power leaves of a file that was not synchronised.
fn torn(contents: &Contents, draw: &mut dyn FnMut(u64) -> u64) -> Vec<u8> {
    let Contents {
        written, durable, ..
    } = contents;
    let cut = |draw: &mut dyn FnMut(u64) -> u64| {
        let drawn = draw(length(written.len()) + 1);
        usize::try_from(drawn).map_or(written.len(), |at| at.min(written.len()))
    };
    match draw(4) {
        0 => durable.clone(),
        1 => written.clone(),
        2 => written[..cut(draw)].to_vec(),
        // The length is on the disk, and not all blocks are.
        _ => {
            let [one, other] = [cut(draw), cut(draw)];
            let mut bytes = written.clone();
            bytes[one.min(other)..one.max(other)].fill(0);
            bytes
        }
    }
}
