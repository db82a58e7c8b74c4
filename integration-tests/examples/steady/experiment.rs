//! An experiment, its platform and its background load, as text.

use std::fmt::Write as _;

/// A generated experiment.
#[derive(Debug)]
pub(crate) struct Experiment {
    pub(crate) name: String,
    pub(crate) sets: Vec<Set>,
    pub(crate) links: Vec<Link>,
    pub(crate) processes: u32,
    pub(crate) supersteps: u32,
    /// Millions of instructions of a superstep, by rank.
    pub(crate) instructions: Vec<f64>,
    /// Bytes of a message.
    pub(crate) bytes: f64,
    /// Kilobytes of a process.
    pub(crate) memory: f64,
    /// Lines of `[application.synthetic]`, and tables under it.
    pub(crate) pattern: String,
    /// `[application.synthetic.dynamics]`.
    pub(crate) dynamics: Option<Dynamics>,
    pub(crate) placement: Placement,
    /// The trace of the load of the hosts.
    pub(crate) load: Option<Trace>,
    /// Lines of `[scheduler]`, and tables under it.
    pub(crate) scheduler: String,
    pub(crate) seed: u64,
}

/// Hosts of the same kind.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) hosts: u32,
    pub(crate) cores: u32,
    /// Millions of instructions per second.
    pub(crate) speed: f64,
    /// Mbit/s of a host.
    pub(crate) bandwidth: f64,
    /// Microseconds.
    pub(crate) latency: f64,
}

/// A link between two Sets.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) between: (usize, usize),
    /// Mbit/s.
    pub(crate) bandwidth: f64,
    /// Microseconds.
    pub(crate) latency: f64,
}

/// A change of the load of processes.
#[derive(Debug)]
pub(crate) enum Dynamics {
    /// Some get slowly heavier.
    Drift { share: f64, factor: f64 },
    /// Each draws a factor between one less `jitter` and one more in every superstep.
    Noise { jitter: f64 },
}

/// The part of each host that other programs take, which repeats itself.
#[derive(Debug)]
pub(crate) struct Trace {
    /// Seconds of a step.
    pub(crate) step: f64,
    /// By host and step.
    pub(crate) taken: Vec<Vec<f64>>,
}

/// Where processes start.
#[derive(Debug)]
pub(crate) struct Placement {
    pub(crate) is_scattered: bool,
    pub(crate) per_host: u32,
}

impl Experiment {
    /// The experiment file, whose platform is the file `platform` and whose trace, if it has one, is the file `trace`.
    pub(crate) fn text(&self, platform: &str, trace: &str) -> String {
        let instructions: Vec<String> = self
            .instructions
            .iter()
            .map(|millions| format!("\"{} Minstr\"", millions.round().max(1.0)))
            .collect();
        let (name, processes, supersteps) = (&self.name, self.processes, self.supersteps);
        let instructions = instructions.join(", ");
        let (bytes, memory) = (self.bytes.round(), self.memory.round());
        let pattern = &self.pattern;
        let dynamics = self
            .dynamics
            .as_ref()
            .map_or_else(String::new, Dynamics::text);
        let load = self.load.as_ref().map_or_else(String::new, |load| {
            let period = load.period();
            format!("\n[load]\nkind = \"trace\"\nfile = \"{trace}\"\nperiod = {period:.6}\n")
        });
        let order = if self.placement.is_scattered {
            "round-robin"
        } else {
            "fill"
        };
        let (per_host, seed, scheduler) = (self.placement.per_host, self.seed, &self.scheduler);
        format!(
            "# {name}, generated.\n\n[application]\nworkload = \"synthetic\"\nprocesses = {processes}\n\
             supersteps = {supersteps}\n\n[application.synthetic]\ninstructions = [{instructions}]\n\
             bytes = [\"{bytes} B\"]\nmemory = \"{memory} kB\"\n{pattern}{dynamics}\n[platform]\n\
             file = \"{platform}\"\n\n[placement]\norder = \"{order}\"\nper_host = {per_host}\n{load}\n[scheduler]\n\
             interval = 4\n{scheduler}\n[run]\nseed = {seed}\n"
        )
    }

    /// The names of all hosts.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let sets = self.sets.iter().enumerate();
        sets.flat_map(|(number, set)| {
            let hosts = 1..=set.hosts;
            hosts.map(move |host| format!("{}-{host}", name(number)))
        })
        .collect()
    }

    /// The platform file.
    pub(crate) fn platform(&self) -> String {
        let mut text = format!("# The platform of {}, generated.\n", self.name);
        for (number, set) in self.sets.iter().enumerate() {
            let Set { hosts, cores, .. } = set;
            let (speed, bandwidth, latency) = (set.speed, set.bandwidth, set.latency);
            let name = name(number);
            append(
                &mut text,
                format_args!(
                    "\n[[set]]\nname = \"{name}\"\nhosts = {hosts}\ncores = {cores}\nspeed = \"{speed:.0} Mf\"\n\
                     link = {{ bandwidth = \"{bandwidth:.0} Mbps\", latency = \"{latency:.0} us\" }}\n"
                ),
            );
        }
        for link in &self.links {
            let (left, right) = (name(link.between.0), name(link.between.1));
            let (bandwidth, latency) = (link.bandwidth, link.latency);
            append(
                &mut text,
                format_args!(
                    "\n[[link]]\nname = \"{left}-{right}\"\nbetween = [\"{left}\", \"{right}\"]\n\
                     bandwidth = \"{bandwidth:.0} Mbps\"\nlatency = \"{latency:.0} us\"\nduplex = \"split\"\n"
                ),
            );
        }
        text
    }
}

impl Dynamics {
    fn text(&self) -> String {
        let values = match self {
            Self::Drift { share, factor } => format!(
                "kind = \"drift\"\nchoice = \"drawn\"\nshare = {share:.2}\nfactor = {factor:.2}\n"
            ),
            Self::Noise { jitter } => format!("kind = \"noise\"\njitter = {jitter:.2}\n"),
        };
        format!("\n[application.synthetic.dynamics]\n{values}")
    }
}

impl Trace {
    fn period(&self) -> f64 {
        let steps = self.taken.first().map_or(0, Vec::len);
        self.step * steps as f64
    }

    /// The trace file of the hosts that are called `names`.
    pub(crate) fn text(&self, names: &[String]) -> String {
        let mut text = "host,start,end,utilisation\n".to_owned();
        for (name, taken) in names.iter().zip(&self.taken) {
            for (number, taken) in taken.iter().enumerate() {
                let (start, end) = (self.step * number as f64, self.step * (number + 1) as f64);
                append(
                    &mut text,
                    format_args!("{name},{start:.6},{end:.6},{taken:.4}\n"),
                );
            }
        }
        text
    }
}

/// Name of a Set.
const fn name(number: usize) -> &'static str {
    ["north", "south", "west"][number]
}

fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("a string takes all that is written");
}
