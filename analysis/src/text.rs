//! Numbers and tables as text for people.

mod layout;
mod number;
mod quantity;
mod time_unit;

pub use layout::Layout;
pub use number::{counted, rounded, significant};
pub use quantity::{age, data, duration, transferred};
pub use time_unit::TimeUnit;
