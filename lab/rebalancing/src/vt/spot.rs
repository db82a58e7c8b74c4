//! A value of a task or communication, its place, and the rules that it keeps.

use serde_json::Value;
use serde_json::value::RawValue;
use settings::{Fault, nearest};

/// An item of a list of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a> {
    /// The file's path.
    pub(super) file: &'a str,
    /// The phase's position in its file.
    pub(super) phase: usize,
    /// `tasks` or `communications`.
    pub(super) list: &'static str,
    /// The item's position in the list.
    pub(super) number: usize,
}

/// A value inside an item, or its absence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    item: Item<'a>,
    value: Option<&'a Value>,
    within: Option<(&'a Self, &'static str)>,
}

impl Item<'_> {
    /// The value of the item, whose text is `raw`.
    ///
    /// # Errors
    ///
    /// If a number is beyond all ranges, or lists are nested too deeply.
    pub(super) fn parse(&self, raw: &RawValue) -> Result<Value, Fault> {
        serde_json::from_str(raw.get()).map_err(|error| {
            let problem = error.to_string();
            let problem = problem.split(" at line ").next().unwrap_or_default();
            Fault::new(Some(self.file), &self.name(), problem)
        })
    }

    fn name(&self) -> String {
        format!("phases[{}].{}[{}]", self.phase, self.list, self.number)
    }
}

impl<'a> Spot<'a> {
    /// The whole item.
    pub(super) const fn root(item: Item<'a>, value: &'a Value) -> Self {
        Self {
            item,
            value: Some(value),
            within: None,
        }
    }

    /// The value of `key`; null is as none.
    pub(super) fn get(&'a self, key: &'static str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self {
            item: self.item,
            value: value.filter(|value| !value.is_null()),
            within: Some((self, key)),
        }
    }

    pub(super) const fn is_absent(&self) -> bool {
        self.value.is_none()
    }

    /// The value, if it is an object.
    pub(super) fn object(self) -> Result<Self, Fault> {
        self.required("an object", |value| value.is_object().then_some(()))?;
        Ok(self)
    }

    /// [`Self::object`], in which no key is a misspelt one of `known`.
    pub(super) fn object_of(self, known: &[&'static str]) -> Result<Self, Fault> {
        let object = self.object()?;
        match object.similar_key(known) {
            Some((key, _)) => {
                let key = format!("{}.{key}", object.name());
                Err(Fault::unknown_key(Some(object.item.file), &key, known))
            }
            None => Ok(object),
        }
    }

    /// The first key of the object that is none of `known` and similar to one that is not there.
    pub(super) fn similar_key(&self, known: &[&'static str]) -> Option<(String, &'static str)> {
        let keys = self.value?.as_object()?.keys();
        misspelt(&keys.map(String::as_str), known)
    }

    /// An object, or nothing.
    pub(super) fn optional_object(self) -> Result<Self, Fault> {
        if self.is_absent() {
            Ok(self)
        } else {
            self.object()
        }
    }

    pub(super) fn text(&self) -> Result<&'a str, Fault> {
        self.required("a string", Value::as_str)
    }

    pub(super) fn boolean(&self) -> Result<bool, Fault> {
        self.required("true or false", Value::as_bool)
    }

    /// A whole number of at least 0.
    pub(super) fn whole(&self) -> Result<u64, Fault> {
        self.required("a whole number of at least 0", Value::as_u64)
    }

    /// [`Self::whole`], or nothing.
    pub(super) fn optional_whole(&self) -> Result<Option<u64>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        self.whole().map(Some)
    }

    /// Whole numbers of at least 0, or nothing.
    pub(super) fn optional_wholes(&self) -> Result<Option<Vec<u64>>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        let numbers = |value: &Value| value.as_array()?.iter().map(Value::as_u64).collect();
        self.required("a list of whole numbers of at least 0", numbers)
            .map(Some)
    }

    /// A number of at least 0, of `unit`.
    pub(super) fn amount(&self, unit: &str) -> Result<f64, Fault> {
        let rule = format!("a number of {unit}, 0 or from {LOW:e} to {HIGH:e}");
        let amount = |value: &Value| {
            let number = value.as_f64()?;
            let is_valid = number == 0.0 || (LOW..=HIGH).contains(&number);
            // Without the sign of -0.
            is_valid.then_some(number + 0.0)
        };
        self.required(&rule, amount)
    }

    /// [`Self::amount`], or nothing.
    pub(super) fn optional_amount(&self, unit: &str) -> Result<Option<f64>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        self.amount(unit).map(Some)
    }

    /// The number of a block; `None` if there is none, or it is below 0, which stands for none in LBAF.
    pub(super) fn block(&self) -> Result<Option<u64>, Fault> {
        if self.is_absent() {
            return Ok(None);
        }
        // vt writes what a user's program gives, which may be a float.
        self.required("a whole number; below 0: none", |value| {
            let number = value.as_f64()?;
            match value.as_u64() {
                Some(number) => Some(Some(number)),
                None if number < 0.0 => Some(None),
                None => number.to_string().parse().ok().map(Some),
            }
        })
    }

    /// `problem`, at this place.
    pub(super) fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(Some(self.item.file), &self.name(), problem.into())
    }

    /// The value does not keep `rule`.
    pub(super) fn invalid(&self, rule: &str) -> Fault {
        let met = self.value.map_or_else(|| "null".to_owned(), shown);
        Fault::invalid(
            Some(self.item.file),
            &self.name(),
            met,
            format!("must be {rule}"),
        )
    }

    fn required<T>(
        &self,
        rule: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, Fault> {
        match self.value {
            None => Err(Fault::missing(Some(self.item.file), &self.name())),
            Some(value) => read(value).ok_or_else(|| self.invalid(rule)),
        }
    }

    fn name(&self) -> String {
        match self.within {
            None => self.item.name(),
            Some((outer, key)) => format!("{}.{key}", outer.name()),
        }
    }
}

/// The first of `keys` that is none of `known` and differs by few letters from one of them that is not among the keys.
/// Others are notes of other tools, or of other versions of the format.
pub(super) fn misspelt<'a>(
    keys: &(impl Iterator<Item = &'a str> + Clone),
    known: &[&'static str],
) -> Option<(String, &'static str)> {
    let is_alike = |key: &str, meant: &str| {
        SHORT < key.len() && key.len().abs_diff(meant.len()) <= LENGTHS_DIFFER
    };
    let unknown = keys.clone().filter(|key| !known.contains(key));
    unknown
        .filter_map(|key| Some((key.to_owned(), nearest(key, known)?)))
        .find(|(key, meant)| is_alike(key, meant) && keys.clone().all(|key| key != *meant))
}

/// `value` in a line of a message.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::Array(_) => return "[…]".to_owned(),
        Value::Object(_) => return "{…}".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    };
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    text.chars().take(SHOWN_MAX).chain(['…']).collect()
}

/// A key of so few letters is alike to too many.
const SHORT: usize = 3;

/// Letters by which a misspelt key is longer or shorter at most.
const LENGTHS_DIFFER: usize = 2;

/// Characters of an invalid value that a message shows.
const SHOWN_MAX: usize = 40;

/// The range of amounts that an instance takes, for seconds and bytes.
const LOW: f64 = 1e-9;
const HIGH: f64 = 1e15;
