//! Elements and attributes with their places.

use bsp::units::InstructionsPerSecond;

use crate::platform::error::{ErrorAt, PlatformErrorKind};
use crate::platform::host::{CORES, CORES_MAX};
use crate::platform::nearest::nearest;
use crate::platform::units;
use crate::platform::units::QuantityError;

/// An element of the file.
#[derive(Clone, Copy)]
pub(super) struct Element<'doc> {
    node: roxmltree::Node<'doc, 'doc>,
}

/// The value of an attribute and where it begins.
#[derive(Clone, Copy)]
pub(super) struct Attribute<'doc> {
    pub(super) key: &'static str,
    pub(super) text: &'doc str,
    pub(super) at: usize,
}

impl<'doc> Element<'doc> {
    pub(super) const fn new(node: roxmltree::Node<'doc, 'doc>) -> Self {
        Self { node }
    }

    pub(super) fn name(self) -> &'doc str {
        self.node.tag_name().name()
    }

    pub(super) fn at(self) -> usize {
        self.node.range().start
    }

    /// Its line in the text, from one.
    pub(super) fn line(self) -> usize {
        let row = self.node.document().text_pos_at(self.at()).row;
        usize::try_from(row).unwrap_or(usize::MAX)
    }

    pub(super) fn children(self) -> impl Iterator<Item = Self> {
        self.node
            .children()
            .filter(roxmltree::Node::is_element)
            .map(Self::new)
    }

    /// The text inside, and where it begins.
    pub(super) fn text(self) -> (usize, String) {
        let texts = || self.node.children().filter(roxmltree::Node::is_text);
        let first = texts().next();
        let at = first.map_or_else(|| self.at(), |first| first.range().start);
        (at, texts().filter_map(|text| text.text()).collect())
    }

    /// Refuses attributes other than these.
    pub(super) fn allow(self, known: &[&'static str]) -> Result<(), ErrorAt> {
        match self
            .node
            .attributes()
            .find(|attribute| !known.contains(&attribute.name()))
        {
            None => Ok(()),
            Some(attribute) => Err(ErrorAt {
                at: attribute.range().start,
                kind: PlatformErrorKind::UnknownAttribute {
                    element: self.name().to_owned(),
                    attribute: attribute.name().to_owned(),
                    nearest: nearest(attribute.name(), known.iter().copied()),
                },
            }),
        }
    }

    pub(super) fn required(self, key: &'static str) -> Result<Attribute<'doc>, ErrorAt> {
        self.node
            .attribute_node(key)
            .map(|attribute| self.attribute(key, &attribute))
            .ok_or_else(|| {
                let element = self.name().to_owned();
                self.error(PlatformErrorKind::MissingAttribute {
                    element,
                    attribute: key,
                })
            })
    }

    /// The attribute, unless it is missing or empty.
    pub(super) fn optional(self, key: &'static str) -> Option<Attribute<'doc>> {
        self.node
            .attribute_node(key)
            .map(|attribute| self.attribute(key, &attribute))
            .filter(|attribute| !attribute.text.is_empty())
    }

    /// The entry `pstate` of the list `speed`; none if it is zero.
    pub(super) fn speed(self) -> Result<Option<InstructionsPerSecond>, ErrorAt> {
        let speeds = self.required("speed")?;
        let entries: Vec<&str> = speeds.text.split(',').collect();
        let Some(state) = self.optional("pstate") else {
            return Attribute {
                text: entries[0],
                ..speeds
            }
            .quantity(units::speed_or_none);
        };
        // The default of SimGrid's DTD is the text 0.0.
        let number = state.text.strip_suffix(".0").unwrap_or(state.text);
        let speed = number
            .parse::<usize>()
            .ok()
            .and_then(|number| entries.get(number));
        match speed {
            Some(text) => Attribute { text, ..speeds }.quantity(units::speed_or_none),
            None => Err(state.choice("pstate", "the number, from 0, of an entry of `speed`")),
        }
    }

    /// The attribute `core`, one by default.
    pub(super) fn cores(self) -> Result<u32, ErrorAt> {
        match self.optional("core") {
            None => Ok(1),
            Some(cores) => {
                let number = cores.text.parse().ok();
                let number = number.filter(|number| (1..=CORES_MAX).contains(number));
                number.ok_or_else(|| cores.choice("core", CORES))
            }
        }
    }

    pub(super) fn error(self, kind: PlatformErrorKind) -> ErrorAt {
        ErrorAt {
            at: self.at(),
            kind,
        }
    }

    pub(super) fn misplaced(self, parent: &str) -> ErrorAt {
        let element = self.name().to_owned();
        self.error(PlatformErrorKind::MisplacedElement {
            element,
            parent: parent.to_owned(),
        })
    }

    fn attribute(
        self,
        key: &'static str,
        attribute: &roxmltree::Attribute<'doc, 'doc>,
    ) -> Attribute<'doc> {
        Attribute {
            key,
            text: attribute.value(),
            at: attribute.range_value().start,
        }
    }
}

impl Attribute<'_> {
    pub(super) fn quantity<T>(
        self,
        read: impl FnOnce(&str) -> Result<T, QuantityError>,
    ) -> Result<T, ErrorAt> {
        read(self.text).map_err(|source| {
            self.error(PlatformErrorKind::Quantity {
                key: self.key,
                source,
            })
        })
    }

    pub(super) fn choice(self, key: &'static str, expected: &'static str) -> ErrorAt {
        self.error(PlatformErrorKind::InvalidValue {
            key,
            met: self.text.to_owned(),
            expected,
        })
    }

    pub(super) fn error(self, kind: PlatformErrorKind) -> ErrorAt {
        ErrorAt { at: self.at, kind }
    }
}
