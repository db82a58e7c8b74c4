//! Calibrates the constants that Santana and Souza do not print.
//!
//! Of a grid of blocks and thresholds, then of creation costs, it takes those with which the statements of the paper hold by
//! the greatest margin, where the margin is that of the statement that holds least.
//!
//! ```sh
//! cargo run --release -p integration-tests --example santana
//! ```

use experiments::Failure;
use experiments::batch::{Batch, Silent};
use reproduce::santana::{Constants, margin};

#[expect(clippy::print_stdout, reason = "this is what the program is for")]
fn main() -> Result<(), Failure> {
    let batch = Batch {
        jobs: None,
        progress: &Silent,
    };
    let mut best = (f64::NEG_INFINITY, Constants::default());
    let judge = |constants: Constants, best: &mut (f64, Constants)| -> Result<(), Failure> {
        let (least, id) = margin(&constants, batch)?;
        let Constants {
            block,
            threshold,
            part,
            creation,
        } = constants;
        println!(
            "block {block}, threshold {threshold}, part {part}, creation {creation:?}: {id} by {:.2} %",
            100.0 * least
        );
        if best.0 < least {
            *best = (least, constants);
        }
        Ok(())
    };
    for block in [6, 8, 10] {
        for threshold in [0.01, 0.02] {
            judge(
                Constants {
                    block,
                    threshold,
                    ..Constants::default()
                },
                &mut best,
            )?;
        }
    }
    let dealing = best.1;
    for second in [12.0, 15.0, 20.0] {
        for third in [36.0, 42.0, 48.0] {
            let creation = [dealing.creation[0], second, third];
            judge(
                Constants {
                    creation,
                    ..dealing
                },
                &mut best,
            )?;
        }
    }
    println!("\nbest: {:?}", best.1);
    Ok(())
}
