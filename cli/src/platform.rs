//! `migbsp platform`: descriptions of platforms.

mod flows;
mod host;
mod load;
mod show;

pub(crate) use flows::{FlowArguments, flows};
pub(crate) use host::find_host;
pub(crate) use load::{load, parse};
pub(crate) use show::{check, show};
