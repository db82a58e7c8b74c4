//! The answer as text.

use crate::explain::report::Explanation;
use crate::explain::sheets::sheets;
use crate::text::{Layout, counted, rounded};

/// First the answer in words, then the tables, then the forces.
pub fn text(answer: &Explanation, layout: Layout) -> String {
    let mut text = format!(
        "{}: scenario {}, {}, {} in {} s\n",
        answer.record,
        answer.scenario,
        counted(answer.processes, "process"),
        counted(
            usize::try_from(answer.supersteps).unwrap_or(usize::MAX),
            "superstep"
        ),
        rounded(answer.seconds, 3)
    );
    for sentence in &answer.sentences {
        text.push_str(&format!("\n{sentence}\n"));
    }
    for sheet in sheets(answer, layout) {
        text.push_str(&sheet.text(layout));
    }
    if let Some(forces) = &answer.forces {
        let decided = if answer.assessment().is_some() {
            ", which do not decide"
        } else {
            ""
        };
        text.push_str(&format!(
            "\nPotentials of {} for each Set{decided} (seconds; the migration cost counts against a Set):\n\n{}",
            forces.process,
            forces.bars(layout)
        ));
    }
    if !answer.next.is_empty() {
        text.push_str(&format!("\nSee also:\n  {}\n", answer.next.join("\n  ")));
    }
    text
}
