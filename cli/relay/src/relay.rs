//! The relay: its sockets and tasks, and what changes its links while it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time;

use bsp::units::{Bytes, Instant};
use bsp::{HostId, SetId};
use rustix::net::sockopt;
use tokio::task::JoinSet;

use crate::link::{Counters, Datagram, Level, LinkSettings, SharedLink};
use crate::schedule::LevelSchedule;
use crate::timer::Timer;

/// Forwards datagrams between the nodes of different Sets, over links of limited rate.
///
/// It has one socket for each node, the node's *proxy*. A node of another Set sends to the proxy instead of the node,
/// and the relay sends it on from the proxy of the sender. So each node sees one address for each other node, in both
/// directions, whatever QUIC connections they open; their packets are forwarded as they are, encrypted. Datagrams from
/// other addresses than those of the nodes of other Sets are dropped.
///
/// What arrives at the proxy of `b` from the address of `a` enters the link of their Sets and leaves from the proxy of
/// `a`. So QUIC sees no migration of paths, and the certificates are those of the nodes.
#[derive(Debug)]
pub struct Relay {
    /// The proxies of the nodes, by host.
    proxies: Vec<UdpSocket>,
    addresses: Vec<SocketAddr>,
    sets: Vec<SetId>,
    controls: Controls,
}

/// Why a relay cannot forward.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The system refused a socket.
    #[error("a socket of the relay: {0}")]
    Socket(#[source] io::Error),
    /// The system refused a timer.
    #[error("a timer of the relay: {0}")]
    Timer(#[source] io::Error),
    /// A task of the relay ended.
    #[error("a task of the relay: {0}")]
    Task(#[source] tokio::task::JoinError),
}

/// The sockets of a relay that runs.
#[derive(Debug)]
struct Running {
    proxies: Vec<tokio::net::UdpSocket>,
    /// The addresses of the nodes, by host.
    nodes: Vec<SocketAddr>,
    hosts: BTreeMap<SocketAddr, HostId>,
    sets: Vec<SetId>,
    controls: Controls,
}

impl Relay {
    /// Binds the proxies of nodes on loopback. `sets` has the Set of each node, by host, and `settings` what the link in
    /// one direction between two Sets is like.
    ///
    /// # Errors
    ///
    /// If the system refuses a socket.
    pub fn bind(
        sets: &[SetId],
        settings: impl Fn(SetId, SetId) -> LinkSettings,
    ) -> Result<Self, RelayError> {
        let bind = |_: &SetId| -> io::Result<(UdpSocket, SocketAddr)> {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            socket.set_nonblocking(true)?;
            // The system may grant less. What does not fit is lost, as at the end of a cable.
            sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER)?;
            sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER)?;
            let address = socket.local_addr()?;
            Ok((socket, address))
        };
        let bound: io::Result<Vec<_>> = sets.iter().map(bind).collect();
        let (proxies, addresses) = bound.map_err(RelayError::Socket)?.into_iter().unzip();
        let distinct: BTreeSet<SetId> = sets.iter().copied().collect();
        let distinct: Vec<SetId> = distinct.into_iter().collect();
        Ok(Self {
            proxies,
            addresses,
            sets: sets.to_vec(),
            controls: Controls::new(&distinct, settings),
        })
    }

    /// Where nodes of other Sets reach `host`.
    ///
    /// # Panics
    ///
    /// If there is no such host.
    #[must_use]
    pub fn address(&self, host: HostId) -> SocketAddr {
        self.addresses[host.index()]
    }

    /// The hosts that `host` reaches through the relay, those of other Sets, and where.
    ///
    /// # Panics
    ///
    /// If there is no such host.
    pub fn routes(&self, host: HostId) -> impl Iterator<Item = (HostId, SocketAddr)> {
        let own = self.sets[host.index()];
        let all = self.sets.iter().zip(&self.addresses).enumerate();
        all.filter(move |(_, (set, _))| **set != own)
            .map(|(index, (_, address))| (HostId::from_index(index), *address))
    }

    /// What changes the links while the relay runs.
    #[must_use]
    pub fn controls(&self) -> Controls {
        self.controls.clone()
    }

    /// Forwards until it is dropped. `nodes` has the address of each node, by host; a socket that is bound to all
    /// addresses sends from another one, so it has to be bound to this address. The tokio runtime must have time and
    /// I/O enabled and should do nothing else.
    ///
    /// # Errors
    ///
    /// If the system refuses what forwarding needs.
    ///
    /// # Panics
    ///
    /// If there is not one address for each host.
    pub async fn run(self, nodes: Vec<SocketAddr>) -> Result<Infallible, RelayError> {
        assert_eq!(nodes.len(), self.sets.len(), "one address for each host");
        let proxies = self
            .proxies
            .into_iter()
            .map(tokio::net::UdpSocket::from_std);
        let proxies: io::Result<Vec<_>> = proxies.collect();
        let hosts = nodes.iter().enumerate();
        let running = Arc::new(Running {
            proxies: proxies.map_err(RelayError::Socket)?,
            hosts: hosts
                .map(|(index, address)| (*address, HostId::from_index(index)))
                .collect(),
            nodes,
            sets: self.sets,
            controls: self.controls,
        });
        let mut tasks = JoinSet::new();
        for index in 0..running.proxies.len() {
            let running = Arc::clone(&running);
            drop(tasks.spawn(async move { running.receive(HostId::from_index(index)).await }));
        }
        for pair in running.controls.pairs() {
            let timer = Timer::new().map_err(RelayError::Timer)?;
            let running = Arc::clone(&running);
            drop(tasks.spawn(async move { running.forward(pair, timer).await }));
        }
        match tasks.join_next().await {
            Some(Ok(ended)) => ended,
            Some(Err(error)) => Err(RelayError::Task(error)),
            None => std::future::pending().await,
        }
    }
}

