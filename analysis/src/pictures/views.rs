//! How a job went on when nodes were lost: the supersteps of all its views over the time of the job.

use std::path::Path;

use bsp::numbers::{length, position};
use bsp::units::{Instant, Seconds};
use experiments::Failure;
use experiments::record::{fault, views_of_job};
use record::{Event, EventKind, Run, ViewChange, head, scan};

use crate::chart::{Band, Bands, Lines, Series};
use crate::document::Table;
use crate::live::view_sentence;
use crate::pictures::Picture;
use crate::text::{counted, duration, maybe};

/// The views of a job, as far as their records are beside each other.
#[derive(Clone, Debug)]
pub(crate) struct JobViews {
    /// In order; none if the job has one view alone.
    views: Vec<JobView>,
}

/// A view of a job.
#[derive(Clone, Debug)]
struct JobView {
    run: Run,
    /// When each of its supersteps was complete, since it began.
    ended: Vec<Instant>,
}

impl JobViews {
    /// Reads the records of all views of the job that `run` is of, whose record is in `folder`.
    ///
    /// # Errors
    ///
    /// If a record is unreadable or of another version.
    pub(crate) fn read(folder: &Path, run: &Run) -> Result<Self, Failure> {
        let folders = views_of_job(folder, number(run));
        if run.view.is_none() && folders.len() < 2 {
            return Ok(Self { views: Vec::new() });
        }
        let views = folders.iter().map(|folder| JobView::read(folder));
        let mut views: Vec<JobView> = views.collect::<Result<_, _>>()?;
        views.sort_by_key(JobView::number);
        Ok(Self { views })
    }

    /// Whether the job went on in a later view.
    pub(crate) fn has_later(&self) -> bool {
        self.views.iter().any(|view| view.run.view.is_some())
    }

    /// The number of the first view whose record is not beside the others.
    pub(crate) fn missing(&self) -> Option<u64> {
        let numbers = self.views.iter().map(JobView::number);
        let mut expected = (1..).zip(numbers);
        expected.find_map(|(expected, found)| (expected != found).then_some(expected))
    }

