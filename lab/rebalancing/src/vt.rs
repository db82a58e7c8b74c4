//! LB data of DARMA/vt, which LBAF reads as well: import as an instance, and export of what a plan moves.
//!
//! The format is that of `lb_data_holder.cc` and `scripts/LBDatafile_schema.py` of vt, and of `lbsVTDataReader.py` and
//! `lbsVTDataWriter.py` of LBAF. `lab/docs/rebalancing.md` states what of it is used.

mod dump;
mod export;
mod files;
mod import;
mod snapshot;
#[cfg(test)]
mod tests;

pub(super) use export::{PlanSource, export};
pub(super) use import::{ImportOptions, Imported, import};
