//! Valid messages of every type, with fields drawn at random.

use bsp::{HostId, Rank, SetId};
use protocol::{Address, AgentMessage, CallMessage, JobMessage, NodeMessage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// A frame without its stamp.
pub(super) struct HostileFrame {
    pub(super) kind: u16,
    pub(super) head: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

/// Numbers from a seed (splitmix64).
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(count.max(1)).unwrap()).unwrap()
    }

    pub(super) fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn address(&mut self) -> Address {
        let index = self.of(&[0, 0, 0, 1, 1, 2, 7, u32::MAX]);
        match self.below(7) {
            0 | 1 => Address::Process(Rank(index)),
            2 | 3 => Address::Node(HostId(index)),
            4 | 5 => Address::SetManager(SetId(index)),
            _ => Address::Client,
        }
    }

    /// A frame with a message of any type.
    pub(super) fn frame(&mut self) -> HostileFrame {
        let kind = self.of(&[0, 0, 1, 1, 2, 2, 3]);
        let types = [&AGENTS[..], &CALLS, &NODES, &JOBS][usize::from(kind)];
        loop {
            let mut value: Value = serde_json::from_str(self.of(types)).unwrap();
            for _ in 0..self.below(3) {
                let mut at = self.below(10);
                change_at(&mut value, &mut at, self);
            }
            let ends = (self.address(), self.address());
            let head = match kind {
                0 => head::<AgentMessage>(ends, value),
                1 => head::<CallMessage>(ends, value),
                2 => head::<NodeMessage>(ends, value),
                _ => head::<JobMessage>(ends, value),
            };
            let length = self.of(&[0, 0, 0, 3, 5, 300_000]);
            if let Some(head) = head {
                let payload = vec![7; length];
                return HostileFrame {
                    kind,
                    head,
                    payload,
                };
            }
        }
    }
}

/// The head of a message; `None` if `value` is none.
fn head<M: Serialize + DeserializeOwned>(
    (from, to): (Address, Address),
    value: Value,
) -> Option<Vec<u8>> {
    let message: M = serde_json::from_value(value).ok()?;
    Some(rmp_serde::to_vec(&(from, to, message)).unwrap())
}

/// Changes the number or list at position `at` in `value`; false if there are fewer.
fn change_at(value: &mut Value, at: &mut usize, draw: &mut Draw) -> bool {
    if matches!(value, Value::Number(_) | Value::Array(_)) {
        if *at == 0 {
            change(value, draw);
            return true;
        }
        *at -= 1;
    }
    match value {
        Value::Array(values) => values.iter_mut().any(|value| change_at(value, at, draw)),
        Value::Object(values) => values.values_mut().any(|value| change_at(value, at, draw)),
        _ => false,
    }
}

fn change(value: &mut Value, draw: &mut Draw) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let floats = [0.0, 1.0, -1.0, 1e60, -1e60, 1e308, 5e-324];
            *number = Number::from_f64(draw.of(&floats)).unwrap();
        }
        Value::Number(number) => {
            let integers = [0, 1, 2, 3, 9999, 10_000, u64::from(u32::MAX), u64::MAX];
            *number = draw.of(&integers).into();
        }
        Value::Array(values) => match draw.below(3) {
            0 => values.clear(),
            1 => drop(values.pop()),
            _ => values.extend(values.last().cloned()),
        },
        _ => {}
    }
}

const AGENTS: [&str; 14] = [
    r#"{"Start":{"superstep":0,"interval":null,"checkpoint":false}}"#,
    r#"{"Start":{"superstep":1,"interval":4,"checkpoint":true}}"#,
    r#""Finish""#,
    r#"{"Arrived":{"superstep":0,"processes":1,"halted":0,"sent":0,"received":0,"slowest":[0.5,0],"computation":500000000,"took":0.5,"checkpoint":false}}"#,
    r#"{"Confer":{"superstep":0}}"#,
    r#"{"Measure":{"superstep":0}}"#,
    r#"{"Evaluate":{"superstep":0,"sets":[{"capacity":1e9,"processes":1,"processors":1,"transfer_rate":1e-9}]}}"#,
    r#"{"Migrate":{"rank":1,"from":1,"to":0,"epoch":1,"deferred_cost":0.5}}"#,
    r#"{"State":{"rank":1,"epoch":1,"agent":3,"declared":null}}"#,
    r#"{"Installed":{"rank":0,"host":1,"epoch":1}}"#,
    r#"{"Installed":{"rank":0,"host":1,"epoch":1,"measured":{"bytes":1000,"took":0.5,"processing":0.25,"round_trip":0.1}}}"#,
    r#"{"Evaluate":{"superstep":0,"sets":[{"capacity":1e9,"processes":1,"processors":1,"transfer_rate":1e-9}],"learned":{"startup":0.5,"overlap":1.5,"processing":0.5}}}"#,
    r#"{"Halted":0}"#,
    r#"{"ProbeLink":{"superstep":0,"probe":{"from":0,"to":1,"budget":0.5}}}"#,
];

