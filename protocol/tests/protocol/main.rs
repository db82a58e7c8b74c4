//! Tests of the protocol from outside, in one binary.
//!
//! | module | what it asserts |
//! |---|---|
//! | `wire` | bytes and lengths of frames |
//! | `identity` | certificates, keys and lists of revocations |
//! | `transport` | connections between endpoints on the loopback interface |
//! | `fuzz` | random bytes are refused in bounded memory, without a panic |

#![cfg(test)]

mod fuzz;
mod identity;
mod transport;
mod wire;
