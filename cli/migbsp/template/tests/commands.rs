//! The program as its users meet it.

use std::process::Command;

#[test]
fn a_simulated_run_keeps_the_heat() {
    let program = env!("CARGO_BIN_EXE_my-program");
    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/my-program.toml");
    let output = Command::new(program)
        .args(["simulate", experiment])
        .output()
        .unwrap();
    let [text, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{errors}");
    assert!(text.contains("no heat was lost"), "{text}");
}