const CALLS: [&str; 15] = [
    r#"{"Measured":{"superstep":0,"host":0,"speed":1e9,"cores":1,"load":0.5,"load_recent":0.5}}"#,
    r#"{"Capacity":{"superstep":0,"set":0,"capacity":1e9,"processes":1,"processors":1}}"#,
    r#"{"Reports":{"superstep":0,"host":0,"reports":[]}}"#,
    r#"{"ReportsBefore":{"superstep":0,"host":0,"reports":[]}}"#,
    r#"{"Standing":{"superstep":0,"set":0,"interval":4,"tolerance":0.5,"entries":[{"rank":0,"own":0,"target":0,"potential":0.5,"receive_time":0.5}],"digests":[],"barrier_busy":[0.5],"inventory":null}}"#,
    r#"{"Ask":{"superstep":0,"from":0,"request":{"rank":0,"instructions":5,"bytes":5,"migration":0.5,"t2":0.5}}}"#,
    r#"{"Answered":{"superstep":0,"rank":0,"answer":{"offer":{"host":0,"t1":0.5,"runner_up":null}}}}"#,
    r#"{"Decided":{"superstep":0,"set":0,"considered":[]}}"#,
    r#"{"Measured":{"superstep":0,"host":0,"speed":1e9,"cores":1,"load":0.5,"load_recent":0.5,"links":[{"from":0,"to":1,"per_byte":1e-9}]}}"#,
    r#"{"Capacity":{"superstep":0,"set":0,"capacity":1e9,"processes":1,"processors":1,"learned":{"startup":0.5,"overlap":1.5,"processing":0.5,"steady":{"per_byte":0.5,"range":[0.5,1.5]}}}}"#,
    r#"{"Standing":{"superstep":0,"set":0,"interval":4,"tolerance":0.5,"entries":[],"digests":[],"barrier_busy":[],"inventory":null,"remaining":7}}"#,
    r#"{"Ask":{"superstep":0,"from":0,"request":{"rank":0,"instructions":5,"bytes":5,"migration":0.5,"t2":0.5,"per_byte":1e-9}}}"#,
    r#"{"Decided":{"superstep":0,"set":0,"considered":[],"probed":[{"from":0,"to":1,"per_byte":1e-9,"took":0.5}]}}"#,
    r#"{"LinkProbed":{"superstep":0,"link":{"from":0,"to":1,"per_byte":1e-9,"took":0.5}}}"#,
    r#"{"Planned":{"superstep":0,"moves":[{"step":{"rank":0,"from":0,"to":1},"cost":0.5,"before":0.5,"after":0.5}],"spacing":{"cost":0.5,"pause":1,"again":1,"took":0.5,"limit":0.5}}}"#,
];

const NODES: [&str; 11] = [
    r#"{"Batch":{"superstep":0,"sent":0.5,"is_last":true,"is_followed":true,"halted":[],"messages":[]}}"#,
    r#"{"Batch":{"superstep":0,"sent":0.5,"is_last":true,"is_followed":false,"halted":[0],"messages":[{"from":0,"to":1,"bytes":3,"is_sized":false}]}}"#,
    r#"{"BatchAcknowledged":0}"#,
    r#"{"Placed":{"epoch":1,"moves":[[0,1]]}}"#,
    r#"{"Probe":{"number":0,"is_back":false}}"#,
    r#"{"Probe":{"number":0,"is_back":true}}"#,
    r#"{"Checkpoint":[1,"Save"]}"#,
    r#"{"Checkpoint":[1,{"Pieces":{"count":1}}]}"#,
    r#"{"Checkpoint":[1,"Copied"]}"#,
    r#"{"Checkpoint":[1,{"Saved":{"ranks":[0],"stall":0.5,"encoding":0.5,"bytes":5,"sent":5,"file":null}}]}"#,
    r#"{"Checkpoint":[1,{"Complete":0.5}]}"#,
];

const JOBS: [&str; 12] = [
    r#"{"Submit":{"job":5,"host":0,"members":[{"name":"n0","address":"127.0.0.1:1","set":"s0","slots":1,"speed":1.0}],"experiment":"","processes":2,"checkpoint":null,"resumed":null}}"#,
    r#"{"Submit":{"job":5,"host":0,"members":[{"name":"n0","address":"127.0.0.1:1","set":"s0","slots":1,"speed":1.0}],"experiment":"","processes":2,"checkpoint":null,"resumed":{"incarnation":1,"superstep":3,"placement":[0,0],"halted":[null,2]}}}"#,
    r#"{"Accepted":{"counts":false}}"#,
    r#"{"Meet":{"counts":false}}"#,
    r#""Ready""#,
    r#""Begin""#,
    r#"{"Recorded":"{}\n"}"#,
    r#"{"Ended":{"seconds":0.5,"supersteps":1,"messages":1,"bytes":1,"moved":1}}"#,
    r#"{"Failed":{"fault":"Cluster","message":"no"}}"#,
    r#""Inquire""#,
    r#"{"Status":{"workloads":[],"abandoned":null,"up":0.5,"speed":1.0,"processors":1,"load":[0.5,0.5],"job":null,"jobs":0,"refused":0}}"#,
    r#"{"Status":{"workloads":[],"abandoned":null,"up":0.5,"speed":1.0,"processors":1,"load":[0.5,0.5],"job":null,"jobs":0,"refused":0,"others":[{"name":"x","pid":7,"age":0.5}]}}"#,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_message_is_sent() {
        let ends = (Address::Client, Address::Client);
        let parsed = |text: &&str| serde_json::from_str(text).unwrap();
        assert!(
            AGENTS
                .iter()
                .all(|text| head::<AgentMessage>(ends, parsed(text)).is_some())
        );
        assert!(
            CALLS
                .iter()
                .all(|text| head::<CallMessage>(ends, parsed(text)).is_some())
        );
        assert!(
            NODES
                .iter()
                .all(|text| head::<NodeMessage>(ends, parsed(text)).is_some())
        );
        assert!(
            JOBS.iter()
                .all(|text| head::<JobMessage>(ends, parsed(text)).is_some())
        );
    }
}
