//! The check of the nodes' builds, before a job is submitted.

use protocol::transport::Peer;

use super::inquiry::ask;
use super::request::Request;
use crate::hosts::builds::mismatch;
use crate::hosts::failure::JobError;

/// Checks that the client of `request` allows the builds of all nodes. `peers` are the nodes, by host.
///
/// # Errors
///
/// Names the first build that is not allowed and the nodes that run it. A node of another program says which
/// workloads it has.
pub(super) async fn check_builds(request: &Request, peers: &mut [Peer]) -> Result<(), JobError> {
    let builds = &request.builds;
    let first = peers.iter().position(|peer| !builds.allows(&peer.build));
    let Some(first) = first else { return Ok(()) };
    let build = peers[first].build.clone();
    let all = request.members.iter().zip(peers.iter());
    let names: Vec<&str> = all
        .filter(|(_, peer)| peer.build == build)
        .map(|(member, _)| member.name.as_str())
        .collect();
    let run = match &names[..] {
        [name] => format!("node {name} runs"),
        names => format!("nodes {} run", names.join(", ")),
    };
    let (own, workload) = (&builds.own, &request.workload);
    if build.program() != own.program() {
        // Without an answer, the general error names both builds.
        let status = ask(&mut peers[first], &request.members[first].name).await;
        if status.is_ok_and(|status| !status.workloads.contains(workload)) {
            let have = if names.len() == 1 { "has" } else { "have" };
            return Err(JobError::build(format!(
                "{run} {build} and {have} no workload `{workload}`: start `{} node` there",
                own.program()
            )));
        }
    }
    Err(mismatch(("this client", own), (&run, &build)))
}
