//! Results of a verification as text.

use crate::text::{Layout, counted};
use crate::verify::report::{Call, Report};

/// The report as text.
pub fn text(report: &Report, layout: Layout) -> String {
    let head = &report.head;
    let mut text = format!(
        "{}: scenario {}, policy {}, {} processes\n\n",
        head.record, head.scenario, head.policy, head.processes
    );
    if let Some(shortfall) = &head.shortfall {
        text += &format!("{shortfall}\n\n");
    }
    let calls = &report.calls;
    if !calls.is_empty() {
        text += &layout.table(
            &["after", "processes", "candidates", "moves", ""],
            calls.iter().map(row),
        );
        text.push('\n');
    }
    let differing = calls.iter().filter(|call| !call.differences.is_empty());
    let moves: usize = calls.iter().map(|call| call.moves).sum();
    text += &match (calls.len(), differing.count()) {
        (0, _) if head.shortfall.is_some() => "No call is complete.\n".to_owned(),
        (0, _) => "No call was held, and none was due.\n".to_owned(),
        (number, 0) => format!(
            "{} with {} verified: decided again from what was observed, all is as recorded, to the last digit.\n",
            counted(number, "call"),
            counted(moves, "move"),
        ),
        (number, differing) => {
            let all = counted(number, "call");
            format!(
                "Decided again from what was observed, {differing} of {all} went otherwise than recorded.\n"
            )
        }
    };
    if 0 < head.checkpoints {
        let number = counted(head.checkpoints, "checkpoint");
        text += &format!("{number} held to the interval between them.\n");
    }
    text
}

fn row(call: &Call) -> Vec<String> {
    vec![
        call.superstep.to_string(),
        call.processes.to_string(),
        call.candidates.to_string(),
        call.moves.to_string(),
        call.verdict(),
    ]
}
