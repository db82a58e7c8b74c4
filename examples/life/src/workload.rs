//! What an experiment says of a game, and what has to come of it.

use migbsp::prelude::*;
use serde::{Deserialize, Serialize};

use crate::life::Life;

/// `[application.life]`.
#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Parameters {
    /// Rows of the torus, and cells of a row.
    size: u32,
    /// Instructions that a cell is charged for.
    instructions_per_cell: u64,
    /// Generations from one snapshot of the torus to the next; 0: there are none.
    snapshots: u64,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            size: 64,
            instructions_per_cell: 20,
            snapshots: 0,
        }
    }
}

/// A glider on a torus.
pub(crate) struct GameOfLife;

impl Workload for GameOfLife {
    type Parameters = Parameters;
    type Program = Life;
    const NAME: &'static str = "life";
    const ABOUT: &'static str = "Conway's Game of Life: a glider on a torus";

    fn unit(key: &str) -> Unit {
        match key {
            "instructions_per_cell" => Unit::Instructions,
            _ => Unit::None,
        }
    }

    fn draws(_: &Parameters) -> bool {
        false
    }

    fn builder(
        parameters: &Parameters,
        common: Common,
        _: Files<'_>,
    ) -> Result<impl Fn(Rank) -> Result<Life, BuildError>, BuildError> {
        let supersteps = common.required_supersteps()?;
        let least = common.processes.max(5);
        if parameters.size < least {
            let rule =
                format!("must be at least {least}, a row for each process and room for a glider");
            return Err(ParameterError::invalid("size", parameters.size, rule).into());
        }
        let size = u64::from(parameters.size);
        let processes = u64::from(common.processes);
        Ok(move |rank: Rank| {
            // Where the rows do not divide evenly, the last strips have one more.
            let start = |rank| size * rank / processes;
            let (first, end) = (start(rank.0.into()), start(u64::from(rank.0) + 1));
            let work = parameters.instructions_per_cell;
            Ok(Life {
                generations: supersteps - 1,
                work: Instructions(work.saturating_mul((end - first) * size)),
                rows: (first..end).map(|row| glider_row(size, 0, row)).collect(),
                snapshots: parameters.snapshots,
            })
        })
    }

    fn verify(
        parameters: &Parameters,
        common: Common,
        _: Files<'_>,
        outputs: &[Vec<Vec<bool>>],
    ) -> Result<Option<String>, Rejection> {
        let generations = common.supersteps.unwrap_or(1) - 1;
        let steps = generations / 4;
        if !generations.is_multiple_of(4) {
            return Ok(None);
        }
        let expected = glider(parameters.size, steps);
        if outputs.concat() == expected {
            Ok(Some(format!(
                "the glider has gone {steps} cells down and to the right"
            )))
        } else {
            let problem =
                format!("the glider is not where it should be after {generations} generations");
            Err(Rejection::Outputs(problem))
        }
    }

    fn files(
        _: &Parameters,
        _: Common,
        _: Files<'_>,
        outputs: &[Vec<Vec<bool>>],
    ) -> Result<Vec<OutputFile>, Rejection> {
        let rows = outputs.iter().flatten().map(|row| -> String {
            let cells = row.iter().map(|is_alive| if *is_alive { '#' } else { '.' });
            cells.chain(['\n']).collect()
        });
        let torus: String = rows.collect();
        Ok(vec![OutputFile::new("torus.txt", torus)])
    }
}

/// A torus with a glider that has gone `steps` cells down and to the right, one in four generations.
fn glider(size: u32, steps: u64) -> Vec<Vec<bool>> {
    let size = u64::from(size);
    (0..size).map(|row| glider_row(size, steps, row)).collect()
}

/// A row of it.
fn glider_row(size: u64, steps: u64, row: u64) -> Vec<bool> {
    let from_start = |at| (at + size - steps % size) % size;
    let is_alive = |column| {
        matches!(
            (from_start(row), from_start(column)),
            (0, 1) | (1, 2) | (2, 0..=2)
        )
    };
    (0..size).map(is_alive).collect()
}

