//! Which builds may take part in a job.

use protocol::Build;

use super::failure::JobError;

/// The build of this end, and whether the other ends of a job may run others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Builds {
    /// The build of this end.
    pub own: Build,
    /// Whether other ends may run other builds: machines of different kinds need different binaries.
    pub are_mixed_allowed: bool,
}

impl Builds {
    /// All ends run `own`.
    #[must_use]
    pub const fn same_as(own: Build) -> Self {
        Self {
            own,
            are_mixed_allowed: false,
        }
    }

    /// Whether an end that runs `other` may take part.
    pub(crate) fn allows(&self, other: &Build) -> bool {
        self.are_mixed_allowed || self.own == *other
    }

    /// Checks that `other` may take part, which runs a build; `own` is the name of this end.
    pub(crate) fn check(&self, own: &str, (other, build): (&str, &Build)) -> Result<(), JobError> {
        if self.allows(build) {
            return Ok(());
        }
        Err(mismatch(
            (own, &self.own),
            (&format!("{other} runs"), build),
        ))
    }
}

/// The error about an end, which may be several, that runs another build than `own`.
pub(crate) fn mismatch(
    (own, own_build): (&str, &Build),
    (others, build): (&str, &Build),
) -> JobError {
    let remedy = if own_build.program() == build.program() {
        "install one build on all hosts"
    } else {
        "start the nodes from the program of the client"
    };
    JobError::build(format!(
        "{others} {build}, {own} runs {own_build}: {remedy}, or start nodes and client with --allow-mixed-builds if \
         their machines are of different kinds"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(program: &str, digest: u8) -> Build {
        Build::new(program, "0.1.0", [digest; Build::DIGEST_LEN]).unwrap()
    }

    #[test]
    fn another_build_is_refused_by_name_unless_it_is_allowed() {
        let mut builds = Builds::same_as(build("life", 1));
        let check = |builds: &Builds, other: &Build| {
            let checked = builds.check("node-1", ("client laptop", other));
            checked.map_err(|error| error.message)
        };
        assert_eq!(check(&builds, &build("life", 1)), Ok(()));
        assert_eq!(
            check(&builds, &build("life", 2)).unwrap_err(),
            "client laptop runs life 0.1.0 (build 020202020202), node-1 runs life 0.1.0 (build 010101010101): \
             install one build on all hosts, or start nodes and client with --allow-mixed-builds if their machines \
             are of different kinds"
        );
        let other_program = check(&builds, &build("ring", 1)).unwrap_err();
        let remedy = "start the nodes from the program of the client";
        assert!(other_program.contains(remedy), "{other_program}");
        builds.are_mixed_allowed = true;
        assert_eq!(check(&builds, &build("life", 2)), Ok(()));
    }
}
