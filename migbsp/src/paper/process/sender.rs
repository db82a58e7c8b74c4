//! What a process has received from one Set.

use bsp::SetId;
use bsp::units::Bytes;
use serde::{Deserialize, Serialize};

use crate::paper::observation::Reception;
use crate::paper::process::aging::{Aging, is_close};
use crate::{BytesSuperstep, Config};

/// What is known of the processes of one Set as senders.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sender {
    pub(super) set: SetId,
    pub(super) bytes_last: Bytes,
    pub(super) bytes_predicted: f64,
    pub(super) time_predicted: f64,
    pub(super) pattern: f64,
}

impl Sender {
    /// A Set that never sent anything.
    pub(super) const fn silent(set: SetId) -> Self {
        Self {
            set,
            bytes_last: Bytes::ZERO,
            bytes_predicted: 0.0,
            time_predicted: 0.0,
            pattern: 1.0,
        }
    }

    pub(super) fn observe(&mut self, aging: Aging, config: &Config, bytes: Bytes, time: f64) {
        let parameters = config.parameters();
        self.bytes_last = bytes;
        self.bytes_predicted = aging.aged(self.bytes_predicted, bytes.as_f64());
        self.time_predicted = aging.aged(self.time_predicted, time);
        let regular = match parameters.bytes_superstep {
            BytesSuperstep::Current => {
                is_close(self.bytes_predicted, bytes.as_f64(), parameters.beta)
            }
            BytesSuperstep::First => true,
        };
        self.pattern = aging.pattern(self.pattern, regular);
    }
}

pub(super) fn sum_from(set: SetId, receptions: &[Reception]) -> (Bytes, f64) {
    receptions
        .iter()
        .filter(|reception| reception.set == set)
        .fold((Bytes::ZERO, 0.0), |(bytes, time), reception| {
            (bytes + reception.bytes, time + reception.time.get())
        })
}