    /// How the job went on in each later view, in a sentence for each.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let later = self.later();
        later
            .map(|(view, change)| format!("{}.", view_sentence(change, view.run.hosts.len())))
            .collect()
    }

    /// The supersteps of all views over the time of the job; `None` if it has one view, or if the record of one is missing.
    /// Between two views is the time in which the loss was noticed and the nodes began again.
    pub(crate) fn picture(&self) -> Option<Picture> {
        if !self.has_later() || self.missing().is_some() {
            return None;
        }
        let progress = self.progress();
        let run = &self.views.first()?.run;
        let series = |name: &str, points: &[(f64, f64)]| Series {
            name: name.to_owned(),
            points: points.to_vec(),
            ..Series::default()
        };
        let mut all = vec![series("supersteps", &progress.new)];
        if !progress.again.is_empty() {
            all.push(series("supersteps executed again", &progress.again));
        }
        let chart = Lines {
            title: format!(
                "{} of a job of {}, scenario {}",
                counted(self.views.len(), "view"),
                counted(run.placement.len(), "process"),
                run.scenario
            ),
            note: self.note(&progress),
            x_label: "time of the job, seconds".to_owned(),
            y_label: "complete supersteps".to_owned(),
            series: all,
            bands: Bands {
                name: "until the next view begins".to_owned(),
                bands: progress.gaps.clone(),
            },
            ..Lines::default()
        };
        Some(Picture {
            svg: chart.svg(),
            table: self.table(&progress),
        })
    }

    fn later(&self) -> impl Iterator<Item = (&JobView, &ViewChange)> {
        let views = self.views.iter();
        views.filter_map(|view| Some((view, view.run.view.as_ref()?)))
    }

    fn progress(&self) -> Progress {
        let all: usize = self.views.iter().map(|view| view.ended.len()).sum();
        let size = all.div_ceil(POINTS).max(1);
        let mut progress = Progress::default();
        let (mut now, mut reached) = (0.0, 0_u64);
        for view in &self.views {
            if let Some(change) = &view.run.view {
                let from = now;
                now += stood_still(change);
                progress.gaps.push(Band {
                    name: changed(change),
                    from,
                    to: now,
                });
            }
            let began = now;
            let first = view.run.first_superstep();
            let number = position(reached.saturating_sub(first)).min(view.ended.len());
            let (again, new) = view.ended.split_at(number);
            let in_again = seconds(again);
            if !again.is_empty() {
                add(&mut progress.again, (began, first), again, (began, size));
            }
            // A view that was lost before its first superstep was complete is a point.
            if !new.is_empty() || again.is_empty() {
                let from = (began + in_again, first + length(number));
                add(&mut progress.new, from, new, (began, size));
            }
            progress.again_seconds += in_again;
            progress.again_supersteps += number;
            now += seconds(&view.ended);
            reached = reached.max(view.end());
            progress.times.push((began, now));
        }
        progress
    }

    /// What the losses cost, in a sentence.
    fn note(&self, progress: &Progress) -> String {
        let nodes = self.later().map(|(_, change)| change.lost.len()).sum();
        let joined: usize = self.later().map(|(_, change)| change.joined.len()).sum();
        let joined = match joined {
            0 => String::new(),
            joined => format!(", {} joined", counted(joined, "node")),
        };
        let still = self.later().map(|(_, change)| stood_still(change)).sum();
        let again = counted(progress.again_supersteps, "superstep");
        let took = duration(progress.again_seconds);
        format!(
            "{} lost{joined}: the job stood still for {}, and executed {again} again in {took}.",
            counted(nodes, "node"),
            duration(still)
        )
    }

    /// A row for each view.
    fn table(&self, progress: &Progress) -> Table {
        let rows = self.views.iter().zip(&progress.times);
        let change = |view: &JobView| view.run.view.clone();
        Table::of(
            rows,
            &[
                ("view", &|(view, _)| view.number().to_string()),
                ("hosts", &|(view, _)| view.run.hosts.len().to_string()),
                ("lost", &|(view, _)| {
                    maybe(change(view), |change| lost(&change))
                }),
                ("joined", &|(view, _)| {
                    maybe(change(view), |change| change.joined.join(", "))
                }),
                ("detected_seconds", &|(view, _)| {
                    let detected = change(view).and_then(|change| change.detected);
                    maybe(detected, |detected| detected.get().to_string())
                }),
                ("restored_seconds", &|(view, _)| {
                    maybe(change(view), |change| change.restored.get().to_string())
                }),
                ("began_seconds", &|(_, (began, _))| began.to_string()),
                ("ended_seconds", &|(_, (_, ended))| ended.to_string()),
                ("from", &|(view, _)| view.run.first_superstep().to_string()),
                ("to", &|(view, _)| view.end().to_string()),
                ("repeated_supersteps", &|(view, _)| {
                    maybe(change(view), |change| change.repeats.to_string())
                }),
            ],
        )
    }
}

impl JobView {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let run = head(folder).map_err(fault)?;
        let mut ended = Vec::new();
        let needed = |header: record::EventHeader| header.kind == EventKind::Superstep;
        scan(folder, needed, |event| {
            if let Event::Superstep(superstep) = event {
                ended.push(superstep.ended);
            }
        })
        .map_err(fault)?;
        Ok(Self { run, ended })
    }

    fn number(&self) -> u64 {
        number(&self.run)
    }

    /// The superstep after its last one.
    fn end(&self) -> u64 {
        self.run.first_superstep() + length(self.ended.len())
    }
}

/// What the views of a job did, over its time in seconds.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Times and complete supersteps, while supersteps were executed for the first time: a piece for each view.
    new: Vec<(f64, f64)>,
    /// The same while supersteps were executed again that an earlier view had executed.
    again: Vec<(f64, f64)>,
    again_supersteps: usize,
    again_seconds: f64,
    /// From the end of what a view did until the next one began, with the lost nodes.
    gaps: Vec<Band>,
    /// When each view began and ended.
    times: Vec<(f64, f64)>,
}

