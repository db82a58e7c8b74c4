//! Arrays of numbers in NumPy's format.
//!
//! A file is a magic number, a line of text that describes the array, and its elements (NEP 1, version 1.0). Libraries
//! for it also read it, for which they bring a parser generator; here it is only written.

use super::value::Value;

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
pub(super) fn npy(shape: &[usize], elements: &Numbers) -> Vec<u8> {
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
pub(super) fn of_outputs(outputs: &[Value]) -> Result<Vec<u8>, String> {
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
