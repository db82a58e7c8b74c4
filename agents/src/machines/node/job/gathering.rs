//! What a node gathers before a job begins: connections to the other nodes, and the processes that start here.

use std::collections::BTreeSet;
use std::sync::Arc;

use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use protocol::ProcessImage;
use protocol::transport::SpeakingRights;

use super::{Gathered, Job, Phase};
use crate::machines::failure::JobError;
use crate::machines::members::role_of;
use crate::machines::node::action::{JobAction, NodeAction};
use crate::machines::node::event::NewPeer;
use crate::machines::starting_process::StateDecoder;

impl Job {
    /// Adds the connection to another node of the job, in its role. A peer that has no part in the job is refused, and the
    /// job goes on.
    ///
    /// # Errors
    ///
    /// If the node runs another build.
    pub(in crate::machines::node) fn admit(&mut self, peer: &NewPeer) -> Result<(), JobError> {
        let members = &self.submit.members;
        let name = peer.info.subject.name.as_str();
        let place = members.iter().position(|member| member.name == name);
        let (own, rules) = (self.submit.host, &self.rules);
        let host = place.map(HostId::from_index);
        let new = match &mut self.phase {
            Phase::Gathering(gathered) => host.filter(|host| {
                *host != own
                    && role_of(rules, *host) == peer.info.subject.role
                    && !gathered.peers.contains_key(host)
            }),
            Phase::Decoding(_) | Phase::Running(_) => None,
        };
        let (Some(host), Phase::Gathering(gathered)) = (new, &mut self.phase) else {
            self.actions
                .push_back(NodeAction::RefusePeer(peer.connection));
            return Ok(());
        };
        let own = &members[own.index()].name;
        self.builds.check(own, (name, &peer.build))?;
        let managers = rules.managers.iter().enumerate();
        let managed = managers.filter(|(_, manager)| **manager == host);
        let rights = SpeakingRights {
            hosts: BTreeSet::from([host]),
            sets: managed.map(|(set, _)| SetId::from_index(set)).collect(),
        };
        gathered.peers.insert(host, Arc::clone(&peer.info));
        let admit = JobAction::Admit(peer.connection, host, rights);
        self.actions.push_back(admit.into());
        self.decode_if_complete();
        Ok(())
    }

    /// Adds the state of a process that starts here.
    pub(super) fn add_state(&mut self, state: ProcessImage) -> Result<(), JobError> {
        let rank = state.rank;
        let is_here = self.rules.placement.get(rank.index()) == Some(&self.submit.host);
        match &mut self.phase {
            Phase::Gathering(gathered) if is_here && !gathered.states.contains_key(&rank) => {
                gathered.states.insert(rank, state.payload);
                self.decode_if_complete();
                Ok(())
            }
            Phase::Gathering(_) => Err(JobError::cluster(format!("{rank} does not start here"))),
            Phase::Decoding(_) | Phase::Running(_) => {
                Err(JobError::cluster("a state arrived at the wrong time"))
            }
        }
    }

    /// Connects to the nodes after this one in the list; those before it connect to this one.
    pub(super) fn connect_to_others(&mut self) {
        let own = self.submit.host.index();
        for (index, member) in self.submit.members.iter().enumerate().skip(own + 1) {
            let role = role_of(&self.rules, HostId::from_index(index));
            let connect = JobAction::Connect(Box::new(member.clone()), role);
            self.actions.push_back(connect.into());
        }
    }

    pub(super) fn are_all_here(&self, gathered: &Gathered) -> bool {
        gathered.peers.len() + 1 == self.submit.members.len()
    }

    /// Decodes the states once the client has ordered the nodes to connect, and they and all states are here.
    pub(super) fn decode_if_complete(&mut self) {
        let Phase::Gathering(gathered) = &self.phase else {
            return;
        };
        let own = self.submit.host;
        let residents = self.rules.placement.iter();
        let residents = residents.filter(|host| **host == own).count();
        let is_complete = gathered.limit.is_some()
            && self.are_all_here(gathered)
            && gathered.states.len() == residents;
        if !is_complete {
            return;
        }
        let Phase::Gathering(gathered) = &mut self.phase else {
            return;
        };
        let mut gathered = std::mem::take(gathered);
        let mut states = std::mem::take(&mut gathered.states);
        let resumed = self.rules.resumed.as_ref();
        if let Some(resumed) = resumed {
            let has_halted = |rank: &Rank, _: &mut Bytes| resumed.has_halted(*rank);
            gathered.outputs = states.extract_if(.., has_halted).collect();
        }
        self.phase = Phase::Decoding(gathered);
        let decoder = StateDecoder {
            program_type: self.prepared.program_type,
            are_saved: resumed.is_some(),
            are_forked: self.prepared.setup.checkpointing.is_some(),
        };
        let decode = JobAction::DecodeStates(decoder, states.into_iter().collect());
        self.actions.push_back(decode.into());
    }
}
