//! Where two computations differ first.

use super::encoding::encode;
use super::error::{Error, Subject};
use crate::ids::Rank;
use crate::program::Program;
use crate::reference::Computation;
use crate::superstep::Inbox;

/// The lowest rank whose state differs, or that only one of them has.
pub(super) fn differing_state<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Result<Option<Rank>, Error> {
    let states = |computation: &Computation<P>, index: usize| {
        let rank = Rank::from_index(index);
        let process = computation.processes.get(index);
        encode(&process, rank, Subject::State, superstep)
    };
    for index in 0..one.processes.len().max(other.processes.len()) {
        if states(one, index)? != states(other, index)? {
            return Ok(Some(Rank::from_index(index)));
        }
    }
    Ok(None)
}

/// The lowest rank whose output differs, or that only one of them has.
pub(super) fn differing_output<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Result<Option<Rank>, Error> {
    for (index, (one, other)) in one.outputs.iter().zip(&other.outputs).enumerate() {
        let rank = Rank::from_index(index);
        let [one, other] =
            [one, other].map(|output| encode(output, rank, Subject::Output, superstep));
        if one? != other? {
            return Ok(Some(rank));
        }
    }
    Ok(None)
}

/// The sender of the first message that differs, by the rank of its receiver.
pub(super) fn differing_sender<P: Program>(
    one: &Computation<P>,
    other: &Computation<P>,
    superstep: u64,
) -> Result<Option<Rank>, Error> {
    for (one, other) in one.inboxes.iter().zip(&other.inboxes) {
        let sized = first_difference(&one.sized, &other.sized);
        if let Some((rank, _)) = sized {
            return Ok(Some(*rank));
        }
        let [one, other] = [one, other].map(|inbox| encoded::<P>(inbox, superstep));
        if let Some((rank, _)) = first_difference(&one?, &other?) {
            return Ok(Some(*rank));
        }
    }
    Ok(None)
}

fn encoded<P: Program>(
    inbox: &Inbox<P::Message>,
    superstep: u64,
) -> Result<Vec<(Rank, Vec<u8>)>, Error> {
    let messages = inbox.messages.iter();
    messages
        .map(|(from, message)| Ok((*from, encode(message, *from, Subject::Message, superstep)?)))
        .collect()
}

/// The first element that is not the same in both, in the list that has it.
fn first_difference<'a, T: PartialEq>(one: &'a [T], other: &'a [T]) -> Option<&'a T> {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    one.get(same).or_else(|| other.get(same))
}
