use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::*;

#[derive(Serialize)]
struct Tally {
    zeta: u32,
    alpha: Option<f64>,
    place: Place,
}

#[derive(Serialize)]
enum Place {
    Nowhere,
    At(i8, i8),
    Named { name: &'static str },
}

fn tallies() -> Vec<Tally> {
    let tally = |zeta, alpha, place| Tally { zeta, alpha, place };
    vec![
        tally(1, None, Place::Nowhere),
        tally(2, Some(0.1), Place::At(-1, 2)),
        tally(3, Some(1e300), Place::Named { name: "a, b" }),
    ]
}

fn text<Output: Serialize>(outputs: &[Output], format: OutputsFormat) -> String {
    String::from_utf8(encode(outputs, format).unwrap()).unwrap()
}

/// Shape and type in the header of an array, and its elements.
fn array<Output: Serialize>(outputs: &[Output]) -> (String, Vec<u8>) {
    let file = encode(outputs, OutputsFormat::Npy).unwrap();
    assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
    let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let (header, elements) = file[10..].split_at(length);
    assert_eq!((10 + length) % 64, 0);
    let header = std::str::from_utf8(header).unwrap();
    assert!(header.ends_with('\n'), "{header}");
    (header.trim_end().to_owned(), elements.to_vec())
}

fn refusal<Output: Serialize>(outputs: &[Output], format: OutputsFormat) -> String {
    encode(outputs, format).unwrap_err().to_string()
}

#[test]
fn a_format_has_its_ending() {
    for format in OutputsFormat::ALL {
        let name = format!("a.b.{}", format.ending());
        assert_eq!(OutputsFormat::of_file(name.as_ref()), Some(format));
        assert_eq!(
            OutputsFormat::of_file(name.to_uppercase().as_ref()),
            Some(format)
        );
    }
    for name in ["json", ".json", "a.txt", "a", "a.json/"] {
        let found = OutputsFormat::of_file(name.as_ref());
        assert_eq!(found.is_some(), name == "a.json/", "{name}");
    }
}

#[test]
fn json_and_messagepack_have_an_output_for_each_process_with_its_names() {
    let outputs = tallies();
    let json: serde_json::Value =
        serde_json::from_str(&text(&outputs, OutputsFormat::Json)).unwrap();
    assert_eq!(
        json,
        json!([
            {"zeta": 1, "alpha": null, "place": "Nowhere"},
            {"zeta": 2, "alpha": 0.1, "place": {"At": [-1, 2]}},
            {"zeta": 3, "alpha": 1e300, "place": {"Named": {"name": "a, b"}}},
        ])
    );
    let packed = encode(&outputs, OutputsFormat::MessagePack).unwrap();
    let unpacked: serde_json::Value = rmp_serde::from_slice(&packed).unwrap();
    assert_eq!(unpacked, json);
}

#[test]
fn csv_has_a_row_for_each_process_and_a_column_for_each_part() {
    assert_eq!(
        text(&tallies(), OutputsFormat::Csv),
        "process,zeta,alpha,place,place.At.0,place.At.1,place.Named.name\n\
         p1,1,,Nowhere,,,\n\
         p2,2,0.1,,-1,2,\n\
         p3,3,1e300,,,,\"a, b\"\n"
    );
    assert_eq!(
        text(&[2.5, f64::NAN], OutputsFormat::Csv),
        "process,value\np1,2.5\np2,NaN\n"
    );
    let ragged = [vec![(1, true)], vec![], vec![(2, false), (3, true)]];
    assert_eq!(
        text(&ragged, OutputsFormat::Csv),
        "process,0.0,0.1,1.0,1.1\np1,1,true,,\np2,,,,\np3,2,false,3,true\n"
    );
    assert_eq!(text(&[(), ()], OutputsFormat::Csv), "process\np1\np2\n");
    let keys = [
        BTreeMap::from([(7, "x")]),
        BTreeMap::from([(5, "y"), (7, "z")]),
    ];
    assert_eq!(
        text(&keys, OutputsFormat::Csv),
        "process,7,5\np1,x,\np2,z,y\n"
    );
}

#[test]
fn numbers_and_arrays_of_equal_shape_are_an_array() {
    let header = |descriptor, shape| {
        format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}")
    };
    let doubles = |numbers: &[f64]| -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    };
    assert_eq!(
        array(&[1.5, -0.0]),
        (header("<f8", "(2,)"), doubles(&[1.5, -0.0]))
    );
    let rows = [vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], vec![[0.0; 3]; 2]];
    let expected = doubles(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(array(&rows), (header("<f8", "(2, 2, 3)"), expected));
    assert_eq!(array(&[1_u8, 2]).0, header("<i8", "(2,)"));
    assert_eq!(
        array(&[0, u64::MAX]),
        (header("<u8", "(2,)"), [[0; 8], [255; 8]].concat())
    );
    assert_eq!(array(&[-1_i32]), (header("<i8", "(1,)"), vec![255; 8]));
    assert_eq!(array(&[[1.0_f32]]).0, header("<f4", "(1, 1)"));
    assert_eq!(
        array(&[[true, false]]),
        (header("|b1", "(1, 2)"), vec![1, 0])
    );
    // As NumPy has it, an integer beside a fraction is a fraction.
    assert_eq!(
        array(&[(1, 0.5)]),
        (header("<f8", "(1, 2)"), doubles(&[1.0, 0.5]))
    );
    assert_eq!(
        array::<[f64; 0]>(&[[], []]),
        (header("<f8", "(2, 0)"), Vec::new())
    );
}