#[cfg(test)]
mod tests {
    use migbsp::bsp::testing;

    use super::*;

    fn common(processes: u32, supersteps: u64) -> Common {
        Common {
            processes,
            supersteps: Some(supersteps),
            seed: 0,
        }
    }

    fn parameters(size: u32) -> Parameters {
        Parameters {
            size,
            ..Parameters::default()
        }
    }

    #[test]
    fn the_glider_returns_wherever_processes_move() {
        // Thirteen rows do not divide evenly, and two processes are neighbours on both sides.
        for processes in [1, 2, 3, 13] {
            let common = common(processes, 4 * 13 + 1);
            let build = || GameOfLife::processes(&parameters(13), common, Files::here()).unwrap();
            let torus = testing::check(build).run.outputs;
            assert_eq!(torus.concat(), glider(13, 0));
            let verified = GameOfLife::verify(&parameters(13), common, Files::here(), &torus);
            let sentence = "the glider has gone 13 cells down and to the right";
            assert_eq!(verified, Ok(Some(sentence.to_owned())));
        }
    }

    #[test]
    fn snapshots_show_the_glider_on_its_way() {
        let parameters = Parameters {
            snapshots: 4,
            ..parameters(13)
        };
        let common = common(2, 9);
        let build = || GameOfLife::processes(&parameters, common, Files::here()).unwrap();
        let snapshots = testing::check(build).run.snapshots;
        assert_eq!(snapshots.len(), 3 * 2);
        for (step, strips) in (0..).zip(snapshots.chunks(2)) {
            let rows = strips.iter().flat_map(|strip| -> Vec<Vec<bool>> {
                assert_eq!(strip.superstep, 4 * step);
                rmp_serde::from_slice(&strip.contents).unwrap()
            });
            assert_eq!(rows.collect::<Vec<_>>(), glider(13, step));
        }
    }

    #[test]
    fn the_torus_is_drawn_from_the_top() {
        let torus = [glider(5, 0)[..2].to_vec(), glider(5, 0)[2..].to_vec()];
        let files = GameOfLife::files(&parameters(5), common(2, 1), Files::here(), &torus).unwrap();
        let drawn = ".#...\n..#..\n###..\n.....\n.....\n";
        assert_eq!(files, [OutputFile::new("torus.txt", drawn)]);
    }

    #[test]
    fn a_blinker_turns_and_turns_back() {
        let blinker = |is_upright: bool| -> Vec<Vec<bool>> {
            let is_alive = |row: usize, column: usize| match is_upright {
                true => column == 2 && (1..4).contains(&row),
                false => row == 2 && (1..4).contains(&column),
            };
            (0..5)
                .map(|row| (0..5).map(|column| is_alive(row, column)).collect())
                .collect()
        };
        for generations in [1, 2] {
            let build = || {
                let rows = blinker(true);
                let strip = |rows: &[Vec<bool>]| Life {
                    generations,
                    work: Instructions(1),
                    rows: rows.to_vec(),
                    snapshots: 0,
                };
                vec![strip(&rows[..2]), strip(&rows[2..])]
            };
            let torus = testing::check(build).run.outputs.concat();
            assert_eq!(torus, blinker(generations == 2));
        }
    }

    #[test]
    fn a_torus_that_is_too_small_is_refused() {
        let refused = |size, processes| {
            let parameters = parameters(size);
            let built = GameOfLife::processes(&parameters, common(processes, 5), Files::here());
            built.err().unwrap().to_string()
        };
        let text = "a row for each process and room for a glider";
        assert_eq!(
            refused(4, 2),
            format!("invalid value `4` for `size`: must be at least 5, {text}")
        );
        assert_eq!(
            refused(9, 10),
            format!("invalid value `9` for `size`: must be at least 10, {text}")
        );
    }
}
