//! The Sets, what moved between them, and what their links carry.

use bsp::SetId;
use bsp::numbers::position;

use crate::chart::{Arrow, Network, NetworkLink, NetworkNode};
use crate::document::Table;
use crate::pictures::{Picture, SetColours};
use crate::run::{Flow, RunModel};
use crate::text::{counted, data, maybe};

/// The Sets as nodes, moves between them as arrows; `None` if the record does not say which hosts a Set has, or there is
/// only one.
pub(crate) fn sets(model: &RunModel) -> Option<Picture> {
    if model.sets.len() < 2
        || model
            .placement
            .start()
            .iter()
            .any(|host| model.sets.of(*host).is_none())
    {
        return None;
    }
    let flows = model.sets.flows(&model.placement);
    let [start, end] =
        [model.placement.start(), model.placement.now()].map(|hosts| model.sets.counts(hosts));
    let shown = shown(model, &flows, &start);
    let most = end.iter().copied().max().unwrap_or(1).max(1);
    let colours = SetColours::new(model);
    let number = |count: u64| position(count);
    let nodes = shown.iter().map(|set| {
        let (start, end) = (start[set.index()], end[set.index()]);
        NetworkNode {
            name: model.sets.name(*set).to_owned(),
            note: if start == end {
                counted(number(end), "process")
            } else {
                format!("{start} → {}", counted(number(end), "process"))
            },
            size: end as f64 / most as f64,
            colour: colours.of(Some(*set)),
        }
    });
    let between = flows.iter().filter(|flow| flow.from != flow.to);
    let widest = between.clone().map(|flow| flow.moves).max().unwrap_or(1);
    let arrows = between.filter_map(|flow| {
        Some(Arrow {
            from: shown.binary_search(&flow.from).ok()?,
            to: shown.binary_search(&flow.to).ok()?,
            label: counted(number(flow.moves), "move"),
            width: flow.moves as f64 / widest as f64,
        })
    });
    let arrows: Vec<Arrow> = arrows.collect();
    let network = Network {
        title: format!("Moves between Sets, scenario {}", model.run.scenario),
        note: note(shown.len(), model),
        description: description(model, &flows),
        nodes: nodes.collect(),
        links: links(model, &shown, &arrows),
        arrows,
    };
    Some(Picture {
        svg: network.svg(),
        table: table(model, &flows),
    })
}

/// The Sets that are shown: all, or those that had processes, if there are many.
fn shown(model: &RunModel, flows: &[Flow], start: &[u64]) -> Vec<SetId> {
    let is_used = |set: &SetId| {
        let mut flows = flows.iter();
        0 < start[set.index()] || flows.any(|flow| flow.from == *set || flow.to == *set)
    };
    let all = model.sets.ids();
    if model.sets.len() <= SETS {
        return all.collect();
    }
    all.filter(is_used).take(MOST).collect()
}

fn note(shown: usize, model: &RunModel) -> String {
    let mut note =
        "Arrows: moves, in the colour of their target. Numbers at lines: bytes a second, as the last call knew them."
            .to_owned();
    if shown < model.sets.len() {
        note.push_str(&format!(" {shown} of {} Sets are shown.", model.sets.len()));
    }
    note
}

fn description(model: &RunModel, flows: &[Flow]) -> String {
    let mut text = "Nodes are Sets, arrows are moves between them.".to_owned();
    for flow in flows {
        let (from, to) = (model.sets.name(flow.from), model.sets.name(flow.to));
        let moves = counted(position(flow.moves), "move");
        text.push_str(&if flow.from == flow.to {
            format!(" {moves} within {from}.")
        } else {
            format!(" {moves} from {from} to {to}.")
        });
    }
    if flows.is_empty() {
        text.push_str(" No process moved.");
    }
    text
}

/// The links whose rates are known: all if there are few Sets, else those over which processes moved.
fn links(model: &RunModel, shown: &[SetId], arrows: &[Arrow]) -> Vec<NetworkLink> {
    let mut links = Vec::new();
    for (one, from) in shown.iter().enumerate() {
        for (other, to) in shown.iter().enumerate().skip(one + 1) {
            let joins = |arrow: &Arrow| {
                (arrow.from, arrow.to) == (one, other) || (arrow.from, arrow.to) == (other, one)
            };
            if LABELLED < shown.len() && !arrows.iter().any(joins) {
                continue;
            }
            let rates = [(from, to), (to, from)].map(|(from, to)| model.sets.bandwidth(*from, *to));
            let label = match rates.map(|rate| rate.map(data)) {
                [Some(there), Some(back)] if there == back => format!("{there}/s"),
                [Some(there), Some(back)] => format!("{there}/s, back {back}/s"),
                [Some(rate), None] | [None, Some(rate)] => format!("{rate}/s"),
                [None, None] => continue,
            };
            links.push(NetworkLink {
                between: (one, other),
                label,
            });
        }
    }
    links
}

/// Pairs of Sets between which processes moved or whose rates are known.
fn table(model: &RunModel, flows: &[Flow]) -> Table {
    let sets = &model.sets;
    let pairs = sets
        .ids()
        .flat_map(|from| sets.ids().map(move |to| (from, to)));
    let rows = pairs.filter_map(|(from, to)| {
        let flow = flows.iter().find(|flow| (flow.from, flow.to) == (from, to));
        let rate = sets.bandwidth(from, to);
        let moves = flow.map_or(0, |flow| flow.moves);
        (flow.is_some() || rate.is_some()).then_some((from, to, moves, rate))
    });
    Table::of(
        rows.take(ROWS),
        &[
            ("from_set", &|(from, ..)| sets.name(*from).to_owned()),
            ("to_set", &|(_, to, ..)| sets.name(*to).to_owned()),
            ("moves", &|(.., moves, _)| moves.to_string()),
            ("bytes_per_second", &|(.., rate)| {
                maybe(*rate, |rate| rate.to_string())
            }),
        ],
    )
}

/// The most Sets that are shown if not all have processes.
const SETS: usize = 12;
/// The most Sets that are shown.
const MOST: usize = 40;
/// The most Sets of which all links are labelled.
const LABELLED: usize = 6;
/// The most rows of the table.
const ROWS: usize = 5_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::run;

    #[test]
    fn moves_between_sets_are_counted_and_those_within_one_are_none() {
        let model = run(4, 20, &[(4, 0, 3), (5, 1, 2), (6, 1, 3), (7, 3, 0)]);
        let picture = sets(&model).unwrap();
        let rows: Vec<String> = picture
            .table
            .rows()
            .iter()
            .map(|row| row.join(" "))
            .collect();
        assert_eq!(rows, ["one other 2 ", "other one 1 ", "other other 1 "]);
        assert_eq!(
            picture.svg.matches("<polygon").count(),
            2,
            "{}",
            picture.svg
        );
        for text in ["2 → 1 process", "2 → 3 processes", "1 move within other."] {
            assert!(picture.svg.contains(text), "{text}: {}", picture.svg);
        }
    }
}
