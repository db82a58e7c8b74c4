//! `migbsp bench migration`: what moving a process costs on a cluster, and how well that is predicted.

mod report;
mod score;
mod text;
mod timeline;

pub use report::{KindReport, Report};
pub use score::{Scored, paper_error};
pub use timeline::Timeline;
