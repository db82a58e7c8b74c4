//! The check of the nodes' builds, before a job is submitted.

use bsp::HostId;
use protocol::{Build, Status};

use super::request::Request;
use crate::builds::mismatch;
use crate::failure::JobError;

/// Nodes whose build the client does not allow.
pub(super) struct Mismatch<'a> {
    request: &'a Request,
    /// The first of them.
    pub(super) host: HostId,
    build: &'a Build,
    /// All nodes that run the same build.
    run: String,
    are_several: bool,
}

impl<'a> Mismatch<'a> {
    /// The first build of `builds`, those of the nodes by host, that the client of `request` does not allow, and the nodes
    /// that run it.
    pub(super) fn first(request: &'a Request, builds: &'a [Build]) -> Option<Self> {
        let first = builds
            .iter()
            .position(|build| !request.builds.allows(build))?;
        let build = &builds[first];
        let all = request.members.iter().zip(builds);
        let names: Vec<&str> = all
            .filter(|(_, other)| *other == build)
            .map(|(member, _)| member.name.as_str())
            .collect();
        let run = match &names[..] {
            [name] => format!("node {name} runs"),
            names => format!("nodes {} run", names.join(", ")),
        };
        Some(Self {
            request,
            host: HostId::from_index(first),
            build,
            run,
            are_several: 1 < names.len(),
        })
    }

    /// Whether a node of another program runs there: it says which workloads it has.
    pub(super) fn is_other_program(&self) -> bool {
        self.build.program() != self.request.builds.own.program()
    }

    /// The error, with the answer of the node if it has been asked.
    pub(super) fn error(&self, status: Option<&Status>) -> JobError {
        let (own, workload) = (&self.request.builds.own, &self.request.workload);
        let (run, build) = (&self.run, self.build);
        if status.is_some_and(|status| !status.workloads.contains(workload)) {
            let have = if self.are_several { "have" } else { "has" };
            return JobError::build(format!(
                "{run} {build} and {have} no workload `{workload}`: start `{} node` there",
                own.program()
            ));
        }
        // Without an answer, the general error names both builds.
        mismatch(("this client", own), (run, build))
    }
}