/// Adds a piece to a line, after a gap: it begins at a time with this number of complete supersteps, and goes on with others that
/// `ended` in a view that `began` then. A part of the line is for `size` of them.
fn add(
    line: &mut Vec<(f64, f64)>,
    (time, mut complete): (f64, u64),
    ended: &[Instant],
    (began, size): (f64, usize),
) {
    if !line.is_empty() {
        line.push((f64::NAN, f64::NAN));
    }
    line.push((time, complete as f64));
    for part in ended.chunks(size) {
        complete += length(part.len());
        line.push((began + seconds(part), complete as f64));
    }
}

/// When the last of these supersteps was complete, in seconds since its view began.
fn seconds(ended: &[Instant]) -> f64 {
    ended.last().map_or(0.0, |ended| ended.get())
}

/// The number of the view of its job that a run is.
fn number(run: &Run) -> u64 {
    run.view.as_ref().map_or(1, |view| view.number)
}

/// For how long the job stood still: from the last sign of a lost node, or from when its connection broke.
fn stood_still(change: &ViewChange) -> f64 {
    change.detected.map_or(0.0, Seconds::get) + change.restored.get()
}

/// The names of the lost nodes.
fn lost(change: &ViewChange) -> String {
    let names = change.lost.iter().map(|lost| lost.host.as_str());
    names.collect::<Vec<_>>().join(", ")
}

/// The names of the lost nodes, and of those that have joined, each after a plus sign.
fn changed(change: &ViewChange) -> String {
    let joined = change.joined.iter().map(|name| format!("+{name}"));
    let lost = Some(lost(change)).filter(|lost| !lost.is_empty());
    lost.into_iter()
        .chain(joined)
        .collect::<Vec<_>>()
        .join(", ")
}

/// About how many points the lines have.
const POINTS: usize = 2_000;

#[cfg(test)]
mod tests {
    use std::fs;

    use record::{LostHost, Superstep};
    use tempfile::TempDir;

    use super::*;
    use crate::run::tests;

