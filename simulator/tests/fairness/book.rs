//! A solver that is slow and obviously right: it works out all rates from nothing whenever a flow begins or ends.

use bsp::HostId;
use bsp::units::Bytes;
use simulator::{LinkId, NetworkModel, NetworkOptions, Platform, Sharing};

use crate::scenario::Message;

struct Flow {
    index: usize,
    begin: f64,
    left: f64,
    weight: f64,
    cap: f64,
    usage: Vec<(usize, f64)>,
    rate: f64,
}

/// Factors of latencies and bandwidths, and the size in the weight of a link.
fn factors(options: NetworkOptions) -> (f64, f64, f64) {
    match options.model {
        NetworkModel::Lv08 => (13.01, 0.97, 20537.0),
        NetworkModel::Ideal => (1.0, 1.0, 0.0),
    }
}

/// The flows of the messages, none of them begun.
fn book_flows(platform: &Platform, options: NetworkOptions, messages: &[Message]) -> Vec<Flow> {
    let (alpha, beta, size) = factors(options);
    let links = platform.links();
    let mut flows = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let (mut there, mut back) = (Vec::<LinkId>::new(), Vec::new());
        let (from, to) = (HostId(message.from), HostId(message.to));
        platform.route(from, to, &mut there).unwrap();
        platform.route(to, from, &mut back).unwrap();
        let mut usage = vec![0.0; links.len()];
        let (mut latency, mut weight) = (0.0, 0.0);
        for link in &there {
            let link = link.index();
            usage[link] += 1.0;
            latency += links[link].latency.get();
            weight += links[link].latency.get() + size / links[link].bandwidth.get();
        }
        if options.cross_traffic {
            back.iter().for_each(|link| usage[link.index()] += 0.05);
        }
        // Whatever it crosses, a flow without latency has the weight 1.
        let weight = if 0.0 < latency { weight } else { 1.0 };
        let mut cap = beta * options.tcp_window.as_f64() / (2.0 * latency);
        let mut shared = Vec::new();
        for (link, usage) in usage
            .into_iter()
            .enumerate()
            .filter(|(_, usage)| 0.0 < *usage)
        {
            if links[link].sharing == Sharing::FatPipe {
                cap = cap.min(beta * links[link].bandwidth.get());
            } else {
                shared.push((link, usage));
            }
        }
        flows.push(Flow {
            index,
            begin: message.start + alpha * latency,
            left: Bytes(message.bytes).as_f64(),
            weight,
            cap,
            usage: shared,
            rate: 0.0,
        });
    }
    flows
}

/// When each message ends, by the book.
pub(crate) fn by_book(
    platform: &Platform,
    options: NetworkOptions,
    messages: &[Message],
) -> Vec<f64> {
    let (_, beta, _) = factors(options);
    let links = platform.links();
    let mut flows = book_flows(platform, options, messages);
    let capacities: Vec<f64> = links
        .iter()
        .map(|link| beta * link.bandwidth.get())
        .collect();
    let mut ends = vec![f64::NAN; messages.len()];
    let mut now = 0.0;
    while !flows.is_empty() {
        let (mut live, waiting): (Vec<_>, Vec<_>) =
            flows.into_iter().partition(|flow| flow.begin <= now);
        fill(&mut live, &capacities);
        let end = live
            .iter()
            .map(|flow| now + flow.left / flow.rate)
            .fold(f64::INFINITY, f64::min);
        let next = waiting.iter().map(|flow| flow.begin).fold(end, f64::min);
        for flow in &mut live {
            flow.left -= flow.rate * (next - now);
            if flow.left <= flow.rate * next * 1e-13 {
                ends[flow.index] = next;
            }
        }
        live.retain(|flow| ends[flow.index].is_nan());
        now = next;
        flows = live.into_iter().chain(waiting).collect();
    }
    ends
}

/// Weighted max-min fair rates, one link or one flow at a time.
fn fill(flows: &mut [Flow], capacities: &[f64]) {
    let mut is_fixed = vec![false; flows.len()];
    while is_fixed.contains(&false) {
        let (mut taken, mut share) = (vec![0.0; capacities.len()], vec![0.0; capacities.len()]);
        for (flow, is_fixed) in flows.iter().zip(&is_fixed) {
            for (link, usage) in &flow.usage {
                if *is_fixed {
                    taken[*link] += usage * flow.rate;
                } else {
                    share[*link] += usage / flow.weight;
                }
            }
        }
        let mut least = (f64::INFINITY, None);
        for (link, capacity) in capacities.iter().enumerate() {
            let level = (capacity - taken[link]) / share[link];
            if 0.0 < share[link] && level < least.0 {
                least = (level, Some(link));
            }
        }
        let capped = (0..flows.len())
            .filter(|at| !is_fixed[*at])
            .min_by(|a, b| {
                let level = |at: &usize| flows[*at].cap * flows[*at].weight;
                level(a).total_cmp(&level(b))
            })
            .unwrap();
        if flows[capped].cap * flows[capped].weight <= least.0 {
            flows[capped].rate = flows[capped].cap;
            is_fixed[capped] = true;
            continue;
        }
        let link = least.1.unwrap();
        for (flow, is_fixed) in flows.iter_mut().zip(&mut is_fixed) {
            if !*is_fixed && flow.usage.iter().any(|(crossed, _)| *crossed == link) {
                flow.rate = least.0 / flow.weight;
                *is_fixed = true;
            }
        }
    }
    for (link, capacity) in capacities.iter().enumerate() {
        let load: f64 = flows
            .iter()
            .flat_map(|flow| {
                flow.usage
                    .iter()
                    .map(|(crossed, usage)| (*crossed, usage * flow.rate))
            })
            .filter(|(crossed, _)| *crossed == link)
            .map(|(_, load)| load)
            .sum();
        assert!(
            load <= capacity * (1.0 + 1e-9),
            "the book itself overloads a link"
        );
    }
}
