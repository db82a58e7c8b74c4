//! The rows of the table: what the paper prints, and our experiments.

use experiments::Embedded;

/// A row of the table.
#[derive(Debug)]
pub(super) struct Row {
    /// As the paper writes it.
    pub(super) name: &'static str,
    /// Seconds of work left on a server, ours.
    pub(super) work: f64,
    /// Megabytes of the state, ours.
    pub(super) state: f64,
    /// Seconds of DSA, MCM, ETM and RS, as printed.
    pub(super) printed: [f64; 4],
    pub(super) experiment: Embedded,
}

macro_rules! row {
    ($name:literal, $file:literal, $platform:literal, $work:literal, $state:literal, $printed:expr) => {
        Row {
            name: $name,
            work: $work,
            state: $state,
            printed: $printed,
            experiment: Embedded {
                name: concat!("conf/du2007/", $file, ".toml"),
                text: include_str!(concat!("../../../../../conf/du2007/", $file, ".toml")),
                platform: include_str!(concat!(
                    "../../../../../conf/platforms/",
                    $platform,
                    ".toml"
                )),
            },
        }
    };
}

/// In the order of the table.
pub(super) static ROWS: [Row; 7] = [
    row!(
        "linpack 1",
        "linpack-1",
        "sunwulf-large",
        2395.0,
        635.22,
        [2395.33, 2578.52, 2468.12, 4174.63]
    ),
    row!(
        "linpack 2",
        "linpack-2",
        "sunwulf-large",
        495.0,
        224.3,
        [494.91, 619.49, 553.46, 526.54]
    ),
    row!(
        "linpack 3",
        "linpack-3",
        "sunwulf",
        66.0,
        58.4,
        [65.83, 89.42, 81.29, 90.82]
    ),
    row!(
        "linpack 4",
        "linpack-4",
        "sunwulf",
        21.5,
        27.7,
        [21.52, 23.60, 25.02, 76.81]
    ),
    row!(
        "xlintims 1",
        "xlintims-1",
        "sunwulf-xlintims",
        540.0,
        1.5,
        [557.78, 1359.56, 557.81, 557.72]
    ),
    row!(
        "xlintims 2",
        "xlintims-2",
        "sunwulf-xlintims",
        52.0,
        1.5,
        [57.18, 67.45, 69.54, 92.83]
    ),
    row!(
        "xlintims 3",
        "xlintims-3",
        "sunwulf-xlintims",
        590.0,
        1.5,
        [615.97, 1489.73, 616.15, 1466.6]
    ),
];
