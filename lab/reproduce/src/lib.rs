//! What papers print, and what our runs say: the command `reproduce`; and the best placements of steady experiments.

pub mod best_placement;
mod chen;
mod command;
mod du;
mod html;
mod papers;
mod published;
mod report;
mod runs;
pub mod santana;
#[cfg(feature = "schemas")]
pub mod schemas;
mod sheet;
mod text;

pub use command::command;
pub use html::page;
pub use papers::{Part, reproduce};
pub use published::{Application, Table};
pub use report::{Agreement, AgreementTotal, CellReport, GainReport, Mean, Report, StatedReport};
pub use runs::Variant;
pub use text::summary;