    /// A run of two processes that is this view of its job, and its folder beside those of the others in `job`. Its supersteps take
    /// a second.
    fn recorded(
        job: &TempDir,
        change: Option<ViewChange>,
        supersteps: u64,
    ) -> (std::path::PathBuf, Run) {
        let first = change.as_ref().map_or(0, |change| change.superstep);
        let name = change.as_ref().map_or_else(
            || "iii".to_owned(),
            |change| format!("iii-view{}", change.number),
        );
        let run = Run {
            schema: record::SCHEMA.to_owned(),
            resumed: (0 < first).then(|| record::ResumedRun {
                job: "1".to_owned(),
                incarnation: 1,
                superstep: first,
            }),
            view: change,
            ..tests::run(2, 0, &[]).run
        };
        let instant = |seconds: u64| Instant::new(seconds as f64).unwrap();
        let events = (0..supersteps).map(|index| {
            Event::Superstep(Superstep {
                started: instant(index),
                ended: instant(index + 1),
                ..tests::superstep(first + index)
            })
        });
        let lines: Vec<String> = std::iter::once(Event::Run(run.clone()))
            .chain(events)
            .map(|event| serde_json::to_string(&event).unwrap() + "\n")
            .collect();
        let folder = job.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("events.jsonl"), lines.concat()).unwrap();
        (folder, run)
    }

    fn change(number: u64, lost: &[&str], (superstep, repeats): (u64, u64)) -> ViewChange {
        let lost = lost.iter().map(|host| LostHost {
            host: (*host).to_owned(),
            reason: format!("node {host} is lost"),
        });
        ViewChange {
            number,
            lost: lost.collect(),
            joined: Vec::new(),
            leader: None,
            superstep,
            repeats,
            detected: (number == 2).then(|| Seconds::new(2.5).unwrap()),
            restored: Seconds::new(0.5).unwrap(),
        }
    }

    /// The pieces of a line.
    fn pieces(line: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let pieces = line.split(|(time, _)| time.is_nan());
        pieces.map(<[_]>::to_vec).collect()
    }

    #[test]
    fn a_view_begins_after_the_loss_with_the_superstep_of_its_checkpoint() {
        let job = TempDir::new().unwrap();
        let (first, run) = recorded(&job, None, 4);
        let (second, later) = recorded(&job, Some(change(2, &["b"], (2, 2))), 3);
        recorded(&job, Some(change(3, &["<c>", "d"], (3, 2))), 3);
        let views = JobViews::read(&first, &run).unwrap();
        let progress = views.progress();
        assert_eq!(
            pieces(&progress.new)[1..],
            [
                vec![(9.0, 4.0), (10.0, 5.0)],
                vec![(12.5, 5.0), (13.5, 6.0)]
            ]
        );
        assert_eq!(pieces(&progress.new)[0].last(), Some(&(4.0, 4.0)));
        let again = pieces(&progress.again);
        assert_eq!(again.len(), 2);
        for (piece, ends) in again
            .iter()
            .zip([[(7.0, 2.0), (9.0, 4.0)], [(10.5, 3.0), (12.5, 5.0)]])
        {
            assert_eq!([piece[0], piece[piece.len() - 1]], ends);
        }
        let picture = views.picture().unwrap();
        let note =
            "3 nodes lost: the job stood still for 3.5 s, and executed 4 supersteps again in 4 s.";
        for words in [
            "<title>3 views of a job of 2 processes, scenario iii</title>",
            note,
            "until the next view begins: b from 4.00 to 7.00; &lt;c&gt;, d from 10.00 to 10.50.",
            "\nb\n",
            "\n&lt;c&gt;, d\n",
            "\nsupersteps executed again\n",
        ] {
            assert!(picture.svg.contains(words), "{words}: {}", picture.svg);
        }
        assert!(!picture.svg.contains("NaN"), "{}", picture.svg);
        let rows = [
            ["1", "2", "", "", "", "", "0", "4", "0", "4", ""],
            ["2", "2", "b", "", "2.5", "0.5", "7", "10", "2", "5", "2"],
            [
                "3", "2", "<c>, d", "", "", "0.5", "10.5", "13.5", "3", "6", "2",
            ],
        ];
        assert_eq!(picture.table.rows(), rows);
        assert_eq!(
            views.sentences()[0],
            "node b is lost; the job goes on from superstep 2 on 2 nodes (view 2), and repeats 2 supersteps."
        );
        // Each record leads to the others.
        let same = JobViews::read(&second, &later).unwrap().picture();
        assert_eq!(same.unwrap().svg, picture.svg);
    }

    #[test]
    fn a_job_of_one_view_or_without_the_record_of_one_has_no_picture() {
        let job = TempDir::new().unwrap();
        let (folder, run) = recorded(&job, None, 4);
        let alone = JobViews::read(&folder, &run).unwrap();
        assert!(alone.picture().is_none() && !alone.has_later());
        assert_eq!(alone.missing(), None);
        let (folder, run) = recorded(&job, Some(change(3, &["b"], (2, 2))), 3);
        let views = JobViews::read(&folder, &run).unwrap();
        assert!(views.picture().is_none() && views.has_later());
        assert_eq!(views.missing(), Some(2));
    }

    #[test]
    fn a_view_without_a_complete_superstep_is_a_point_and_long_lines_are_joined() {
        let job = TempDir::new().unwrap();
        let (folder, run) = recorded(&job, None, 4_000);
        recorded(&job, Some(change(2, &["b"], (0, 4_000))), 0);
        let progress = JobViews::read(&folder, &run).unwrap().progress();
        let pieces = pieces(&progress.new);
        assert_eq!(pieces[0].len(), 1 + POINTS);
        assert_eq!(pieces[0].last(), Some(&(4_000.0, 4_000.0)));
        assert_eq!(pieces[1..], [vec![(4_003.0, 0.0)]]);
    }
}
