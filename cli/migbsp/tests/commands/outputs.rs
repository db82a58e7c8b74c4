//! `--outputs`: the results of programs as files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::invocation::{Folder, root};
use crate::live::digest_of;

/// A small plate on four hosts, in strips of equal height.
const PLATE: &str = r#"[application]
workload = "heat"
processes = 4
supersteps = 12

[application.heat]
width = 6
height = 8

[platform]
file = "two.xml"

[placement]
order = "fill"
"#;

/// An experiment with another workload.
fn experiment(workload: &str, more: &str) -> String {
    let start = PLATE.find("[platform]").unwrap();
    format!(
        "[application]\nworkload = \"{workload}\"\nprocesses = 4\n{more}\n{}",
        &PLATE[start..]
    )
}

/// The header of an array, and its elements.
fn array(path: &Path) -> (String, Vec<f64>) {
    let file = fs::read(path).unwrap();
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let header = String::from_utf8(file[10..10 + length].to_vec()).unwrap();
    let elements = file[10 + length..].chunks(8);
    let elements = elements.map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()));
    (header.trim_end().to_owned(), elements.collect())
}

fn header(shape: &str) -> String {
    format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}")
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap()
}

#[test]
fn every_scenario_has_the_same_outputs_in_every_format() {
    let folder = Folder::new().with("plate.toml", PLATE);
    let simulate = ["simulate", "plate.toml", "--format", "json"];
    for ending in ["json", "csv", "msgpack", "npy"] {
        let mut files = Vec::new();
        for scenario in ["all", "i", "ii", "iii"] {
            let file = format!("{scenario}.{ending}");
            let scenario = format!("scheduler.scenario={scenario}");
            folder.stdout(&[&simulate[..], &["--set", &scenario, "--outputs", &file]].concat());
            files.push(fs::read(folder.path().join(file)).unwrap());
        }
        assert!(files.iter().all(|file| *file == files[0]), "{ending}");
    }
    let json: Vec<Vec<f64>> = serde_json::from_str(&read(&folder, "all.json")).unwrap();
    assert_eq!(json.len(), 4);
    assert!(json.iter().all(|strip| strip.len() == 2 * 6));
    assert_eq!(
        array(&folder.path().join("all.npy")),
        (header("(4, 12)"), json.concat())
    );
    let csv = read(&folder, "all.csv");
    let rows: Vec<&str> = csv.lines().collect();
    let first = json[0].iter().map(|cell| format!("{cell:?}"));
    let first: Vec<String> = [String::from("p1")].into_iter().chain(first).collect();
    assert_eq!(rows[0], "process,0,1,2,3,4,5,6,7,8,9,10,11");
    assert_eq!((rows.len(), rows[1]), (5, first.join(",").as_str()));
    // The digest in the results is that of the outputs.
    let shown: Value = serde_json::from_str(&folder.stdout(&simulate)).unwrap();
    // An output is encoded as its length, 96 bytes, and its numbers.
    let encoded = json.iter().map(|strip| {
        let numbers = strip.iter().flat_map(|cell| cell.to_le_bytes());
        [0xc4, 96].into_iter().chain(numbers).collect::<Vec<u8>>()
    });
    let digests = encoded.flat_map(|output| hex::decode(digest_of(&output)).unwrap());
    let digest = &shown["runs"][2]["outputs_sha256"];
    assert_eq!(*digest, digest_of(&digests.collect::<Vec<u8>>()));
}

#[test]
fn a_run_on_nodes_has_the_outputs_of_a_simulation() {
    let folder = Folder::new().with("plate.toml", PLATE);
    let up = ["up", "--local", "2", "--", "run", "plate.toml", "--outputs"];
    for file in ["plate.json", "plate/"] {
        folder.stdout(&[&up[..], &[&format!("live-{file}")]].concat());
        folder.stdout(&["simulate", "plate.toml", "--outputs", file]);
    }
    for file in [
        "plate.json",
        "plate/outputs.json",
        "plate/plate.npy",
        "plate/plate.pgm",
    ] {
        let [one, other] = ["live-", ""]
            .map(|which| fs::read(folder.path().join(format!("{which}{file}"))).unwrap());
        assert!(one == other, "{file}");
    }
}

/// The folder with the files of an experiment, which is run in `folder`.
fn made(folder: &Folder) -> PathBuf {
    folder.stdout(&["simulate", "own.toml", "--outputs", "out/"]);
    folder.path().join("out")
}

