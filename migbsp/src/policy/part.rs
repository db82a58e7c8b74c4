//! A rule of a policy with the values of its parameters.

use crate::policy::error::PolicyError;
use crate::rule::{Parameter, Rule, Settings};
use crate::{Config, Planning};

/// A rule of a policy with the values of its parameters.
#[derive(Debug)]
pub(super) struct Part<Product: ?Sized + 'static> {
    pub(super) rule: Rule<Product>,
    /// In the order of the rule's parameters; empty: all have their defaults.
    arguments: Vec<f64>,
}

impl<Product: ?Sized> Part<Product> {
    /// The rule with the defaults of its parameters.
    pub(super) const fn new(rule: Rule<Product>) -> Self {
        Self {
            rule,
            arguments: Vec::new(),
        }
    }

    /// Sets a parameter.
    pub(super) fn set(&mut self, name: &str, value: f64) -> Result<(), PolicyError> {
        let position = check(self.rule.name(), self.rule.parameters(), name, value)?;
        self.arguments = self.values();
        self.arguments[position] = value;
        Ok(())
    }

    /// The values of the rule's parameters, in their order.
    pub(super) fn values(&self) -> Vec<f64> {
        if self.arguments.is_empty() {
            let parameters = self.rule.parameters().iter();
            return parameters.map(|parameter| parameter.default).collect();
        }
        self.arguments.clone()
    }

    pub(super) fn make(&self, config: &Config, planning: &Planning) -> Box<Product> {
        self.rule.make(&Settings {
            config,
            planning,
            parameters: self.rule.parameters(),
            arguments: &self.values(),
        })
    }
}

/// The position of the parameter `name` of `rule`, which takes `value`.
pub(crate) fn check(
    rule: &'static str,
    parameters: &[Parameter],
    name: &str,
    value: f64,
) -> Result<usize, PolicyError> {
    let position = parameters.iter().position(|one| one.name == name);
    let position = position.ok_or_else(|| PolicyError::UnknownParameter {
        rule,
        name: name.to_owned(),
        names: parameters.iter().map(|one| one.name).collect(),
    })?;
    let parameter = parameters[position];
    if !(parameter.min..=parameter.max).contains(&value) {
        return Err(PolicyError::OutOfRange {
            rule,
            parameter,
            value: value.to_string(),
        });
    }
    Ok(position)
}

impl<Product: ?Sized> Clone for Part<Product> {
    fn clone(&self) -> Self {
        Self {
            rule: self.rule,
            arguments: self.arguments.clone(),
        }
    }
}

impl<Product: ?Sized> PartialEq for Part<Product> {
    /// Rules are equal if their names are.
    fn eq(&self, other: &Self) -> bool {
        self.rule.name() == other.rule.name() && self.values() == other.values()
    }
}
