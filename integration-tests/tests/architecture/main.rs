//! What the repository forbids: dependencies between crates that lead upwards, outside dependencies without their owner
//! or with a license that is not allowed, and state machines that act.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod dependencies;
mod floors;
mod machines;

use std::path::Path;

use toml::Table;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The folders of the workspace's crates, in the order of the manifest.
fn members() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: Table = text.parse().unwrap();
    let members = manifest["workspace"]["members"].as_array().unwrap();
    let name = |member: &toml::Value| member.as_str().unwrap().to_owned();
    members.iter().map(name).collect()
}
