//! The outputs of programs, as the contents of files.

mod form;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, Path};

use bsp::Rank;
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use settings::join;

pub(crate) use form::check as check_form;

/// The `outputs` of programs, by rank, in a format.
///
/// # Errors
///
/// If the format cannot hold them.
pub(crate) fn encode<Output: Serialize>(
    outputs: &[Output],
    format: OutputsFormat,
) -> Result<Vec<u8>, OutputsError> {
    match format {
        OutputsFormat::Json => {
            let mut text = serde_json::to_vec(outputs)
                .map_err(|error| OutputsError::new(format, error.to_string()))?;
            text.push(b'\n');
            Ok(text)
        }
        OutputsFormat::MessagePack => rmp_serde::to_vec_named(outputs)
            .map_err(|error| OutputsError::new(format, error.to_string())),
        OutputsFormat::Csv => {
            let values = values(outputs);
            let rows = values.and_then(|values| rows(&values));
            rows.map_err(|problem| OutputsError::new(format, problem))
        }
        OutputsFormat::Npy => {
            let values = values(outputs);
            let array = values.and_then(|values| array(&values));
            array.map_err(|problem| OutputsError::new(format, problem))
        }
    }
}

/// How the outputs of a run are written, by the ending of a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputsFormat {
    /// `.json`: a list, an output for each process. Numbers that are not finite are `null`.
    Json,
    /// `.csv`: a row for each process, a column for each number or text in its output.
    Csv,
    /// `.msgpack`: the same list as JSON, with all floating-point numbers.
    MessagePack,
    /// `.npy`: an array whose first axis is the processes, of numbers or of arrays of equal shape.
    Npy,
}

impl OutputsFormat {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Json, Self::Csv, Self::MessagePack, Self::Npy];

    /// The ending of names, without the dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::MessagePack => "msgpack",
            Self::Npy => "npy",
        }
    }

    /// The format of a file with this name; `None` for any other ending.
    #[must_use]
    pub fn of_file(file: &Path) -> Option<Self> {
        let ending = file.extension()?.to_str()?;
        let mut all = Self::ALL.into_iter();
        all.find(|format| format.ending().eq_ignore_ascii_case(ending))
    }

    /// The endings of the others, in a list.
    pub(super) fn others(self) -> String {
        let others = Self::ALL.into_iter().filter(|other| *other != self);
        let endings: Vec<String> = others
            .map(|other| format!("`.{}`", other.ending()))
            .collect();
        endings.join(", ")
    }
}

/// Why the outputs of a run cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the outputs cannot be written as `.{}`: {problem}; other endings are {}", format.ending(), format.others())]
pub struct OutputsError {
    format: OutputsFormat,
    problem: String,
}

impl OutputsError {
    pub(super) fn new(format: OutputsFormat, problem: String) -> Self {
        Self { format, problem }
    }
}

/// A file that a workload derives from the outputs of its programs: a name and the contents.
///
/// # Examples
///
/// ```
/// use experiments::OutputFile;
///
/// let text = OutputFile::new("summary.txt", "two processes\n");
/// assert_eq!(text.name(), "summary.txt");
/// let array = OutputFile::array("ranks.npy", &[2, 2], vec![0.1, 0.2, 0.3, 0.4]);
/// assert!(array.contents().starts_with(b"\x93NUMPY"));
/// let picture = OutputFile::picture("shade.pgm", [2, 1], |x, _| if x == 0 { 0.0 } else { 1.0 });
/// assert_eq!(picture.contents(), b"P5\n2 1\n255\n\x00\xff");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    name: String,
    contents: Vec<u8>,
}

impl OutputFile {
    /// A file with these contents. The name has no folder in it.
    #[must_use]
    pub fn new(name: &str, contents: impl Into<Vec<u8>>) -> Self {
        Self {
            name: name.to_owned(),
            contents: contents.into(),
        }
    }

    /// An array in NumPy's format, its elements row after row.
    ///
    /// # Panics
    ///
    /// If it has another number of elements than its `shape`.
    #[must_use]
    pub fn array(name: &str, shape: &[usize], elements: impl Into<Numbers>) -> Self {
        Self::new(name, npy(shape, &elements.into()))
    }

    /// A picture in shades of grey, as a portable graymap (PGM): the brightness of every pixel, from 0 to 1, by its
    /// column and by its row from the top.
    #[must_use]
    pub fn picture(
        name: &str,
        [width, height]: [usize; 2],
        brightness: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let mut contents = format!("P5\n{width} {height}\n255\n").into_bytes();
        for y in 0..height {
            contents.extend((0..width).map(|x| shade(brightness(x, y))));
        }
        Self::new(name, contents)
    }

