//! Rebalancing, checked by what it claims.
//!
//! | file | law |
//! |---|---|
//! | `methods` | the published methods find what the paper says that they find |
//! | `exchange` | minding what processes exchange makes the slowest machine faster |
//! | `limits` | pins, memory and communication are kept by every method, and minded by the best |
//! | `mending` | a start within the limits of memory is the cheapest, and every method begins there |
//! | `best` | the best method is the best, and costs are above the bound |
//! | `prices` | prices over many orders of magnitude mislead neither the best nor refinement |

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

/// The size of a test: with `--features long-tests`, and without.
const fn size<T: Copy>(long: T, short: T) -> T {
    if cfg!(feature = "long-tests") {
        long
    } else {
        short
    }
}

mod best;
mod checked;
mod exchange;
mod limits;
mod mending;
mod methods;
mod prices;
mod reference;
