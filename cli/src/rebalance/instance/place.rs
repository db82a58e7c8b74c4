//! A value of an instance file, where it is, and what it has to be.

use std::iter;

use bsp::check_name;

use crate::rebalance::instance::source::Source;
use settings::Fault;
use settings::Node;
use settings::Value;
use settings::list;

/// A value, and the way to it.
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

/// The entries of an object, none of which is unknown or there twice.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    place: &'a Place<'a>,
    entries: &'a [(String, Node)],
}

/// What a number may be, both ends included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Whether 0 will do, too.
    pub(super) or_zero: bool,
}

impl Range {
    /// Whether `number` is one of these.
    pub(crate) fn holds(self, number: f64) -> bool {
        (self.low..=self.high).contains(&number) || self.or_zero && number == 0.0
    }

    /// What would do, for messages.
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
            return Err(self.fault(format!(
                "met {}, expected {what}: an object with {known}",
                self.met()
            )));
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
                return Err(place.fault(format!("is there twice, first in {first}")));
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
            return Err(self.fault(format!("met {}, expected {expected}", self.met())));
        };
        if items.is_empty() {
            return Err(self.fault(format!("met an empty list, expected {expected}")));
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
            .ok_or_else(|| self.fault(format!("met {}, expected {}", self.met(), range.expected())))
    }

    /// A whole number up to `max`.
    pub(super) fn whole(&self, max: u64) -> Result<u64, Fault> {
        let number = match &self.node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number.filter(|number| *number <= max).ok_or_else(|| {
            let range = match max {
                u64::MAX => "from 0 on".to_owned(),
                0 => "which can only be 0: there is one machine".to_owned(),
                max => format!("from 0 to {max}: the place of a machine in `capacities`"),
            };
            self.fault(format!(
                "met {}, expected a whole number {range}",
                self.met()
            ))
        })
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.fault(format!("met {}, expected a text in quotes", self.met()))),
        }
    }

    /// A text that can be shown.
    pub(super) fn shown(&self) -> Result<&'a str, Fault> {
        let text = self.text()?;
        check_name(text).map_err(|fault| self.fault(format!("met {fault}")))?;
        Ok(text)
    }

    /// `problem` is here.
    pub(super) fn fault(&self, problem: String) -> Fault {
        Fault::new(Some(&self.origin()), &self.name(), problem)
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

    /// From here to the whole file.
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

    fn met(&self) -> String {
        match &self.node.value {
            Value::Nil => "null".to_owned(),
            Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Table(_) => "an object".to_owned(),
            value @ (Value::Boolean(_) | Value::Integer(_) | Value::Float(_) | Value::Text(_)) => {
                shortened(&value.to_string())
            }
        }
    }
}

impl<'a> Entries<'a> {
    /// The value of `key`.
    pub(super) fn required(&self, key: &'static str) -> Result<Place<'a>, Fault> {
        self.optional(key)
            .ok_or_else(|| self.place.fault(format!("`{key}` is missing")))
    }

    /// The value of `key`, if it is there.
    pub(super) fn optional(&self, key: &'static str) -> Option<Place<'a>> {
        let number = self.entries.iter().position(|(name, _)| name == key)?;
        Some(self.place.entry(number, key, &self.entries[number].1))
    }
}

/// As much of `text` as a line of a message has room for.
fn shortened(text: &str) -> String {
    if text.chars().count() <= MET_MAX {
        return text.to_owned();
    }
    text.chars().take(MET_MAX).chain(['…']).collect()
}

/// Characters of what was met that a message shows.
const MET_MAX: usize = 40;