#[test]
fn heat_adds_its_plate() {
    let folder = Folder::new().with("own.toml", PLATE);
    let out = made(&folder);
    let strips: Vec<Vec<f64>> = serde_json::from_str(&read(&folder, "out/outputs.json")).unwrap();
    let plate = (header("(8, 6)"), strips.concat());
    assert_eq!(array(&out.join("plate.npy")), plate);
    let picture = fs::read(out.join("plate.pgm")).unwrap();
    let shades = picture.strip_prefix(b"P5\n6 8\n255\n").unwrap();
    assert_eq!(shades.len(), 48);
    // The hottest cells, in the middle, are white, and all are above the grey of zero.
    assert!(shades.iter().all(|shade| 127 < *shade));
    assert_eq!((shades[3 * 6 + 2], shades[4 * 6 + 3]), (255, 255));
}

#[test]
fn lu_adds_factors_whose_product_is_the_matrix_with_its_rows_exchanged() {
    let lu = experiment("lu-kernel", "[application.lu-kernel]\nmatrix = \"m.csv\"\n");
    let folder = Folder::new()
        .with("own.toml", lu)
        .with("m.csv", "1,2,3\n4,5,6\n7,8,10\n");
    let matrix = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]];
    let out = made(&folder);
    let (shape, lower) = array(&out.join("lower.npy"));
    let (_, upper) = array(&out.join("upper.npy"));
    assert_eq!(shape, header("(3, 3)"));
    let permutation = fs::read(out.join("permutation.npy")).unwrap();
    assert!(permutation.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i8',"));
    let rows = permutation[permutation.len() - 24..].chunks(8);
    for (row, number) in rows.enumerate() {
        let original = usize::from_le_bytes(number.try_into().unwrap());
        for column in 0..3 {
            let product = (0..3).map(|k| lower[row * 3 + k] * upper[k * 3 + column]);
            let difference = product.sum::<f64>() - matrix[original][column];
            assert!(difference.abs() < 1e-14, "{row}, {column}");
            assert!(column <= row || lower[row * 3 + column] == 0.0);
            assert!(row <= column || upper[row * 3 + column] == 0.0);
        }
    }
}

#[test]
fn lattice_boltzmann_adds_its_fields_and_a_picture() {
    let flow = experiment(
        "lbm-kernel",
        "supersteps = 30\n[application.lbm-kernel]\nwidth = 8\nheight = 6\n",
    );
    let folder = Folder::new().with("own.toml", flow);
    let out = made(&folder);
    let (shape, velocities) = array(&out.join("velocity.npy"));
    assert_eq!(shape, header("(6, 8, 2)"));
    let speed = |cell: &[f64]| cell[0].hypot(cell[1]);
    let speeds: Vec<f64> = velocities.chunks(2).map(speed).collect();
    let fastest = speeds.iter().fold(0.0_f64, |most, speed| most.max(*speed));
    let (shape, densities) = array(&out.join("density.npy"));
    assert_eq!((shape, densities.len()), (header("(6, 8)"), 48));
    let picture = fs::read(out.join("speed.pgm")).unwrap();
    let shades = picture.strip_prefix(b"P5\n8 6\n255\n").unwrap();
    for (y, row) in shades.chunks(8).rev().enumerate() {
        for (x, shade) in row.iter().enumerate() {
            let expected = speeds[y * 8 + x] / fastest * 255.0;
            assert!(
                (f64::from(*shade) - expected).abs() <= 0.5 + 1e-9,
                "{x}, {y}"
            );
        }
    }
    // The lid, which is at the top, is what moves the fluid.
    assert!(shades[..8].contains(&255));
}

