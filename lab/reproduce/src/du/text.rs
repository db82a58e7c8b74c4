//! The paper's numbers and ours as text.

use crate::du::printed::{ENDS, RATE, STARTUP};
use crate::du::report::Report;
use crate::du::sheet::sheets;
use crate::sheet;
use analysis::text::Layout;

/// Tables first, then notes on method.
pub fn text(report: &Report, layout: Layout) -> String {
    sheet::text(sheets(report), &notes(report), layout)
}

/// Notes on method, and on numbers of the paper that contradict each other.
pub(super) fn notes(report: &Report) -> String {
    let [_, (size, high)] = ENDS;
    let megabytes = bsp::units::Bytes(size).as_f64() / 1e6;
    let formula = STARTUP.value + RATE.value * megabytes;
    let bandwidth = report.bandwidth / 1e6;
    let (alone, all) = (1.0 / bandwidth, report.line.slope);
    format!(
        "Every move is simulated: one process between two hosts with a link of {bandwidth:.1} MB/s (conf/du2007/figure1.toml).
C is the time from sending the state until it has arrived; later is by how much the run ends later than without
the move, as 3-2 defines C; α0 + μ f is what the scheduler predicts from the printed α0 and μ. The state crosses
the link with α1 times its bytes (scheduler.transfer_factor), as μ = α1 / b says: packing and unpacking that the
link waits for. The link alone needs {alone:.4} of the {all:.4} s/MB. α0 is the latency of the link; the agent of the
process goes with the state. α0 and α1 are inputs: that they come out again says how little agents and network
add to them. The printed numbers contradict each other: α0 + μ f of {megabytes} MB is {formula:.2} s, {:+.1} % of the
printed {} s.",
        (formula / high.value - 1.0) * 100.0,
        high.value,
    )
}
