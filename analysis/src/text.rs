//! Numbers and tables as text for people.

mod layout;
mod number;
mod quantity;

pub use layout::Layout;
pub use number::{counted, rounded, significant};
pub use quantity::{age, data, duration, transferred};
