//! Files, the names by which one uses another, and the circles among them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Which names each file uses of each other file.
#[derive(Debug, Default)]
pub(super) struct Graph {
    arrows: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Graph {
    /// Records that `from` uses `name`, which `to` defines.
    pub(super) fn add(&mut self, from: &str, to: &str, name: &str) {
        if from != to {
            let names = self.arrows.entry(from.to_owned()).or_default();
            let names = names.entry(to.to_owned()).or_default();
            names.insert(name.to_owned());
        }
    }

    /// Every arrow as `from -> to: names`.
    pub(super) fn arrows(&self) -> Vec<String> {
        let of = |(from, targets): (&String, &BTreeMap<String, BTreeSet<String>>)| {
            let line = |to: &String| format!("{from} -> {}", self.labelled(from, to));
            targets.keys().map(line).collect::<Vec<_>>()
        };
        self.arrows.iter().flat_map(of).collect()
    }

    /// Circles such that the graph has none once an arrow of each is removed, as text. Short ones come first.
    pub(super) fn circles(mut self) -> Vec<String> {
        let mut found = Vec::new();
        while let Some(circle) = self.shortest_circle() {
            let mut text = circle[0].clone();
            let pairs: Vec<_> = circle.iter().zip(circle.iter().cycle().skip(1)).collect();
            for (from, to) in &pairs {
                text.push_str(&format!("\n    -> {}", self.labelled(from, to)));
            }
            found.push(text);
            let names = |(from, to): &&(&String, &String)| self.arrows[*from][*to].len();
            let (from, to) = *pairs.iter().min_by_key(names).unwrap();
            self.arrows.get_mut(from).unwrap().remove(to);
        }
        found
    }

    fn labelled(&self, from: &str, to: &str) -> String {
        let names: Vec<_> = self.arrows[from][to].iter().map(String::as_str).collect();
        format!("{to} ({})", names.join(", "))
    }

    fn shortest_circle(&self) -> Option<Vec<String>> {
        let circles = self.arrows.keys().filter_map(|file| self.circle_of(file));
        circles.min_by_key(Vec::len)
    }

    /// The shortest way from `start` back to it, without the return.
    fn circle_of<'a>(&'a self, start: &'a str) -> Option<Vec<String>> {
        let mut came_from = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(file) = queue.pop_front() {
            for next in self.arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
                if next == start {
                    let mut circle = vec![file.to_owned()];
                    let mut last = file;
                    while last != start {
                        last = came_from[last];
                        circle.push(last.to_owned());
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(next.as_str()) {
                    came_from.insert(next.as_str(), file);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}
