//! LU decomposition on a square cyclic distribution.

mod cyclic;

pub use cyclic::{Cyclic, Error as CyclicError};
