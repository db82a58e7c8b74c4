//! An experiment and its platform, as text.

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
    pub(crate) dynamics: Option<Drift>,
    pub(crate) placement: Placement,
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

/// A slow change of the load of some processes.
#[derive(Debug)]
pub(crate) struct Drift {
    pub(crate) share: f64,
    pub(crate) factor: f64,
}

/// Where processes start.
#[derive(Debug)]
pub(crate) struct Placement {
    pub(crate) is_scattered: bool,
    pub(crate) per_host: u32,
}

impl Experiment {
    /// The experiment file, whose platform is the file `platform`.
    pub(crate) fn text(&self, platform: &str) -> String {
        let instructions: Vec<String> = self
            .instructions
            .iter()
            .map(|millions| format!("\"{} Minstr\"", millions.round().max(1.0)))
            .collect();
        let (name, processes, supersteps) = (&self.name, self.processes, self.supersteps);
        let instructions = instructions.join(", ");
        let (bytes, memory) = (self.bytes.round(), self.memory.round());
        let pattern = &self.pattern;
        let dynamics = self.dynamics.as_ref().map_or_else(String::new, |drift| {
            let Drift { share, factor } = drift;
            format!(
                "\n[application.synthetic.dynamics]\nkind = \"drift\"\nchoice = \"drawn\"\nshare = {share:.2}\n\
                 factor = {factor:.2}\n"
            )
        });
        let order = if self.placement.is_scattered {
            "round-robin"
        } else {
            "fill"
        };
        let (per_host, seed) = (self.placement.per_host, self.seed);
        format!(
            "# {name}, generated.\n\n[application]\nworkload = \"synthetic\"\nprocesses = {processes}\n\
             supersteps = {supersteps}\n\n[application.synthetic]\ninstructions = [{instructions}]\n\
             bytes = [\"{bytes} B\"]\nmemory = \"{memory} kB\"\n{pattern}{dynamics}\n[platform]\n\
             file = \"{platform}\"\n\n[placement]\norder = \"{order}\"\nper_host = {per_host}\n\n[scheduler]\n\
             interval = 4\n\n[run]\nseed = {seed}\n"
        )
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

/// Name of a Set.
const fn name(number: usize) -> &'static str {
    ["north", "south", "west"][number]
}

fn append(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments)
        .expect("a string takes all that is written");
}