    /// Checks that the files of `workload` have names of their own in one folder, beside the `reserved` ones.
    ///
    /// # Errors
    ///
    /// The first name that is taken, or is not the plain name of a file.
    pub fn check_names(workload: &str, files: &[Self], reserved: &[&str]) -> Result<(), String> {
        let mut names: BTreeSet<&str> = reserved.iter().copied().collect();
        for file in files {
            let name = file.name();
            let mut components = Path::new(name).components();
            let is_plain =
                matches!(components.next(), Some(Component::Normal(only)) if only == name);
            let problem = if !is_plain {
                "must be the name of a file, without a folder"
            } else if names.insert(name) {
                continue;
            } else {
                "is there twice"
            };
            return Err(format!(
                "workload `{workload}`: the output file {name:?} {problem}"
            ));
        }
        Ok(())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its contents.
    #[must_use]
    pub fn contents(&self) -> &[u8] {
        &self.contents
    }
}

/// The nearest of 256 shades.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is from 0 to 255"
)]
fn shade(brightness: f64) -> u8 {
    (brightness.clamp(0.0, 1.0) * 255.0).round() as u8
}

// Arrays of numbers in NumPy's format.
//
// A file is a magic number, a line of text that describes the array, and its elements (NEP 1, version 1.0). Libraries
// for it also read it, for which they bring a parser generator; here it is only written.

/// Elements of an array, row after row.
#[derive(Clone, Debug, PartialEq)]
pub enum Numbers {
    /// Truth values.
    Booleans(Vec<bool>),
    /// Integers.
    Signed(Vec<i64>),
    /// Integers that are not negative.
    Unsigned(Vec<u64>),
    /// Numbers of single precision.
    Singles(Vec<f32>),
    /// Numbers of double precision.
    Doubles(Vec<f64>),
}

impl From<Vec<bool>> for Numbers {
    fn from(elements: Vec<bool>) -> Self {
        Self::Booleans(elements)
    }
}

impl From<Vec<i64>> for Numbers {
    fn from(elements: Vec<i64>) -> Self {
        Self::Signed(elements)
    }
}

impl From<Vec<u64>> for Numbers {
    fn from(elements: Vec<u64>) -> Self {
        Self::Unsigned(elements)
    }
}

impl From<Vec<f32>> for Numbers {
    fn from(elements: Vec<f32>) -> Self {
        Self::Singles(elements)
    }
}

impl From<Vec<f64>> for Numbers {
    fn from(elements: Vec<f64>) -> Self {
        Self::Doubles(elements)
    }
}

impl Numbers {
    fn len(&self) -> usize {
        match self {
            Self::Booleans(elements) => elements.len(),
            Self::Signed(elements) => elements.len(),
            Self::Unsigned(elements) => elements.len(),
            Self::Singles(elements) => elements.len(),
            Self::Doubles(elements) => elements.len(),
        }
    }

    /// NumPy's name of the type.
    const fn descriptor(&self) -> &'static str {
        match self {
            Self::Booleans(_) => "|b1",
            Self::Signed(_) => "<i8",
            Self::Unsigned(_) => "<u8",
            Self::Singles(_) => "<f4",
            Self::Doubles(_) => "<f8",
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Booleans(elements) => elements.iter().map(|is_true| u8::from(*is_true)).collect(),
            Self::Signed(elements) => elements.iter().flat_map(|n| n.to_le_bytes()).collect(),
            Self::Unsigned(elements) => elements.iter().flat_map(|n| n.to_le_bytes()).collect(),
            Self::Singles(elements) => elements.iter().flat_map(|n| n.to_le_bytes()).collect(),
            Self::Doubles(elements) => elements.iter().flat_map(|n| n.to_le_bytes()).collect(),
        }
    }
}

