//! `up --kill`: node processes that are killed while a run goes on, to try out faults.

use std::fmt::{self, Display, Formatter};
use std::num::NonZeroU32;
use std::str::FromStr;

use experiments::Failure;
use record::Event;

use crate::live::local_nodes::Nodes;

/// Which nodes are to be killed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kill {
    victims: Victims,
    /// The superstep, from 0, that is over then.
    superstep: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victims {
    All,
    /// Counted from 1.
    Node(NonZeroU32),
}

impl FromStr for Kill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "must be NODE@SUPERSTEP, such as 3@200 or all@200; nodes are counted from 1";
        let (victims, superstep) = text.split_once('@').ok_or(expected)?;
        let victims = match victims.trim() {
            "all" => Victims::All,
            node => Victims::Node(node.parse().map_err(|_| expected)?),
        };
        let superstep = superstep.trim().parse().map_err(|_| expected)?;
        Ok(Self { victims, superstep })
    }
}

impl Display for Kill {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self.victims {
            Victims::All => write!(formatter, "all@{}", self.superstep),
            Victims::Node(node) => write!(formatter, "{node}@{}", self.superstep),
        }
    }
}

impl Kill {
    /// Checks that its node is one of `count`.
    ///
    /// # Errors
    ///
    /// If there are fewer nodes.
    pub(crate) fn check(self, count: usize) -> Result<(), Failure> {
        if (0..count).any(|index| self.includes(index)) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--kill {self}: there are only {count} nodes"
        )))
    }

    /// Whether the node of this index is to be killed.
    fn includes(self, index: usize) -> bool {
        match self.victims {
            Victims::All => true,
            Victims::Node(node) => usize::try_from(node.get()).is_ok_and(|node| node == index + 1),
        }
    }
}

/// The kills of a run.
#[derive(Debug)]
pub(crate) struct Kills {
    /// Those whose superstep is not over.
    pending: Vec<Kill>,
}

impl Kills {
    pub(crate) fn new(all: &[Kill]) -> Self {
        Self {
            pending: all.to_vec(),
        }
    }

    /// Kills the nodes that are due after `event`, each kill once.
    pub(crate) fn observe(&mut self, event: &Event, nodes: &mut Nodes) {
        let Event::Superstep(superstep) = event else {
            return;
        };
        let is_due = |kill: &mut Kill| kill.superstep <= superstep.index;
        for kill in self.pending.extract_if(.., is_due) {
            tracing::info!(%kill, at = %superstep.ended, "nodes are killed");
            nodes.kill(kill.superstep, |index| kill.includes(index));
        }
    }

    /// Warns of those that a complete run has not come to.
    pub(crate) fn warn_of_pending(&self) {
        if self.pending.is_empty() {
            return;
        }
        let pending: Vec<String> = self.pending.iter().map(Kill::to_string).collect();
        tracing::warn!(
            "--kill {}: the run ended before this superstep was over",
            pending.join(", ")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_names_its_nodes_and_its_superstep() {
        let kill = |text: &str| text.parse::<Kill>();
        let included = |kill: Kill| -> Vec<usize> {
            let indices = (0..3).filter(|index| kill.includes(*index));
            indices.collect()
        };
        let all = kill("all@200").unwrap();
        assert_eq!((all.superstep, included(all)), (200, vec![0, 1, 2]));
        let second = kill("2@0").unwrap();
        assert_eq!((second.superstep, included(second)), (0, vec![1]));
        assert_eq!(kill(" 2 @ 7 ").unwrap().to_string(), "2@7");
        for text in [
            "", "2", "@", "2@", "@2", "0@5", "-1@5", "2@-5", "2@x", "2@1.5", "ALL@2", "2:7",
            "2@3@4",
        ] {
            assert!(kill(text).unwrap_err().contains("NODE@SUPERSTEP"), "{text}");
        }
    }

    #[test]
    fn a_node_has_to_be_there() {
        let check = |text: &str| text.parse::<Kill>().unwrap().check(4);
        assert_eq!(check("4@1").ok(), Some(()));
        assert_eq!(check("all@1").ok(), Some(()));
        for text in ["5@1", "4294967295@1"] {
            assert!(check(text).unwrap_err().to_string().contains("4 nodes"));
        }
    }
}