impl Running {
    /// Offers what arrives at the proxy of `to` to the links.
    async fn receive(&self, to: HostId) -> Result<Infallible, RelayError> {
        let proxy = &self.proxies[to.index()];
        let mut buffer = vec![0; DATAGRAM_MAX];
        loop {
            proxy.readable().await.map_err(RelayError::Socket)?;
            for _ in 0..RECEIVED_AT_ONCE {
                match proxy.try_recv_from(&mut buffer) {
                    Ok((length, source)) => self.offer(source, to, &buffer[..length]),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if is_transient(&error) => {}
                    Err(error) => return Err(RelayError::Socket(error)),
                }
            }
            tokio::task::yield_now().await;
        }
    }

    fn offer(&self, source: SocketAddr, to: HostId, bytes: &[u8]) {
        let Some(from) = self.hosts.get(&source).copied() else {
            return;
        };
        let pair = (self.sets[from.index()], self.sets[to.index()]);
        // Nodes of the same Set have no link.
        let Some(link) = self.controls.link(pair.0, pair.1) else {
            return;
        };
        let length = u64::try_from(bytes.len()).expect("the length of a datagram fits 64 bits");
        let size = Bytes(length) + WIRE_OVERHEAD;
        let bytes = bytes.into();
        link.offer(self.controls.now(), size, Datagram { from, to, bytes });
    }

