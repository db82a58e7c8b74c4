//! A value of an instance file, its place, and the rules that it keeps.

use std::iter;

use bsp::check_name;

use crate::instance::source::Source;
use settings::Fault;
use settings::Node;
use settings::Value;
use settings::list;

/// A value, and the path to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    source: &'a Source,
    node: &'a Node,
    within: Option<&'a Self>,
    /// The number of the entry or item.
    number: usize,
    /// The key, if it is an entry.
    key: Option<&'a str>,
}

/// The entries of an object, none of which is unknown or duplicated.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    place: &'a Place<'a>,
    entries: &'a [(String, Node)],
}

/// A range of numbers, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether 0 is valid as well.
    pub(super) or_zero: bool,
}

impl Range {
    /// Whether `number` is one of these.
    pub(crate) fn holds(self, number: f64) -> bool {
        (self.low..=self.high).contains(&number) || self.or_zero && number == 0.0
    }

    /// The range, for messages.
    pub(crate) fn expected(self) -> String {
        if self.or_zero {
            format!("0 or a number from {:e} to {:e}", self.low, self.high)
        } else {
            format!("a number above 0, from {:e} to {:e}", self.low, self.high)
        }
    }
}

impl<'a> Place<'a> {
    /// The whole file.
    pub(super) const fn root(source: &'a Source) -> Self {
        Self {
            source,
            node: &source.tree,
            within: None,
            number: 0,
            key: None,
        }
    }

