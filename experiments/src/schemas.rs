//! JSON schemas of what programs read, made of the types that are written.
//!
//! A crate with such types lists their [`Form`]s. A test of the command keeps the schemas in `docs/reference/schemas`.

use ::record::Event;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::files::FilesReport;
use crate::provenance::{Attributed, Published};
use crate::record;
use crate::recorder::Manifest;

/// A form of objects that programs rely on.
#[derive(Clone, Debug)]
pub struct Form {
    /// Name and version, as `migbsp.simulate/1`.
    pub name: &'static str,
    /// The schema, in the dialect 2020-12.
    pub schema: Value,
}

impl Form {
    /// That of results of the type `T`, which are written as [`Attributed`].
    #[must_use]
    pub fn of_results<T: Published + JsonSchema + 'static>() -> Self {
        Self::new::<Attributed<'static, T>>(T::SCHEMA)
    }

    /// That of the objects that values of the type `T` are written as.
    #[must_use]
    pub fn new<T: JsonSchema>(name: &'static str) -> Self {
        let mut schema = generator().into_root_schema_for::<T>();
        let id = format!("urn:{}", name.replace('/', ":"));
        schema.insert("$id".to_owned(), id.into());
        schema.insert("title".to_owned(), name.into());
        // Lines of records have it in the first one alone.
        if let Some(own) = schema.pointer_mut("/properties/schema") {
            *own = json!({ "const": name, "description": "Name and version of this form." });
        }
        Self {
            name,
            schema: schema.to_value(),
        }
    }
}

/// The forms of records.
#[must_use]
pub fn forms() -> Vec<Form> {
    vec![
        Form::new::<Event>(::record::SCHEMA),
        Form::new::<Manifest<'_>>(record::SCHEMA),
        Form::of_results::<FilesReport<'_>>(),
    ]
}

fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings.with_transform(complete).into_generator()
}

/// Adds what types do not say: an object has the described keys alone, and one that may be absent is never null.
fn complete(schema: &mut Schema) {
    // Which integer or float of Rust it is, and the value of an absent key.
    schema.remove("format");
    schema.remove("default");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = described(description);
    }
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for (key, property) in properties {
            if !required.iter().any(|name| name == key) {
                make_absent(property);
            }
        }
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    transform_subschemas(&mut complete, schema);
}

/// The first paragraph of a comment, without its links. What is `None` in Rust is `null` in JSON.
fn described(comment: &str) -> String {
    let paragraph = comment.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let text = words.join(" ").replace("`None`", "`null`");
    text.replace("[`", "`").replace("`]", "`")
}

/// Makes a value that may be null one that is absent instead.
fn make_absent(property: &mut Value) {
    let Some(property) = property.as_object_mut() else {
        return;
    };
    if let Some(Value::String(description)) = property.get_mut("description") {
        *description = description.replace("`None`", "absent");
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = property.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = &choices[..] {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}