#[test]
fn what_is_no_array_is_refused_with_the_process() {
    let npy = |problem: &str| {
        format!(
            "the outputs cannot be written as `.npy`: {problem}; other endings are `.json`, `.csv`, `.msgpack`"
        )
    };
    let refused = |found: String, problem: &str| assert_eq!(found, npy(problem));
    refused(
        refusal(&[vec![1.0], vec![2.0, 3.0]], OutputsFormat::Npy),
        "the output of p1 has the shape (1,), and that of p2 (2,)",
    );
    refused(
        refusal(&tallies(), OutputsFormat::Npy),
        "the output of p1 has fields with names",
    );
    refused(
        refusal(&[Some(1), None], OutputsFormat::Npy),
        "the output of p2 has an empty place",
    );
    refused(
        refusal(&["a"], OutputsFormat::Npy),
        "the output of p1 has a text",
    );
    refused(
        refusal(&[vec![vec![1], vec![]]], OutputsFormat::Npy),
        "the output of p1 has lists of different lengths",
    );
    refused(
        refusal(&[(true, 1)], OutputsFormat::Npy),
        "an array has either numbers or truth values",
    );
    let keys = [BTreeMap::from([((1, 2), 3)])];
    let found = refusal(&keys, OutputsFormat::Json);
    assert!(found.contains("`.json`: key must be a string"), "{found}");
    let found = refusal(&keys, OutputsFormat::Csv);
    assert!(
        found.contains("`.csv`: a key of a map is no number and no text"),
        "{found}"
    );
}

#[test]
fn a_picture_has_a_byte_for_each_pixel_from_the_top() {
    let picture = OutputFile::picture("a.pgm", [3, 2], |x, y| match (x, y) {
        (0, 0) => -1.0,
        (1, 0) => 0.5,
        (2, 1) => f64::NAN,
        _ => 2.0,
    });
    assert_eq!(
        picture.contents(),
        b"P5\n3 2\n255\n\x00\x80\xff\xff\xff\x00"
    );
}

/// The formats that cannot hold a type, and the problem of the first.
fn unfit<Output: serde::de::DeserializeOwned>() -> (Vec<&'static str>, String) {
    let mut problem = String::new();
    let mut endings = Vec::new();
    for format in OutputsFormat::ALL {
        if let Err(error) = check_form::<Output>(format) {
            endings.push(format.ending());
            problem = error.to_string();
        }
    }
    let problem = problem.split_once(": ").map_or("", |(_, problem)| problem);
    let problem = problem.split("; ").next().unwrap().to_owned();
    (endings, problem)
}

#[derive(Serialize, serde::Deserialize)]
struct Named {
    number: f64,
}

#[derive(Serialize, serde::Deserialize)]
struct Tree(Vec<Self>);

#[derive(Serialize, serde::Deserialize)]
struct Chain(Option<Box<Self>>);

#[test]
fn the_type_of_outputs_says_which_formats_cannot_hold_them() {
    let fits = (Vec::new(), String::new());
    assert_eq!(unfit::<f64>(), fits);
    assert_eq!(unfit::<Vec<[f32; 3]>>(), fits);
    assert_eq!(unfit::<(u8, Vec<bool>)>(), fits);
    assert_eq!(unfit::<Option<i64>>(), fits);
    assert_eq!(unfit::<Tree>(), fits);
    assert_eq!(unfit::<Chain>(), fits);
    // It decodes itself from anything.
    assert_eq!(unfit::<serde_json::Value>(), fits);
    let no_array = |problem: &str| (vec!["npy"], problem.to_owned());
    assert_eq!(
        unfit::<Named>(),
        no_array("an output has fields with names")
    );
    assert_eq!(
        unfit::<Vec<(u8, Named)>>(),
        no_array("an output has fields with names")
    );
    assert_eq!(
        unfit::<BTreeMap<u32, f64>>(),
        no_array("an output has fields with names")
    );
    assert_eq!(unfit::<Vec<String>>(), no_array("an output has a text"));
    assert_eq!(unfit::<()>(), no_array("an output has an empty place"));
    assert_eq!(
        unfit::<Result<f64, u8>>(),
        no_array("an output is one of several kinds")
    );
    let keys = unfit::<Vec<BTreeMap<(u8, u8), f64>>>();
    assert_eq!(keys.0, ["json", "csv", "npy"]);
}

#[test]
fn what_is_refused_by_its_type_cannot_be_written() {
    // The other direction of the check: every refusal is one of values, too.
    assert!(encode(&[Named { number: 1.0 }], OutputsFormat::Npy).is_err());
    assert!(encode(&[BTreeMap::from([(1, 2.0)])], OutputsFormat::Npy).is_err());
    assert!(encode(&[()], OutputsFormat::Npy).is_err());
    assert!(encode(&[Ok::<f64, u8>(1.0)], OutputsFormat::Npy).is_err());
    let keys = [BTreeMap::from([((1, 2), 3)])];
    assert!(
        encode(&keys, OutputsFormat::Json).is_err() && encode(&keys, OutputsFormat::Csv).is_err()
    );
}