    /// The entries, all of which have to be of `keys` or `notes`.
    pub(super) fn entries(
        &'a self,
        what: &str,
        keys: &'static [&'static str],
        notes: &[&str],
    ) -> Result<Entries<'a>, Fault> {
        let Value::Table(entries) = &self.node.value else {
            let known = list(keys);
            return Err(self.invalid(format!("must be {what}: an object with {known}")));
        };
        for (number, (key, node)) in entries.iter().enumerate() {
            let place = self.entry(number, key, node);
            if !keys.contains(&key.as_str()) && !notes.contains(&key.as_str()) {
                return Err(Fault::unknown_key(
                    Some(&place.origin()),
                    &place.name(),
                    keys,
                ));
            }
            if let Some(first) = entries[..number].iter().position(|(other, _)| other == key) {
                let first = self.source.place(&self.entry(first, key, node).path());
                return Err(place.fault(format!("duplicate key, first in {first}")));
            }
        }
        Ok(Entries {
            place: self,
            entries,
        })
    }

    /// The items of a list.
    pub(super) fn items(
        &'a self,
        expected: &str,
    ) -> Result<impl Iterator<Item = Place<'a>>, Fault> {
        let Value::Array(items) = &self.node.value else {
            return Err(self.invalid(format!("must be {expected}")));
        };
        if items.is_empty() {
            return Err(self.invalid(format!("must be {expected}")));
        }
        let item = move |(number, node)| Place {
            source: self.source,
            node,
            within: Some(self),
            number,
            key: None,
        };
        Ok(items.iter().enumerate().map(item))
    }

    /// A list of at least one number within `range`.
    pub(super) fn numbers(&self, range: Range) -> Result<Vec<f64>, Fault> {
        self.items("a list of numbers")?
            .map(|place| place.number(range))
            .collect()
    }

    /// A list of numbers within `range`, which may be empty.
    pub(super) fn some_numbers(&self, range: Range) -> Result<Vec<f64>, Fault> {
        match &self.node.value {
            Value::Array(items) if items.is_empty() => Ok(Vec::new()),
            _ => self.numbers(range),
        }
    }

    /// A number within `range`.
    pub(super) fn number(&self, range: Range) -> Result<f64, Fault> {
        let number = match self.node.value {
            Value::Float(number) => Some(number),
            #[expect(
                clippy::as_conversions,
                clippy::cast_precision_loss,
                reason = "a whole number beyond what a float holds is beyond the range, too"
            )]
            Value::Integer(number) => Some(number as f64),
            _ => None,
        };
        number
            .filter(|number| range.holds(*number))
            .ok_or_else(|| self.invalid(format!("must be {}", range.expected())))
    }

    /// Item `number` of a list, if it is one and has it.
    pub(super) fn item(&'a self, number: usize) -> Option<Self> {
        self.items("").ok()?.nth(number)
    }

    /// Whether it is a list without items.
    pub(super) const fn is_empty_list(&self) -> bool {
        matches!(&self.node.value, Value::Array(items) if items.is_empty())
    }

    /// Whether it is an object.
    pub(super) const fn is_object(&self) -> bool {
        matches!(&self.node.value, Value::Table(_))
    }

    /// `true` or `false`.
    pub(super) fn boolean(&self) -> Result<bool, Fault> {
        match self.node.value {
            Value::Boolean(value) => Ok(value),
            _ => Err(self.invalid("must be true or false".to_owned())),
        }
    }

    /// A whole number up to `max`, which is `what`.
    pub(super) fn whole(&self, max: u64, what: &str) -> Result<u64, Fault> {
        let number = match &self.node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number.filter(|number| *number <= max).ok_or_else(|| {
            let range = match max {
                u64::MAX => "a whole number of at least 0".to_owned(),
                max => format!("a whole number from 0 to {max}: {what}"),
            };
            self.invalid(format!("must be {range}"))
        })
    }

    /// A string.
    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.invalid("must be a string".to_owned())),
        }
    }

    /// A string without control characters.
    pub(super) fn shown(&self) -> Result<&'a str, Fault> {
        let text = self.text()?;
        check_name(text).map_err(|fault| self.fault(fault.to_string()))?;
        Ok(text)
    }

    /// `problem`, at this place.
    pub(super) fn fault(&self, problem: String) -> Fault {
        Fault::new(Some(&self.origin()), &self.name(), problem)
    }

    /// The value does not keep `rule`.
    pub(super) fn invalid(&self, rule: String) -> Fault {
        Fault::invalid(Some(&self.origin()), &self.name(), self.met(), rule)
    }

    fn entry(&'a self, number: usize, key: &'a str, node: &'a Node) -> Self {
        Self {
            source: self.source,
            node,
            within: Some(self),
            number,
            key: Some(key),
        }
    }

    /// From this value outwards to the whole file.
    fn outwards(&self) -> impl Iterator<Item = &Self> {
        iter::successors(Some(self), |place| place.within)
    }

    fn path(&self) -> Vec<usize> {
        let inside = self.outwards().filter(|place| place.within.is_some());
        let mut path: Vec<usize> = inside.map(|place| place.number).collect();
        path.reverse();
        path
    }

    fn origin(&self) -> String {
        self.source.place(&self.path())
    }

    /// `processes[3][0]`, `bandwidth.intra`.
    fn name(&self) -> String {
        let mut places: Vec<&Self> = self.outwards().collect();
        places.reverse();
        places
            .iter()
            .skip(1)
            .fold(String::new(), |name, place| match place.key {
                Some(key) if name.is_empty() => shortened(key),
                Some(key) => format!("{name}.{}", shortened(key)),
                None => format!("{name}[{}]", place.number),
            })
    }

    /// The name of the entry `key`.
    fn key_of(&self, key: &str) -> String {
        match self.name() {
            name if name.is_empty() => key.to_owned(),
            name => format!("{name}.{key}"),
        }
    }

    fn met(&self) -> String {
        match &self.node.value {
            Value::Nil => "null".to_owned(),
            Value::Array(items) if items.is_empty() => "[]".to_owned(),
            Value::Array(_) => "[…]".to_owned(),
            Value::Table(_) => "{…}".to_owned(),
            value @ (Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_)) => {
                shortened(&value.to_string())
            }
        }
    }
}

impl<'a> Entries<'a> {
    /// The value of `key`.
    pub(super) fn required(&self, key: &'static str) -> Result<Place<'a>, Fault> {
        self.optional(key).ok_or_else(|| {
            let key = self.place.key_of(key);
            Fault::missing(Some(&self.place.origin()), &key)
        })
    }

    /// The value of `key`, if there is one.
    pub(super) fn optional(&self, key: &'static str) -> Option<Place<'a>> {
        let number = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.place.entry(number, key, &self.entries[number].1))
    }
}

/// `text`, cut to the length that fits a line of a message.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MET_MAX {
        return text.to_owned();
    }
    text.chars().take(MET_MAX).chain(['…']).collect()
}

/// Characters of an invalid value that a message shows.
const MET_MAX: usize = 40;