    /// Sends what arrives at the end of a link to its nodes.
    async fn forward(
        &self,
        (from, to): (SetId, SetId),
        mut timer: Timer,
    ) -> Result<Infallible, RelayError> {
        let link = self.controls.link(from, to);
        let link = link.expect("the Sets of a link of these controls");
        let mut arrived = Vec::new();
        loop {
            let next = link.arrived(self.controls.now(), &mut arrived);
            for datagram in arrived.drain(..) {
                self.send(&datagram).await?;
            }
            let next = next.and_then(|at| self.controls.moment(at));
            let due = async {
                match next {
                    Some(next) => timer.wait_until(next).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                ended = due => ended.map_err(RelayError::Timer)?,
                () = link.changed.notified() => {}
            }
        }
    }

    async fn send(&self, datagram: &Datagram) -> Result<(), RelayError> {
        let (proxy, node) = (
            &self.proxies[datagram.from.index()],
            self.nodes[datagram.to.index()],
        );
        match proxy.send_to(&datagram.bytes, node).await {
            Err(error) if !is_transient(&error) => Err(RelayError::Socket(error)),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Whether the error concerns one datagram, which is lost.
fn is_transient(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::Interrupted
            | io::ErrorKind::OutOfMemory
            | io::ErrorKind::WouldBlock
    )
}

/// What a datagram takes on a cable in addition to its contents: the headers of UDP, IPv4 and Ethernet, which `tbf`
/// counts too.
pub const WIRE_OVERHEAD: Bytes = Bytes(8 + 20 + 14);
/// The longest datagram of UDP.
const DATAGRAM_MAX: usize = 65_535;
/// Datagrams that a task receives before others have their turn.
const RECEIVED_AT_ONCE: usize = 64;
/// Bytes of a socket's buffers, as far as the system grants them.
const SOCKET_BUFFER: usize = 4 << 20;

/// Changes the links of a relay while it runs, and shows what they have done.
#[derive(Clone, Debug)]
pub struct Controls {
    links: Arc<BTreeMap<(SetId, SetId), SharedLink>>,
    began: time::Instant,
}

/// No link leads from one Set to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no link from {from:?} to {to:?}: must be two Sets of the relay")]
pub struct NoSuchLink {
    /// The Set of the sender.
    pub from: SetId,
    /// The Set of the receiver.
    pub to: SetId,
}

impl Controls {
    /// A link for each ordered pair of these Sets, with the settings of that pair.
    pub(crate) fn new(sets: &[SetId], settings: impl Fn(SetId, SetId) -> LinkSettings) -> Self {
        let pairs = sets
            .iter()
            .flat_map(|from| sets.iter().map(|to| (*from, *to)));
        let link = |(from, to)| ((from, to), SharedLink::new(settings(from, to)));
        Self {
            links: Arc::new(pairs.filter(|(from, to)| from != to).map(link).collect()),
            began: time::Instant::now(),
        }
    }

    /// Makes `level` of the rate available from now on, on the link in one direction between two Sets.
    ///
    /// # Errors
    ///
    /// If there is no such link.
    pub fn set_level(&self, from: SetId, to: SetId, level: Level) -> Result<(), NoSuchLink> {
        let link = self.link(from, to).ok_or(NoSuchLink { from, to })?;
        link.set_level(self.now(), level);
        Ok(())
    }

    /// Sets the levels of `schedule` on the link in one direction between two Sets, from now on, until this is dropped.
    ///
    /// # Errors
    ///
    /// If there is no such link.
    pub async fn follow(
        &self,
        (from, to): (SetId, SetId),
        schedule: &LevelSchedule,
    ) -> Result<Infallible, NoSuchLink> {
        let began = tokio::time::Instant::now();
        for change in schedule.changes() {
            let wait = time::Duration::try_from_secs_f64(change.at.get());
            match wait.ok().and_then(|wait| began.checked_add(wait)) {
                Some(at) => tokio::time::sleep_until(at).await,
                None => break,
            }
            self.set_level(from, to, change.level)?;
        }
        std::future::pending().await
    }

    /// What the link in one direction between two Sets has done.
    ///
    /// # Errors
    ///
    /// If there is no such link.
    pub fn counters(&self, from: SetId, to: SetId) -> Result<Counters, NoSuchLink> {
        let link = self.link(from, to).ok_or(NoSuchLink { from, to })?;
        Ok(link.counters())
    }

    pub(crate) fn link(&self, from: SetId, to: SetId) -> Option<&SharedLink> {
        self.links.get(&(from, to))
    }

    /// All links, by the Sets that they connect.
    fn pairs(&self) -> impl Iterator<Item = (SetId, SetId)> {
        self.links.keys().copied()
    }

    /// The time of the links.
    pub(crate) fn now(&self) -> Instant {
        let now = Instant::new(self.began.elapsed().as_secs_f64());
        now.expect("a time since a moment in the past is finite and not negative")
    }

    /// When it is `at` on the clock of the links.
    fn moment(&self, at: Instant) -> Option<time::Instant> {
        let after = time::Duration::try_from_secs_f64(at.get()).ok()?;
        self.began.checked_add(after)
    }
}
