use std::cell::Cell;
use std::io::Cursor;

use proptest::prelude::*;

use super::*;

fn graph(text: &str, vertices: u32) -> Graph<Cursor<&str>> {
    Graph::new(Cursor::new(text), vertices).unwrap()
}

/// A file that counts the bytes that are read.
struct Counted<'a> {
    file: Cursor<&'a [u8]>,
    bytes: &'a Cell<usize>,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.bytes.set(self.bytes.get() + count);
        Ok(count)
    }
}

impl Seek for Counted<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// One line of a file.
#[derive(Clone, Debug)]
enum Line {
    Edge(u32, u32),
    Other(&'static str),
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    let other = prop::sample::select(vec!["", "  ", "# 3 1", "#"]);
    let line = prop_oneof![
        3 => (0..VERTICES, 0..VERTICES).prop_map(|(from, to)| Line::Edge(from, to)),
        1 => other.prop_map(Line::Other),
    ];
    prop::collection::vec(line, 0..30)
}

/// The text of a file, and its edges.
fn written(lines: &[Line], end: &str, has_last_end: bool) -> (String, Vec<Edge>) {
    let mut edges = Vec::new();
    let line = |line: &Line| match *line {
        Line::Edge(from, to) => {
            edges.push(Edge { from, to });
            format!("{from} {to}")
        }
        Line::Other(text) => text.to_owned(),
    };
    let mut text = lines.iter().map(line).collect::<Vec<_>>().join(end);
    if has_last_end {
        text.push_str(end);
    }
    (text, edges)
}

const VERTICES: u32 = 12;

proptest! {
    #[test]
    fn parts_of_a_sorted_file_are_its_edges(
        lines in lines(),
        cuts in prop::collection::vec(0..=VERTICES, 0..6),
        end in prop::sample::select(vec!["\n", "\r\n"]),
        has_last_end: bool,
    ) {
        let mut sources: Vec<u32> = lines.iter().filter_map(|line| match line {
            Line::Edge(from, _) => Some(*from),
            Line::Other(_) => None,
        }).collect();
        sources.sort_unstable();
        let mut sources = sources.into_iter();
        let sorted = lines.into_iter().map(|line| match line {
            Line::Edge(_, to) => Line::Edge(sources.next().unwrap(), to),
            other @ Line::Other(_) => other,
        });
        let (text, edges) = written(&sorted.collect::<Vec<_>>(), end, has_last_end);
        let mut found = Vec::new();
        for part in parts(cuts) {
            let edges = graph(&text, VERTICES).edges(part.clone()).unwrap();
            prop_assert!(edges.iter().all(|edge| part.contains(&edge.from)));
            found.extend(edges);
        }
        prop_assert_eq!(found, edges);
    }

    #[test]
    fn one_part_at_least_of_a_file_that_is_not_sorted_is_refused(
        lines in lines(),
        cuts in prop::collection::vec(0..=VERTICES, 0..6),
    ) {
        let (text, edges) = written(&lines, "\n", true);
        prop_assume!(!edges.is_sorted_by_key(|edge| edge.from));
        let read = |part| graph(&text, VERTICES).edges(part);
        let refused = parts(cuts).into_iter().filter_map(|part| read(part).err());
        let refused: Vec<Error> = refused.collect();
        prop_assert!(!refused.is_empty());
        for error in refused {
            let Error::Unsorted { line, from, before } = error else {
                panic!("{error}");
            };
            let line = usize::try_from(line).unwrap() - 1;
            let Line::Edge(found, _) = lines[line] else {
                panic!("line {line} is no edge");
            };
            let edges = lines[..line].iter().rev();
            let mut edges = edges.filter_map(|line| match line {
                Line::Edge(from, _) => Some(*from),
                Line::Other(_) => None,
            });
            prop_assert_eq!((found, edges.next()), (from, Some(before)));
            prop_assert!(from < before);
        }
    }
}

/// The vertices, cut before these.
fn parts(mut cuts: Vec<u32>) -> Vec<Range<u32>> {
    cuts.extend([0, VERTICES]);
    cuts.sort_unstable();
    // A division has parts without vertices, too, but no empty one at the end.
    let parts = cuts.windows(2).map(|cut| cut[0]..cut[1]);
    parts.filter(|part| part.start < VERTICES).collect()
}

#[test]
fn a_part_is_read_without_the_rest_of_the_file() {
    let vertices = 60_000;
    let edges = (0..vertices).flat_map(|from| (0..10).map(move |to| format!("{from} {to}\n")));
    let text: String = edges.collect();
    let part = 20_000..20_100;
    let bytes = Cell::new(0);
    let file = Counted {
        file: Cursor::new(text.as_bytes()),
        bytes: &bytes,
    };
    let edges = Graph::new(file, vertices).unwrap().edges(part).unwrap();
    assert_eq!(edges.len(), 1000);
    // Of 4 MB: 8 KiB for each of the two searches' steps, of which there are 22, and for the part itself.
    assert!(4_000_000 < text.len(), "{}", text.len());
    assert!(bytes.get() < 400_000, "{}", bytes.get());
}

#[test]
fn a_file_without_edges_has_none() {
    for text in ["", "\n", "# nothing", "# nothing\n\n#\n"] {
        assert_eq!(graph(text, 3).edges(0..3).unwrap(), []);
        assert_eq!(graph(text, 3).edges(1..2).unwrap(), []);
    }
}

#[test]
fn a_file_that_ends_before_its_length_is_unread() {
    let mut graph = graph("0 1\n1 0\n", 2);
    graph.length += 1;
    assert!(matches!(graph.edges(0..2), Err(Error::Unread(_))));
}
