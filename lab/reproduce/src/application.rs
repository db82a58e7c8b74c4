//! The three applications of the papers, and the experiments that model them.

use serde::{Deserialize, Serialize};

use experiments::Embedded;

/// An application of the papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Application {
    /// Lattice Boltzmann.
    #[serde(rename = "lbm")]
    LatticeBoltzmann,
    /// Smith-Waterman.
    #[serde(rename = "sw")]
    SmithWaterman,
    /// LU decomposition.
    #[serde(rename = "lu")]
    Lu,
}

impl Application {
    /// Its experiment with this number of processes, if the papers have one.
    pub fn experiment(self, processes: u32) -> Option<&'static Embedded> {
        let found = EXPERIMENTS
            .iter()
            .find(|(application, size, _)| *application == self && *size == processes);
        found.map(|(.., experiment)| experiment)
    }

    /// The changes of a table row to the experiment.
    pub fn assignment(self, row: u64) -> Option<String> {
        match self {
            Self::LatticeBoltzmann => Some(format!("application.supersteps={row}")),
            // The matrix has a column for each process.
            Self::SmithWaterman => None,
            Self::Lu => Some(format!("application.lu.order={row}")),
        }
    }

    /// Number of supersteps of a table row.
    pub const fn supersteps(self, row: u64) -> u64 {
        match self {
            Self::LatticeBoltzmann => row,
            Self::SmithWaterman => 2 * row - 1,
            Self::Lu => 2 * row + 1,
        }
    }

    /// The quantity that table rows vary.
    pub const fn row_name(self) -> &'static str {
        match self {
            Self::LatticeBoltzmann => "supersteps",
            Self::SmithWaterman | Self::Lu => "order",
        }
    }

    /// Its name in the papers.
    pub const fn title(self) -> &'static str {
        match self {
            Self::LatticeBoltzmann => "Lattice Boltzmann",
            Self::SmithWaterman => "Smith-Waterman",
            Self::Lu => "LU",
        }
    }
}

macro_rules! experiment {
    ($name:literal) => {
        Embedded {
            name: concat!("conf/paper/", $name, ".toml"),
            text: include_str!(concat!("../../../conf/paper/", $name, ".toml")),
            platform: include_str!("../../../conf/platforms/testbed.toml"),
        }
    };
}

static EXPERIMENTS: [(Application, u32, Embedded); 14] = [
    (Application::LatticeBoltzmann, 10, experiment!("lbm-10")),
    (Application::LatticeBoltzmann, 25, experiment!("lbm-25")),
    (Application::LatticeBoltzmann, 50, experiment!("lbm-50")),
    (Application::LatticeBoltzmann, 100, experiment!("lbm-100")),
    (Application::LatticeBoltzmann, 200, experiment!("lbm-200")),
    (Application::SmithWaterman, 10, experiment!("sw-10")),
    (Application::SmithWaterman, 25, experiment!("sw-25")),
    (Application::SmithWaterman, 50, experiment!("sw-50")),
    (Application::SmithWaterman, 100, experiment!("sw-100")),
    (Application::SmithWaterman, 200, experiment!("sw-200")),
    (Application::Lu, 25, experiment!("lu-25")),
    (Application::Lu, 50, experiment!("lu-50")),
    (Application::Lu, 100, experiment!("lu-100")),
    (Application::Lu, 200, experiment!("lu-200")),
];