/// The file of an array.
///
/// # Panics
///
/// If it has another number of elements than its `shape`.
fn npy(shape: &[usize], elements: &Numbers) -> Vec<u8> {
    let number: usize = shape.iter().product();
    assert_eq!(
        number,
        elements.len(),
        "an element for each place of {shape:?}"
    );
    let descriptor = elements.descriptor();
    let mut header = format!(
        "{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {}, }}",
        tuple(shape)
    );
    // Magic number, version and length take 10 bytes, a line break 1; elements begin at a multiple of 64.
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let length = u16::try_from(header.len()).expect("arrays of outputs have few axes");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(length.to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(elements.bytes());
    file
}

/// The file of an array whose first axis is the processes.
///
/// # Errors
///
/// If the outputs are neither numbers nor arrays of numbers of equal shape.
fn array(outputs: &[Value]) -> Result<Vec<u8>, String> {
    let mut elements = Vec::new();
    let mut first: Option<Vec<usize>> = None;
    for (index, output) in outputs.iter().enumerate() {
        let process = index + 1;
        let shape =
            shape(output).map_err(|problem| format!("the output of p{process} {problem}"))?;
        match &first {
            Some(first) if *first != shape => {
                let (first, shape) = (tuple(first), tuple(&shape));
                return Err(format!(
                    "the output of p1 has the shape {first}, and that of p{process} {shape}"
                ));
            }
            Some(_) => {}
            None => first = Some(shape),
        }
        flatten(output, &mut elements);
    }
    let mut shape = vec![outputs.len()];
    shape.extend(first.unwrap_or_default());
    Ok(npy(&shape, &numbers(&elements)?))
}

/// A shape as Python writes it.
fn tuple(shape: &[usize]) -> String {
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    match &axes[..] {
        [axis] => format!("({axis},)"),
        axes => format!("({})", axes.join(", ")),
    }
}

/// The shape of a number or an array.
fn shape(value: &Value) -> Result<Vec<usize>, &'static str> {
    match value {
        Value::Boolean(_) | Value::Integer(_) | Value::Single(_) | Value::Double(_) => {
            Ok(Vec::new())
        }
        Value::Nothing => Err("has an empty place"),
        Value::Text(_) => Err("has a text"),
        Value::Record(_) => Err("has fields with names"),
        Value::List(items) => {
            let mut shapes = items.iter().map(shape);
            let first = shapes.next().unwrap_or_else(|| Ok(Vec::new()))?;
            for shape in shapes {
                if shape? != first {
                    return Err("has lists of different lengths");
                }
            }
            Ok([vec![items.len()], first].concat())
        }
    }
}

/// Appends the elements of an array, row after row.
fn flatten<'a>(value: &'a Value, elements: &mut Vec<&'a Value>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| flatten(item, elements)),
        element => elements.push(element),
    }
}

/// Elements of one type: the first that holds all of them.
fn numbers(elements: &[&Value]) -> Result<Numbers, String> {
    // The type of no element is not known; NumPy takes double precision then.
    if elements.is_empty() {
        return Ok(Numbers::Doubles(Vec::new()));
    }
    let all: Option<Numbers> = None
        .or_else(|| Some(typed(elements, boolean)?.into()))
        .or_else(|| Some(typed(elements, integer::<i64>)?.into()))
        .or_else(|| Some(typed(elements, integer::<u64>)?.into()))
        .or_else(|| Some(typed(elements, single)?.into()))
        .or_else(|| Some(typed(elements, double)?.into()));
    all.ok_or_else(|| "an array has either numbers or truth values".to_owned())
}

fn typed<T>(elements: &[&Value], element: fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    elements.iter().map(|value| element(value)).collect()
}

const fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Boolean(value) => Some(*value),
        _ => None,
    }
}

fn integer<T: TryFrom<i128>>(value: &Value) -> Option<T> {
    match value {
        Value::Integer(value) => T::try_from(*value).ok(),
        _ => None,
    }
}

const fn single(value: &Value) -> Option<f32> {
    match value {
        Value::Single(value) => Some(*value),
        _ => None,
    }
}

fn double(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Single(value) => Some((*value).into()),
        Value::Double(value) => Some(*value),
        _ => None,
    }
}

/// The columns for the values at one place of all outputs.
#[derive(Debug, Default)]
struct Columns {
    /// Whether some output has a value without parts there.
    has_value: bool,
    /// The parts, in the order of their first occurrence.
    parts: Vec<(String, Self)>,
    /// Where each of them is.
    places: BTreeMap<String, usize>,
}

/// The table of `outputs`: a row for each process, under a header.
///
/// A column is named after the way to its value: names of fields and positions in lists, from 0, joined by points.
/// An output that is a single number or text is in the column `value`. What an output does not have is empty.
///
/// # Errors
///
/// Never: rows are plain data.
fn rows(outputs: &[Value]) -> Result<Vec<u8>, String> {
    let mut columns = Columns::default();
    for output in outputs {
        columns.add(output);
    }
    let mut names = vec!["process".to_owned()];
    columns.names("", &mut names);
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(&names)
        .map_err(|error| error.to_string())?;
    for (index, output) in outputs.iter().enumerate() {
        let mut row = vec![Rank::from_index(index).to_string()];
        columns.cells(Some(output), &mut row);
        writer
            .write_record(&row)
            .map_err(|error| error.to_string())?;
    }
    writer.into_inner().map_err(|error| error.to_string())
}

impl Columns {
    /// Makes room for `value`.
    fn add(&mut self, value: &Value) {
        match value {
            Value::Nothing => {}
            Value::List(items) => {
                for (position, item) in items.iter().enumerate() {
                    self.part(&position.to_string(), position).add(item);
                }
            }
            Value::Record(fields) => {
                for (position, (name, field)) in fields.iter().enumerate() {
                    self.part(name, position).add(field);
                }
            }
            _ => self.has_value = true,
        }
    }

