//! Checks JSON documents against docs/schemas: the keywords of JSON Schema (2020-12) that these schemas use. Any other
//! keyword is an error, so that none is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::project;

/// The files of docs/schemas, by name.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let files = fs::read_dir(project("docs/schemas")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let parsed = files.map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let schema = serde_json::from_slice(&fs::read(&path).unwrap());
        (
            name,
            schema.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
        )
    });
    parsed.collect()
});

/// The content of a file of docs/schemas.
pub(crate) fn schema(file: &str) -> &'static Value {
    SCHEMAS
        .get(file)
        .unwrap_or_else(|| panic!("no docs/schemas/{file}"))
}

/// Checks a document of `tmt` against the schema that it names.
pub(crate) fn check(document: &Value) -> Result<(), String> {
    let name = document["schema"].as_str().ok_or("no schema is named")?;
    let file = name
        .strip_prefix("tmt.")
        .and_then(|name| name.split_once('/'));
    let (file, _) = file.ok_or("expected tmt.NAME/VERSION")?;
    let file = format!("{file}.json");
    let whole = schema(&file);
    Checker { file: &file, whole }.check(whole, document, "")
}

/// The schema of one file.
struct Checker<'a> {
    file: &'a str,
    whole: &'a Value,
}

impl Checker<'_> {
    /// Calls `then` with the schema that a reference points to.
    fn follow<T>(&self, reference: &Value, then: impl FnOnce(&Checker<'_>, &Value) -> T) -> T {
        let (file, pointer) = reference.as_str().unwrap().split_once('#').unwrap();
        let other = match file {
            "" => Checker { ..*self },
            file => Checker {
                file,
                whole: schema(file),
            },
        };
        let found = other.whole.pointer(pointer);
        then(
            &other,
            found.unwrap_or_else(|| panic!("{}: {reference} leads nowhere", self.file)),
        )
    }

    fn check(&self, schema: &Value, found: &Value, at: &str) -> Result<(), String> {
        let schema = schema.as_object().unwrap();
        let expect = |holds: bool, what: &str| {
            if holds {
                Ok(())
            } else {
                let text: String = found.to_string().chars().take(200).collect();
                Err(format!("{at}: found {text}, expected {what}"))
            }
        };
        for (keyword, value) in schema {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => {}
                "$ref" => self.follow(value, |other, schema| other.check(schema, found, at))?,
                "type" => expect(has_type(found, value), &format!("type {value}"))?,
                "const" => expect(found == value, &value.to_string())?,
                "enum" => {
                    let is_listed = value.as_array().unwrap().contains(found);
                    expect(is_listed, &format!("one of {value}"))?;
                }
                "minimum" => {
                    let holds = found
                        .as_f64()
                        .is_none_or(|found| Some(found) >= value.as_f64());
                    expect(holds, &format!("at least {value}"))?;
                }
                "required" => {
                    let Some(object) = found.as_object() else {
                        continue;
                    };
                    for name in value.as_array().unwrap() {
                        let name = name.as_str().unwrap();
                        expect(object.contains_key(name), &format!("a field {name}"))?;
                    }
                }
                "properties" => {
                    let Some(object) = found.as_object() else {
                        continue;
                    };
                    for (name, schema) in value.as_object().unwrap() {
                        if let Some(inner) = object.get(name) {
                            self.check(schema, inner, &format!("{at}/{name}"))?;
                        }
                    }
                }
                "additionalProperties" => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    let is_known =
                        |name: &String| known.is_some_and(|known| known.contains_key(name));
                    for (name, inner) in found.as_object().into_iter().flatten() {
                        if is_known(name) {
                        } else if value == &Value::Bool(false) {
                            expect(false, &format!("no field {name}"))?;
                        } else {
                            self.check(value, inner, &format!("{at}/{name}"))?;
                        }
                    }
                }
                "unevaluatedProperties" => {
                    assert_eq!(value, &Value::Bool(false), "the only form that is used");
                    let known = self.evaluated(schema);
                    for name in found.as_object().into_iter().flat_map(Map::keys) {
                        expect(known.contains(name), &format!("no field {name}"))?;
                    }
                }
                "items" => {
                    for (index, inner) in found.as_array().into_iter().flatten().enumerate() {
                        self.check(value, inner, &format!("{at}/{index}"))?;
                    }
                }
                "allOf" => {
                    for part in value.as_array().unwrap() {
                        self.check(part, found, at)?;
                    }
                }
                "oneOf" => {
                    let parts = value.as_array().unwrap().iter();
                    let checked: Vec<_> = parts.map(|part| self.check(part, found, at)).collect();
                    if checked.iter().filter(|part| part.is_ok()).count() != 1 {
                        return Err(format!("{at}: {checked:?}"));
                    }
                }
                other => panic!("{}: unknown keyword {other}", self.file),
            }
        }
        Ok(())
    }

    /// The properties that a schema and its parts describe.
    fn evaluated(&self, schema: &Map<String, Value>) -> BTreeSet<String> {
        let own = schema.get("properties").and_then(Value::as_object);
        let mut names: BTreeSet<String> = own.into_iter().flat_map(Map::keys).cloned().collect();
        for part in schema
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            names.extend(self.evaluated(part.as_object().unwrap()));
        }
        if let Some(reference) = schema.get("$ref") {
            names.extend(self.follow(reference, |other, schema| {
                other.evaluated(schema.as_object().unwrap())
            }));
        }
        names
    }
}

/// Whether a value has the type, or one of the types. As in JSON Schema, a number without fraction is an integer.
fn has_type(found: &Value, types: &Value) -> bool {
    let has = |name: &Value| match name.as_str().unwrap() {
        "null" => found.is_null(),
        "boolean" => found.is_boolean(),
        "integer" => found.is_i64() || found.is_u64(),
        "number" => found.is_number(),
        "string" => found.is_string(),
        "array" => found.is_array(),
        "object" => found.is_object(),
        other => panic!("unknown type {other}"),
    };
    types
        .as_array()
        .map_or_else(|| has(types), |types| types.iter().any(has))
}
