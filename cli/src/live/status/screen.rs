//! A cluster that is watched, on a terminal.

use std::io;
use std::time::Instant;

use ratatui::DefaultTerminal;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Stylize;
use ratatui::text::Line;
use ratatui::widgets::{Gauge, Paragraph, Row, Table, TableState, Wrap};

use super::watched::{HEADERS, Watched, WatchedJob};
use crate::log::LogPause;

/// The terminal, which is as it was before when this is dropped, or after a panic.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    /// It would write into what is shown. Dropped last, when the terminal is as before.
    _log: LogPause,
    /// Which rows are seen.
    pub(super) rows: TableState,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self {
            terminal: ratatui::try_init()?,
            _log: LogPause::begin(),
            rows: TableState::default(),
        })
    }

    /// Shows the cluster as it is at `now`.
    ///
    /// # Errors
    ///
    /// If the terminal is gone.
    pub(super) fn show(&mut self, watched: &Watched, now: Instant) -> io::Result<()> {
        let rows = &mut self.rows;
        self.terminal
            .draw(|frame| draw(frame, watched, now, rows))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws the cluster as it is at `now`.
fn draw(frame: &mut Frame<'_>, watched: &Watched, now: Instant, rows: &mut TableState) {
    let jobs = watched.jobs();
    let problems = watched.problems(now);
    let width = frame.area().width;
    let job_heights = jobs.iter().map(|job| height(&job.sentence(), width) + 1);
    let problem_heights = problems.iter().map(|problem| height(problem, width));
    let below = problem_heights.sum::<u16>().min(PROBLEMS_MAX);
    let head = [Constraint::Length(1)].into_iter();
    let constraints = head
        .chain(job_heights.map(Constraint::Length))
        .chain([Constraint::Fill(1), Constraint::Length(below)]);
    let areas = Layout::vertical(constraints).split(frame.area());
    frame.render_widget(title(watched.answering(now)), areas[0]);
    for (job, area) in jobs.iter().zip(&areas[1..]) {
        draw_job(frame, job, *area);
    }
    frame.render_stateful_widget(table(watched, now), areas[jobs.len() + 1], rows);
    let problems = Paragraph::new(problems.join("\n")).wrap(Wrap { trim: true });
    frame.render_widget(problems.red(), areas[jobs.len() + 2]);
}

fn title((answering, all): (usize, usize)) -> Line<'static> {
    let title = format!("{answering} of {all} nodes answer").bold();
    let title = if answering == all { title } else { title.red() };
    Line::from(vec![title, "  q leaves, arrow keys scroll".dim()])
}

fn draw_job(frame: &mut Frame<'_>, job: &WatchedJob, area: Rect) {
    let [text, bar] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    let sentence = Paragraph::new(job.sentence()).wrap(Wrap { trim: true });
    frame.render_widget(sentence, text);
    if let Some(fraction) = job.fraction() {
        frame.render_widget(Gauge::default().ratio(fraction), bar);
    }
}

fn table(watched: &Watched, now: Instant) -> Table<'static> {
    let cells = watched.cells(now).into_iter().enumerate();
    let rows = cells.map(|(index, cells)| {
        let row = Row::new(cells);
        if watched.is_answering(index, now) {
            row
        } else {
            row.red()
        }
    });
    let widths = WIDTHS.map(Constraint::Length).into_iter();
    let widths = widths.chain([Constraint::Fill(1)]);
    Table::new(rows, widths).header(Row::new(HEADERS).bold())
}

/// Lines of a sentence on a terminal with lines of `width` characters.
fn height(sentence: &str, width: u16) -> u16 {
    let length = u16::try_from(sentence.chars().count()).unwrap_or(u16::MAX);
    // Words are not broken, so a line may be shorter.
    length.div_ceil(width.saturating_sub(width / 8).max(1))
}

/// The most lines of problems.
const PROBLEMS_MAX: u16 = 4;
/// Widths of all columns but the last.
const WIDTHS: [u16; 8] = [14, 10, 9, 9, 5, 6, 8, 11];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use protocol::CallsStatus;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::watched::tests::{answer, member, refused};
    use super::*;

    /// The lines of a terminal of this size, without spaces at their ends.
    fn lines(
        watched: &Watched,
        now: Instant,
        (width, height): (u16, u16),
        first: usize,
    ) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut rows = TableState::default().with_offset(first);
        terminal
            .draw(|frame| draw(frame, watched, now, &mut rows))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let line = |row: u16| {
            let cells = (0..width).map(|column| buffer[(column, row)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }

    fn watched() -> (Watched, Instant) {
        let began = Instant::now();
        let members = [("node-1", "left"), ("node-2", "left"), ("node-3", "right")];
        let members = members.map(|(name, set)| member(name, set)).to_vec();
        let mut watched = Watched::new(members, Duration::from_secs(1), began);
        let calls = CallsStatus {
            count: 1,
            moves: 4,
            last: 100,
            last_moves: 4,
        };
        for second in 0..3_u32 {
            let now = began + second * Duration::from_secs(1);
            let superstep = 496 + 2 * u64::from(second);
            watched.take(0, answer(Some(superstep), Some(calls)), now);
            watched.take(1, refused(), now);
            watched.take(2, answer(Some(superstep), None), now);
        }
        (watched, began + Duration::from_secs(2))
    }

    #[test]
    fn a_terminal_shows_jobs_and_nodes() {
        let (watched, now) = watched();
        let met = lines(&watched, now, (110, 9), 0);
        let expected = [
            "2 of 3 nodes answer  q leaves, arrow keys scroll",
            "laptop: superstep 500 of 1000, 2.00 per second, 4 min 10 s left; 1 call with 4 moves, the last one after",
            "superstep 100 with 4",
            "█████████████████████████████████████████████████████50%",
            "node           Set        superstep processes load  others memory   up          job of",
            "node-1         left       500       8         0.25  0      35 MB    2 h 4 min   laptop",
            "node-2         left                                                             no answer for 2 s",
            "node-3         right      500       8         0.25  0      35 MB    2 h 4 min   laptop",
            "node-2: node-2 is lost",
        ];
        assert_eq!(met, expected);
    }

    #[test]
    fn rows_scroll_and_small_terminals_do_no_harm() {
        let (watched, now) = watched();
        let met = lines(&watched, now, (110, 7), 2);
        assert!(met[5].starts_with("node-3"), "{met:#?}");
        for size in [(1, 1), (3, 2), (20, 3), (200, 1), (0, 0)] {
            lines(&watched, now, size, 0);
        }
    }
}
