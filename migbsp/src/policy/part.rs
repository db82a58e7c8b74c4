//! A rule of a policy with the values of its parameters.

use crate::policy::error::PolicyError;
use crate::rule::{Rule, Settings};
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
        let parameters = self.rule.parameters();
        let position = parameters.iter().position(|one| one.name == name);
        let position = position.ok_or_else(|| PolicyError::UnknownParameter {
            rule: self.rule.name().to_owned(),
            name: name.to_owned(),
            names: parameters.iter().map(|one| one.name).collect(),
        })?;
        let parameter = parameters[position];
        if !(parameter.min..=parameter.max).contains(&value) {
            return Err(PolicyError::OutOfRange {
                rule: self.rule.name(),
                parameter,
                value: value.to_string(),
            });
        }
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
