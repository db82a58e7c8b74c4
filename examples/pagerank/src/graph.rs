//! A graph in a text file, of which a part is read.
//!
//! A line is a directed edge: the numbers of two vertices, from 0, with blanks between them. Lines are sorted by the first
//! number. A line that begins with `#` is a comment; that and an empty line may stand anywhere.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

/// A directed edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The vertex that it comes from.
    pub(crate) from: u32,
    /// The vertex that it leads to.
    pub(crate) to: u32,
}

/// A file with a graph.
pub(crate) struct Graph<R> {
    reader: BufReader<R>,
    /// The number of vertices.
    vertices: u32,
    /// The length of the file in bytes.
    length: u64,
    /// The line that was read last.
    line: Vec<u8>,
    /// Where it begins and ends.
    range: Range<u64>,
}

impl<R: Read + Seek> Graph<R> {
    /// The graph in `file`, of vertices from 0 to `vertices` - 1.
    ///
    /// # Errors
    ///
    /// If the operating system refuses.
    pub(crate) fn new(file: R, vertices: u32) -> Result<Self, Error> {
        let mut reader = BufReader::new(file);
        let length = reader.seek(SeekFrom::End(0))?;
        Ok(Self {
            reader,
            vertices,
            length,
            line: Vec::new(),
            range: length..length,
        })
    }

    /// The edges from the vertices in `sources`, in the order of the file. Of the rest of the file a search reads some lines.
    ///
    /// # Errors
    ///
    /// If a line that is read is no edge, or not in order. The parts of any division of the vertices meet each other in the
    /// file. So a file that is not sorted is an error in one of them.
    pub(crate) fn edges(&mut self, sources: Range<u32>) -> Result<Vec<Edge>, Error> {
        let begin = self.find(sources.start)?;
        let end = if sources.end == self.vertices {
            self.length
        } else {
            self.find(sources.end)?
        };
        // In a file that is not sorted, the second search may end before the first one.
        let (begin, end) = (begin.min(end), begin.max(end));
        self.go_to(begin)?;
        let mut edges: Vec<Edge> = Vec::new();
        while let Some(edge) = self.next_before(end)? {
            let before = edges.last().map_or(edge.from, |last| last.from);
            if edge.from < before {
                return Err(Error::Unsorted {
                    line: self.number()?,
                    from: edge.from,
                    before,
                });
            }
            edges.push(edge);
        }
        Ok(edges)
    }

    /// Where the edges from `vertex` and from higher ones begin, in bytes. In a file that is not sorted, too, the edge directly
    /// before this place comes from a vertex below `vertex`, and the edge directly after it does not.
    fn find(&mut self, vertex: u32) -> Result<u64, Error> {
        let (mut low, mut high) = (0, self.length);
        while low < high {
            let middle = low + (high - low) / 2;
            self.go_to(middle)?;
            match self.next_before(high)? {
                Some(edge) if edge.from < vertex => low = self.range.end,
                _ => high = middle,
            }
        }
        Ok(low)
    }

    /// Goes to the first line that begins at this offset or after it.
    fn go_to(&mut self, offset: u64) -> Result<(), Error> {
        let start = offset.saturating_sub(1);
        self.reader.seek(SeekFrom::Start(start))?;
        self.range = start..start;
        if 0 < offset {
            self.read_line()?;
        }
        Ok(())
    }

    /// The next edge, if its line begins before the offset `end`.
    fn next_before(&mut self, end: u64) -> Result<Option<Edge>, Error> {
        while self.range.end < end {
            self.read_line()?;
            let text = self.line.trim_ascii();
            if !text.is_empty() && !text.starts_with(b"#") {
                return self.edge().map(Some);
            }
        }
        Ok(None)
    }

    /// The edge in the line that was read last.
    fn edge(&mut self) -> Result<Edge, Error> {
        let words = self.line.split(u8::is_ascii_whitespace);
        let mut words = words.filter(|word| !word.is_empty());
        let mut number = || str::from_utf8(words.next()?).ok()?.parse().ok();
        let (from, to) = (number(), number());
        let (Some(from), Some(to), None) = (from, to, words.next()) else {
            let text = String::from_utf8_lossy(self.line.trim_ascii()).into_owned();
            return Err(Error::Edge {
                line: self.number()?,
                found: text.chars().take(SHOWN_MAX).collect(),
            });
        };
        match [from, to].into_iter().find(|one| self.vertices <= *one) {
            None => Ok(Edge { from, to }),
            Some(vertex) => Err(Error::Vertex {
                line: self.number()?,
                vertex,
                last: self.vertices - 1,
            }),
        }
    }

    fn read_line(&mut self) -> Result<(), Error> {
        self.line.clear();
        let mut reader = self.reader.by_ref().take(LINE_MAX + 1);
        let read = reader.read_until(b'\n', &mut self.line)?;
        let read = u64::try_from(read).expect("a line is short");
        self.range = self.range.end..self.range.end + read;
        if read == 0 {
            // Another program makes the file shorter.
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if LINE_MAX < read {
            let line = self.number()?;
            return Err(Error::Long { line });
        }
        Ok(())
    }

    /// The number of the line that was read last, from 1. This reads all lines before it.
    fn number(&mut self) -> io::Result<u64> {
        self.reader.rewind()?;
        let mut before = self.reader.by_ref().take(self.range.start);
        let mut number = 1;
        loop {
            let bytes = before.fill_buf()?;
            if bytes.is_empty() {
                return Ok(number);
            }
            number += bytes
                .iter()
                .map(|byte| u64::from(*byte == b'\n'))
                .sum::<u64>();
            let length = bytes.len();
            before.consume(length);
        }
    }
}

/// Why there is no graph in a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A line that is neither an edge nor a comment.
    #[error("has `{}` in line {line}, expected an edge: two numbers of vertices", found.escape_debug())]
    Edge {
        /// The line, from 1.
        line: u64,
        /// Its beginning.
        found: String,
    },
    /// A vertex that the graph does not have.
    #[error("has vertex {vertex} in line {line}, expected vertices from 0 to {last}")]
    Vertex {
        /// The line, from 1.
        line: u64,
        /// The vertex found.
        vertex: u32,
        /// The last vertex of the graph.
        last: u32,
    },
    /// An edge after one that comes from a later vertex.
    #[error(
        "has an edge from {from} in line {line} after one from {before}, expected edges in the order of their first vertices"
    )]
    Unsorted {
        /// The line, from 1.
        line: u64,
        /// The vertex that its edge comes from.
        from: u32,
        /// The vertex that the edge before comes from.
        before: u32,
    },
    /// A line that is not read to its end.
    #[error("has more than {LINE_MAX} bytes in line {line}, expected an edge or a comment")]
    Long {
        /// The line, from 1.
        line: u64,
    },
    /// The operating system refuses.
    #[error("cannot be read: {0}")]
    Unread(#[from] io::Error),
}

/// The longest line, in bytes with its end.
const LINE_MAX: u64 = 1024;

/// How many characters of a line an error shows.
const SHOWN_MAX: usize = 40;

#[cfg(test)]
mod tests;