#[test]
fn smith_waterman_adds_its_alignment() {
    let alignment = experiment(
        "smith-waterman-kernel",
        "[application.smith-waterman-kernel]\nscoring = \"dna\"\nquery = \"q.fasta\"\nsubject = \"s.fasta\"\n\
         gap_open = 0\ngap_extend = 1\n",
    );
    let long = "ACGTTGCA".repeat(10);
    let folder = Folder::new()
        .with("own.toml", alignment)
        .with("q.fasta", ">q\nttACGTTACGTtt\n")
        .with("s.fasta", ">s\nACGTACGT\n")
        .with("long.fasta", format!(">l\n{long}\n"));
    made(&folder);
    assert_eq!(
        read(&folder, "out/alignment.txt"),
        "score 15: letters 3 to 11 of the query beside 1 to 8 of the subject, 8 of 9 places equal: 3=1I5=\n\n\
         query    3 ACGTTACGT 11\n\
         \x20          ||| |||||\n\
         subject  1 ACG-TACGT 8\n"
    );
    let sequence = |key: &str| format!("application.smith-waterman-kernel.{key}=long.fasta");
    let (query, subject) = (sequence("query"), sequence("subject"));
    let both = ["--set", query.as_str(), "--set", subject.as_str()];
    folder.stdout(&[&["simulate", "own.toml", "--outputs", "out"], &both[..]].concat());
    let (first, second) = long.split_at(60);
    let marks = "|".repeat(60);
    assert_eq!(
        read(&folder, "out/alignment.txt")
            .split_once("\n\n")
            .unwrap()
            .1,
        format!(
            "query    1 {first} 60\n           {marks}\nsubject  1 {first} 60\n\n\
             query   61 {second} 80\n           {}\nsubject 61 {second} 80\n",
            &marks[..20]
        )
    );
}

#[test]
fn a_place_that_is_none_is_refused_before_the_run() {
    let folder = Folder::new().with("plate.toml", PLATE).with("file", "");
    let endless = [
        "simulate",
        "plate.toml",
        "--set",
        "application.supersteps=1000000",
    ];
    let refused = |place: &str, code: i32, words: &str| {
        let ended = folder.run(&[&endless[..], &["--outputs", place]].concat());
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (Some(code), ""),
            "{ended:?}"
        );
        assert!(ended.stderr.contains(words), "{ended:?}");
    };
    let endings =
        "must end in one of `.json`, `.csv`, `.msgpack`, `.npy`, or be a folder and end in `/`";
    refused("plate.txt", 2, endings);
    refused("plate", 2, endings);
    refused(
        "none/plate.json",
        1,
        "none/plate.json: cannot be written: No such file",
    );
    refused("file/", 1, "file");
    let ended = folder.run(&[
        "up",
        "--local",
        "1",
        "--",
        "run",
        "plate.toml",
        "--outputs",
        "plate.txt",
    ]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains(endings), "{ended:?}");
    assert!(!folder.path().join("plate").exists());
}

#[test]
fn outputs_that_a_format_cannot_hold_are_refused_before_the_run() {
    let folder = Folder::new().with("plate.npy", "before");
    let refused = "--outputs: the outputs cannot be written as `.npy`: an output has fields with names; other endings are \
                   `.json`, `.csv`, `.msgpack`";
    let endless = ["--set", "application.supersteps=1000000"];
    let simulate = ["simulate", "e.toml", "--outputs", "plate.npy"];
    folder.fails(&[&simulate[..], &endless].concat(), 2, refused);
    let run = ["run", "e.toml", "--outputs", "plate.npy"];
    folder.fails(
        &[&["up", "--local", "1", "--"], &run[..]].concat(),
        2,
        refused,
    );
    assert_eq!(read(&folder, "plate.npy"), "before");
}

#[test]
fn outputs_whose_values_a_format_cannot_hold_are_kept_otherwise() {
    // Strips of 3, 2, 2 and 2 rows.
    let folder = Folder::new().with("plate.toml", PLATE.replace("height = 8", "height = 9"));
    let simulate = ["simulate", "plate.toml", "--set", "scheduler.scenario=i"];
    let ended = folder.run(&[&simulate[..], &["--outputs", "plate.npy"]].concat());
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stdout.contains("scenario"), "{ended:?}");
    assert_eq!(
        ended.stderr,
        "error: --outputs: the outputs cannot be written as `.npy`: the output of p1 has the shape (18,), and that of p2 \
         (12,); other endings are `.json`, `.csv`, `.msgpack`\n  note: the outputs are in plate.npy.msgpack\n"
    );
    folder.stdout(&[&simulate[..], &["--outputs", "plate.msgpack"]].concat());
    let bytes = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(bytes("plate.npy.msgpack"), bytes("plate.msgpack"));
    assert!(!folder.path().join("plate.npy").exists());
}

#[test]
fn shipped_kernels_leave_what_the_documentation_lists() {
    let page = fs::read_to_string(root().join("docs/reference/experiments.md")).unwrap();
    for name in [
        "alignment.txt",
        "density.npy",
        "lower.npy",
        "outputs.json",
        "permutation.npy",
        "plate.npy",
        "plate.pgm",
        "speed.pgm",
        "upper.npy",
        "velocity.npy",
    ] {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
}
