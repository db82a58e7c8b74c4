//! Rebalancing, checked by what it claims.
//!
//! | file | law |
//! |---|---|
//! | `methods` | the published methods find what the paper says that they find |
//! | `best` | the best method is the best, and costs are above the bound |
//! | `prices` | prices over many orders of magnitude mislead neither the best nor refinement |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod best;
mod checked;
mod methods;
mod prices;
mod reference;