    /// The columns of the part `name`, which is probably at `position`.
    fn part(&mut self, name: &str, position: usize) -> &mut Self {
        let is_there = |(known, _): &(String, Self)| known == name;
        let place = if self.parts.get(position).is_some_and(is_there) {
            position
        } else if let Some(place) = self.places.get(name) {
            *place
        } else {
            self.places.insert(name.to_owned(), self.parts.len());
            self.parts.push((name.to_owned(), Self::default()));
            self.parts.len() - 1
        };
        &mut self.parts[place].1
    }

    /// Appends the names of the columns, below `way`.
    fn names(&self, way: &str, names: &mut Vec<String>) {
        if self.has_value {
            names.push(if way.is_empty() { "value" } else { way }.to_owned());
        }
        for (name, part) in &self.parts {
            let way = join(way, name);
            part.names(&way, names);
        }
    }

    /// Appends the cells of `value` to a row.
    fn cells(&self, value: Option<&Value>, row: &mut Vec<String>) {
        if self.has_value {
            row.push(value.and_then(Value::text).unwrap_or_default());
        }
        let parts: BTreeMap<Cow<'_, str>, &Value> = match value {
            Some(Value::List(items)) => {
                let items = items.iter().enumerate();
                let named = items.map(|(position, item)| (position.to_string().into(), item));
                named.collect()
            }
            Some(Value::Record(fields)) => {
                let fields = fields.iter();
                fields.map(|(name, field)| (name.into(), field)).collect()
            }
            _ => BTreeMap::new(),
        };
        for (name, columns) in &self.parts {
            columns.cells(parts.get(name.as_str()).copied(), row);
        }
    }
}

/// A plain value. Fields of a record are in the order of their declaration.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    /// Nothing, as `None` or `()`.
    Nothing,
    /// A truth value.
    Boolean(bool),
    /// A number of any integer type.
    Integer(i128),
    /// A number of single precision.
    Single(f32),
    /// A number of double precision.
    Double(f64),
    /// A text, or the name of a variant.
    Text(String),
    /// A sequence.
    List(Vec<Self>),
    /// A record, a map, or a variant with contents.
    Record(Vec<(String, Self)>),
}

/// The outputs as values.
///
/// # Errors
///
/// If one of them has no such form.
fn values<Output: Serialize>(outputs: &[Output]) -> Result<Vec<Value>, String> {
    let value = |output: &Output| {
        let mut bytes = Vec::new();
        let mut serializer = rmp_serde::Serializer::new(&mut bytes)
            .with_struct_map()
            .with_human_readable();
        output
            .serialize(&mut serializer)
            .map_err(|error| error.to_string())?;
        rmp_serde::from_slice(&bytes).map_err(|error| error.to_string())
    };
    outputs.iter().map(value).collect()
}

impl Value {
    /// The text of a value without parts; `None` for others.
    fn text(&self) -> Option<String> {
        Some(match self {
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            // Unlike `Display`, this is short for very large and very small numbers.
            Self::Single(value) => format!("{value:?}"),
            Self::Double(value) => format!("{value:?}"),
            Self::Text(value) => value.clone(),
            Self::Nothing | Self::List(_) | Self::Record(_) => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a plain value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f32<E: Error>(self, value: f32) -> Result<Value, E> {
        Ok(Value::Single(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Value, E> {
        let numbers = bytes.iter().map(|byte| Value::Integer((*byte).into()));
        Ok(Value::List(numbers.collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = access.next_entry::<Value, Value>()? {
            let key = key
                .text()
                .ok_or_else(|| A::Error::custom("a key of a map is no number and no text"))?;
            fields.push((key, value));
        }
        Ok(Value::Record(fields))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod file_tests {
    use super::*;

    #[test]
    fn files_of_a_workload_stay_in_their_folder_and_are_distinct() {
        let files = |names: &[&str]| {
            let files: Vec<OutputFile> =
                names.iter().map(|name| OutputFile::new(name, "")).collect();
            OutputFile::check_names("life", &files, &["outputs.json"])
        };
        assert_eq!(files(&["a.txt", "b c.pgm", "..."]), Ok(()));
        for name in ["", ".", "..", "/a", "a/b", "../a", "a/", "./a"] {
            let found = files(&["a.txt", name]).unwrap_err();
            assert_eq!(
                found,
                format!(
                    "workload `life`: the output file {name:?} must be the name of a file, without a folder"
                )
            );
        }
        for names in [&["a", "a"][..], &["outputs.json"]] {
            assert!(files(names).unwrap_err().ends_with("is there twice"));
        }
    }
}
