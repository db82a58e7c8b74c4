//! The rate of one stream of the transport between two processes that neither compute nor use the bytes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bsp::{HostId, Rank};
use bytes::Bytes;
use protocol::identity::{Authority, Role};
use protocol::transport::{Bounds, Endpoint, JobId, PeerPolicy};
use protocol::{Address, EncodedState};

use crate::cluster::{build, child, end, identity_from_stdin, say_where, validity};

/// Seconds that a state of `bytes` bytes takes, `times` times.
pub(crate) fn measure(bytes: usize, times: usize) -> anyhow::Result<Vec<f64>> {
    let authority = Authority::generate("stream".parse()?, validity(7200)?)?;
    let sink = authority.issue(Role::Node, &"sink".parse()?, validity(3600)?)?;
    let own = authority.issue(Role::Node, &"source".parse()?, validity(3600)?)?;
    let (sink, address) = child("--sink", &sink, None)?;
    let took = runtime()?.block_on(async {
        let endpoint = Endpoint::bind(
            own,
            anywhere(),
            PeerPolicy::RefuseAll,
            Bounds::default(),
            build()?,
        )?;
        endpoint.begin(job()?, 0);
        let address: SocketAddr = address.parse()?;
        let peer = endpoint
            .connect(address, Role::Node, &"sink".parse()?)
            .await?;
        let payload = Bytes::from(vec![3; bytes]);
        let mut took = Vec::new();
        for _ in 0..times {
            let state = EncodedState {
                rank: Rank(0),
                epoch: 0,
                agent: 0,
                declared: None,
                payload: payload.clone(),
            };
            let ends = [0, 1].map(|host| Address::Node(HostId(host)));
            let began = Instant::now();
            peer.sender.send_state(ends[0], ends[1], state).await?;
            took.push(began.elapsed().as_secs_f64());
        }
        anyhow::Ok(took)
    });
    end(&mut [sink]);
    took
}

/// Takes states and forgets them.
pub(crate) fn sink() -> anyhow::Result<()> {
    let own = identity_from_stdin()?;
    crate::cluster::end_with_stdin();
    runtime()?.block_on(async {
        let policy = PeerPolicy::Roles([Role::Node].into());
        let endpoint = Arc::new(Endpoint::bind(
            own,
            anywhere(),
            policy,
            Bounds::default(),
            build()?,
        )?);
        endpoint.begin(job()?, 0);
        say_where(endpoint.address()?);
        while let Some(mut peer) = endpoint.accept().await {
            while peer.states.receive().await.is_ok() {}
        }
        Ok(())
    })
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    Ok(builder.enable_all().build()?)
}

fn anywhere() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn job() -> anyhow::Result<JobId> {
    Ok(JobId(1.try_into()?))
}
