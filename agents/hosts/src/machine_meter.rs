//! What a node measures of its machine.

use bsp::units::{InstructionsPerSecond, Seconds};
use machines::time::seconds;
use machines::{Execution, HostMeter};
use protocol::BusyProcess;

use super::Machine;
use super::meter::thread_time;

impl HostMeter for Machine {
    fn offered(&self, factor: f64) -> InstructionsPerSecond {
        self.giving(self.processors, factor).offered()
    }

    fn counts(&self) -> bool {
        self.processor.counted.is_some()
    }

    fn is_a_host(&self) -> bool {
        Self::is_a_host(self)
    }

    fn load(&self, window: Seconds) -> f64 {
        match self.pace.played() {
            Some(played) => played.load(window),
            None => self.load.load(window),
        }
    }

    fn withheld(&self, window: Seconds) -> f64 {
        match self.pace.played() {
            Some(played) => played.withheld(window),
            None if Self::is_a_host(self) => self.load.withheld(window),
            None => self.load.load(window),
        }
    }

    fn busy_periods(&self, window: Seconds) -> u64 {
        match self.pace.played() {
            Some(played) => played.busy_periods(window),
            None if Self::is_a_host(self) => self.load.busy_periods(window),
            None => 0,
        }
    }

    fn ages(&self) -> Vec<Seconds> {
        match self.pace.played() {
            Some(played) => played.ages(),
            None if Self::is_a_host(self) => {
                let others = self.load.busy_others();
                others.iter().map(BusyProcess::age).collect()
            }
            None => Vec::new(),
        }
    }

    fn overhead(&self) -> Seconds {
        // The thread that carries messages is the one that calls this.
        seconds(thread_time())
    }

    fn oldest_execution(&self) -> Option<Execution> {
        self.executions.oldest()
    }
}
