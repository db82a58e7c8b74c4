//! The paper's numbers and ours as text.

use crate::chen::Part;
use crate::chen::cell::Report;
use crate::chen::sheet::sheets;
use crate::sheet;
use analysis::text::Layout;

/// Tables first, then the claims, then notes on method.
pub fn text(part: Part, report: &Report, layout: Layout) -> String {
    sheet::text(
        sheets(part, report),
        &preface(part, report.instances),
        layout,
    )
}

/// Notes on method, and on published numbers without a counterpart.
pub(super) fn preface(part: Part, instances: u32) -> String {
    let drawn = format!(
        "Means over {instances} instances of each group, drawn anew; the paper has 100 of its own."
    );
    let budget = "Every algorithm has the steps of sixteen first iterations of IMLP;";
    match part {
        Part::Table2 => drawn,
        Part::Table3 => format!(
            "{drawn}\n{budget} steps of one take longer than those\nof another. The paper's times are those of its machine, and it does not say for which targets they are; it\nprints no costs, but an order of them. Costs are means where all four meet the target."
        ),
        Part::Table4 => format!(
            "{drawn}\nISLP and TABU have the steps of sixteen first iterations of IMLP; MPARV ends by itself. Moves are means where\nthe target is met. With exchanges=needed two processes change places only where no single move meets the\ntarget, as the paper's numbers suggest and its text does not. With opt=workload a level is compared\nwith workloads, as algorithm 3 of the paper is written. Where the paper has nothing, its target is not met, or its\nnumber cannot be read."
        ),
        Part::Figures => format!(
            "{drawn}\n{budget} the paper draws its curves and\nprints no numbers of them: what its text says is counted above. A cost is there where the target is met on\nall instances. The group of figures 4 and 5 is not named in the paper. `best` is not in it; it has a million\nsteps."
        ),
    }
}
