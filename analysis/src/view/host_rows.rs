//! Hosts in rows, several of which are joined if there are many.

use std::ops::Range;

use bsp::HostId;

use super::sets::Sets;

/// Consecutive hosts that are shown as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRow {
    /// As `aquario-5`, or `aquario-5 … aquario-8`.
    pub(crate) name: String,
    /// The name of their Set; empty if it is not known, or they are of several.
    pub(crate) set: String,
    /// The hosts by their positions.
    pub(crate) hosts: Range<usize>,
}

/// The hosts that had processes, in rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostRows {
    rows: Vec<HostRow>,
}

impl HostRows {
    /// The hosts that are `used`, or blocks of them, in at most [`ROWS`] rows with those between them; hosts of different
    /// Sets are in different rows as long as there are rows. `used` ascends.
    pub(super) fn new(used: &[Range<usize>], hosts: &[String], sets: &Sets) -> Self {
        let most = used.len().div_ceil(ROWS).max(1);
        let set_of = |host: usize| sets.name_of(HostId(u32::try_from(host).unwrap_or(u32::MAX)));
        let mut rows: Vec<(usize, Range<usize>)> = Vec::new();
        for block in used {
            if let Some((blocks, last)) = rows.last_mut() {
                let is_near = 1 < most && set_of(last.start) == set_of(block.start);
                if *blocks < most && is_near {
                    *blocks += 1;
                    last.end = block.end;
                    continue;
                }
            }
            rows.push((1, block.clone()));
        }
        let named = rows.into_iter().map(|(_, hosts_of_row)| {
            let (first, last) = (&hosts[hosts_of_row.start], &hosts[hosts_of_row.end - 1]);
            let (set, other) = (set_of(hosts_of_row.start), set_of(hosts_of_row.end - 1));
            HostRow {
                name: if hosts_of_row.len() == 1 {
                    first.clone()
                } else {
                    format!("{first} … {last}")
                },
                set: if set == other {
                    set.to_owned()
                } else {
                    String::new()
                },
                hosts: hosts_of_row,
            }
        });
        Self {
            rows: named.collect(),
        }
    }

    /// All rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &HostRow> {
        self.rows.iter()
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The row of a host, if it is in one.
    pub(crate) fn row_of(&self, host: HostId) -> Option<usize> {
        let host = host.index();
        let row = self.rows.partition_point(|row| row.hosts.end <= host);
        self.rows
            .get(row)
            .filter(|found| found.hosts.contains(&host))
            .map(|_| row)
    }
}

/// The most rows, unless more Sets were used.
const ROWS: usize = 64;

#[cfg(test)]
mod tests {
    use bsp::{Round, SetId};
    use record::Run;

    use super::super::sets::SetsReading;
    use super::*;

    /// The rows of hosts, every second one of which is used, in two Sets.
    fn rows(hosts: u32) -> HostRows {
        let names: Vec<String> = (0..hosts).map(|host| format!("h{host}")).collect();
        let run = Run {
            schema: String::new(),
            scenario: "iii".to_owned(),
            sets: vec!["a".to_owned(), "b".to_owned()],
            members: vec![(SetId(0), hosts / 2), (SetId(1), hosts - hosts / 2)],
            hosts: names.clone(),
            placement: Vec::new(),
            round: Round::SUPERSTEP,
            resumed: None,
        };
        let used = (0..names.len()).step_by(2).map(|host| host..host + 1);
        let used: Vec<Range<usize>> = used.collect();
        HostRows::new(&used, &names, &SetsReading::new(&run).end())
    }

    #[test]
    fn few_hosts_have_a_row_each() {
        let rows = rows(10);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["h0", "h2", "h4", "h6", "h8"]);
        assert_eq!(rows.row_of(HostId(6)), Some(3));
        assert_eq!(rows.row_of(HostId(7)), None);
    }

    #[test]
    fn many_hosts_share_rows_but_sets_do_not() {
        let rows = rows(1_000);
        assert!(rows.len() <= ROWS + 1, "{}", rows.len());
        let first = rows.iter().next().unwrap();
        assert_eq!((first.name.as_str(), first.set.as_str()), ("h0 … h14", "a"));
        assert!(rows.iter().all(|row| !row.set.is_empty()));
        for host in (0..1_000).step_by(2) {
            assert!(rows.row_of(HostId(host)).is_some(), "{host}");
        }
    }
}
