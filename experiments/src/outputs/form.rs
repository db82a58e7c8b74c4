//! The form of a type of outputs, which is known before there is a value.
//!
//! A type that can be decoded asks its decoder for what it is made of. This decoder notes what is asked for and answers
//! with the simplest values. A type that asks for anything, or refuses such a value, has an unknown form: it may be
//! written as its values turn out.

// The error says that nothing more is to be known.
use serde::de::value::{Error as Known, StrDeserializer, U32Deserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{OutputsError, OutputsFormat};

/// Checks that a format can hold outputs of type `Output`, as far as their type says it.
///
/// # Errors
///
/// If no value of the type can be written in the format.
pub(crate) fn check<Output: DeserializeOwned>(format: OutputsFormat) -> Result<(), OutputsError> {
    let mut form = Form {
        format,
        depth: 0,
        problem: None,
    };
    // Only what was asked for counts.
    drop(Output::deserialize(Part { form: &mut form }));
    form.problem.map_or(Ok(()), |problem| {
        Err(OutputsError::new(format, problem.to_owned()))
    })
}

/// What has been found.
struct Form {
    format: OutputsFormat,
    /// How deep the part lies that is being decoded.
    depth: u32,
    /// Why the format cannot hold it.
    problem: Option<&'static str>,
}

/// A part of an output.
struct Part<'a> {
    form: &'a mut Form,
}

/// The key of a map.
struct Key<'a> {
    form: &'a mut Form,
}

/// Parts of an output, and the number of those that are left.
struct Parts<'a> {
    form: &'a mut Form,
    left: usize,
}

impl Form {
    /// An array cannot hold this part.
    fn no_array(&mut self, problem: &'static str) -> Result<(), Known> {
        if self.format == OutputsFormat::Npy {
            self.problem = Some(problem);
            return Err(Known::custom(problem));
        }
        Ok(())
    }

    fn part(&mut self) -> Part<'_> {
        Part { form: self }
    }
}

impl<'a> Part<'a> {
    /// A sequence of `length` parts.
    fn parts(self, length: usize) -> Result<Parts<'a>, Known> {
        let Self { form } = self.deeper()?;
        Ok(Parts { form, left: length })
    }

    /// The same part, of another one.
    fn deeper(self) -> Result<Self, Known> {
        self.form.depth += 1;
        if DEPTH_MAX < self.form.depth {
            return Err(Known::custom("a type without an end"));
        }
        Ok(self)
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $value:expr),* $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for Part<'_> {
    type Error = Known;

    numbers! {
        deserialize_bool visit_bool false,
        deserialize_i8 visit_i8 0,
        deserialize_i16 visit_i16 0,
        deserialize_i32 visit_i32 0,
        deserialize_i64 visit_i64 0,
        deserialize_i128 visit_i128 0,
        deserialize_u8 visit_u8 0,
        deserialize_u16 visit_u16 0,
        deserialize_u32 visit_u32 0,
        deserialize_u64 visit_u64 0,
        deserialize_u128 visit_u128 0,
        deserialize_f32 visit_f32 0.0,
        deserialize_f64 visit_f64 0.0,
        deserialize_bytes visit_bytes &[],
        deserialize_byte_buf visit_byte_buf Vec::new(),
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Known> {
        Err(Known::custom("any form"))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        visitor.visit_unit()
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        self.form.no_array(TEXT)?;
        visitor.visit_char('a')
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        self.form.no_array(TEXT)?;
        visitor.visit_str("")
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        visitor.visit_some(self.deeper()?)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        self.form.no_array("an output has an empty place")?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Known> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Known> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        visitor.visit_seq(self.parts(1)?)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Known> {
        visitor.visit_seq(self.parts(length)?)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Known> {
        visitor.visit_seq(self.parts(length)?)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Known> {
        self.form.no_array(NAMED)?;
        visitor.visit_seq(self.parts(fields.len())?)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        self.form.no_array(NAMED)?;
        visitor.visit_map(self.parts(1)?)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Known> {
        self.form.no_array("an output is one of several kinds")?;
        visitor.visit_enum(self.parts(1)?)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        self.deserialize_any(visitor)
    }
}

impl<'de> SeqAccess<'de> for Parts<'_> {
    type Error = Known;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Known> {
        if self.left == 0 {
            self.form.depth -= 1;
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(self.form.part()).map(Some)
    }
}

impl<'de> MapAccess<'de> for Parts<'_> {
    type Error = Known;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Known> {
        if self.left == 0 {
            self.form.depth -= 1;
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(Key { form: self.form }).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Known> {
        seed.deserialize(self.form.part())
    }
}

/// The first variant.
impl<'de> EnumAccess<'de> for Parts<'_> {
    type Error = Known;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Known> {
        let first: U32Deserializer<Known> = 0_u32.into_deserializer();
        Ok((seed.deserialize(first)?, self))
    }
}

impl<'de> VariantAccess<'de> for Parts<'_> {
    type Error = Known;

    fn unit_variant(self) -> Result<(), Known> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Known> {
        seed.deserialize(self.form.part())
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Known> {
        visitor.visit_seq(self.form.part().parts(length)?)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Known> {
        visitor.visit_seq(self.form.part().parts(fields.len())?)
    }
}

impl Key<'_> {
    /// Names of parts are numbers and texts; only one format has others.
    fn composed<T>(self) -> Result<T, Known> {
        if self.form.format != OutputsFormat::MessagePack {
            self.form.problem = Some("a key of a map is no number and no text");
        }
        Err(Known::custom("a key that is composed"))
    }
}

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Known;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        // A number or a text, of which any is as good.
        let text: StrDeserializer<'_, Known> = "0".into_deserializer();
        text.deserialize_any(visitor)
    }

    numbers! {
        deserialize_bool visit_bool false,
        deserialize_i8 visit_i8 0,
        deserialize_i16 visit_i16 0,
        deserialize_i32 visit_i32 0,
        deserialize_i64 visit_i64 0,
        deserialize_u8 visit_u8 0,
        deserialize_u16 visit_u16 0,
        deserialize_u32 visit_u32 0,
        deserialize_u64 visit_u64 0,
    }

    fn deserialize_seq<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Known> {
        self.composed()
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Known> {
        self.composed()
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        _: V,
    ) -> Result<V::Value, Known> {
        self.composed()
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Known> {
        self.composed()
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Known> {
        self.composed()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Known> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Known> {
        // A name of a variant may be a key, and its contents may not.
        Err(Known::custom("one of several kinds"))
    }

    forward_to_deserialize_any! {
        i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct identifier ignored_any
    }
}

const TEXT: &str = "an output has a text";
const NAMED: &str = "an output has fields with names";

/// How deep a type may go: one that contains itself has no end.
const DEPTH_MAX: u32 = 64;
