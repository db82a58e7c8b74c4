//! docs/guide/task-farms.md: its code is the example's, and what it shows is what the example prints.
//!
//! With `MIGBSP_UPDATE=1` the test writes what commands print into the guide.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// What the example prints in its folder.
#[track_caller]
fn stdout(arguments: &[&str]) -> String {
    stdout_in(&example(), arguments)
}

/// What the example prints in `folder`.
#[track_caller]
fn stdout_in(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mandelbrot"));
    let output = command
        .current_dir(folder)
        .env_clear()
        .args(arguments)
        .output();
    let output = output.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn page() -> PathBuf {
    example().join("../../docs/guide/task-farms.md")
}

#[test]
fn code_is_that_of_the_example_and_output_what_it_prints() {
    let folder = tempfile::TempDir::new().unwrap();
    for file in ["mandelbrot.toml", "cluster.toml"] {
        fs::copy(example().join(file), folder.path().join(file)).unwrap();
    }
    let recorded = ["simulate", "mandelbrot.toml", "--out", "runs/mandelbrot"];
    stdout_in(folder.path(), &recorded);
    let text = fs::read_to_string(page()).unwrap();
    let mut parts: Vec<String> = text.split("```").map(str::to_owned).collect();
    let (mut code, mut shown) = (0, 0);
    for index in (1..parts.len()).step_by(2) {
        let (kind, block) = parts[index].split_once('\n').unwrap();
        match kind {
            "rust" | "toml" => {
                // The name in backquotes that comes last before a block is that of its file.
                let name = parts[index - 1].rsplit('`').nth(1).unwrap();
                let file = fs::read_to_string(example().join(name)).unwrap();
                assert!(file.contains(block), "{name} does not hold\n{block}");
                code += 1;
            }
            "console" => {
                let (command, _) = block.split_once('\n').unwrap();
                let words = command.strip_prefix("$ cargo run --release -p mandelbrot -- ");
                let words: Vec<&str> = words.unwrap().split_whitespace().collect();
                parts[index] = format!("console\n{command}\n{}", stdout_in(folder.path(), &words));
                shown += 1;
            }
            "sh" => {}
            _ => panic!("a block of {kind}"),
        }
    }
    assert_eq!((code, shown), (3, 2));
    let right = parts.join("```");
    if std::env::var_os("MIGBSP_UPDATE").is_some() {
        fs::write(page(), &right).unwrap();
    }
    assert_eq!(fs::read_to_string(page()).unwrap(), right);
}

#[test]
fn makespans_are_those_of_the_table() {
    let text = fs::read_to_string(page()).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, kind, mandelbrot, product, _] = cells[..] else {
            return None;
        };
        let kind = kind.strip_prefix('`')?.strip_suffix('`')?;
        Some((kind, mandelbrot.parse().ok()?, product.parse().ok()?))
    });
    let rows: Vec<(&str, f64, f64)> = rows.collect();
    assert_eq!(rows.len(), 6);
    for (kind, mandelbrot, product) in rows {
        let product_file = Path::new("../../conf/matrix-product.toml");
        for (file, workload, expected) in [
            (Path::new("mandelbrot.toml"), "mandelbrot", mandelbrot),
            (product_file, "matrix-product", product),
        ] {
            let set = format!("application.{workload}.dealing.kind={kind}");
            let file = file.to_str().unwrap();
            let json = stdout(&["simulate", file, "--set", &set, "--format", "json"]);
            let json: Value = serde_json::from_str(&json).unwrap();
            let run = &json["runs"][0];
            let seconds = run["seconds"].as_f64().unwrap();
            assert!(
                (seconds - expected).abs() < 6e-4,
                "{file}, {kind}: {seconds} s, not {expected}"
            );
            assert!(run["verified"].is_string(), "{run}");
        }
    }
}

#[test]
fn the_picture_and_the_outcomes_are_right_on_nodes_too() {
    let folder = tempfile::TempDir::new().unwrap();
    let outputs = format!("{}/", folder.path().join("picture").display());
    let size = "application.mandelbrot.size=120";
    let run = [
        "run",
        "mandelbrot.toml",
        "--set",
        size,
        "--outputs",
        &outputs,
    ];
    let up = ["up", "--local", "4", "--slow", "4:0.4", "--"];
    let text = stdout(&[&up[..], &run].concat());
    assert!(
        text.contains("all 120 rows are those of a single thread"),
        "{text}"
    );
    let picture = fs::read(folder.path().join("picture/mandelbrot.pgm")).unwrap();
    assert!(picture.starts_with(b"P5\n120 120\n255\n"));
    // Outside the set and inside.
    let pixels = &picture[picture.len() - 120 * 120..];
    assert_eq!(pixels[60 * 120 + 80], 0);
    assert!(0 < pixels[60 * 120 + 110]);
}
