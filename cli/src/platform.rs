//! `migbsp platform`: what a platform file describes.

mod flows;
mod show;

pub(crate) use flows::{FlowArguments, flows};
pub(crate) use show::{check, show};
