//! The page about files: what the JSON Schemas say of each format, as Markdown.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Map, Value};

use crate::commands::schemas::schemas;

/// All formats, each with its fields and the types that are part of it. A type that several formats have stands at the
/// first.
pub(super) fn page() -> Result<String> {
    let mut page = String::new();
    let mut told: BTreeMap<String, Value> = BTreeMap::new();
    for (name, schema) in schemas() {
        let schema = serde_json::to_value(schema)?;
        page += &format!("## {name}\n\n{}\n\n{}", description(&schema), body(&schema));
        let types = schema.get("$defs").and_then(Value::as_object);
        for (name, definition) in types.into_iter().flatten() {
            if told.get(name).is_some_and(|earlier| earlier == definition) {
                continue;
            }
            page += &format!("### {name}\n\n{}\n\n{}", description(definition), body(definition));
            told.insert(name.clone(), definition.clone());
        }
    }
    Ok(page)
}

/// The fields of an object, or what else a value may be.
fn body(schema: &Value) -> String {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        return fields(properties, schema);
    }
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema.get(key)?.as_array());
    match alternatives {
        Some(alternatives) => alternatives.iter().map(alternative).collect::<String>() + "\n",
        None => format!("{}.\n\n", capitalised(&kind(schema))),
    }
}

fn fields(properties: &Map<String, Value>, schema: &Value) -> String {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut text = String::new();
    for (name, field) in properties {
        let optional = if required.contains(&name.as_str()) { "" } else { ", may be missing" };
        text += &format!("- `{name}` ({}{optional}): {}\n", kind(field), description(field));
    }
    text + "\n"
}

/// One of the things that a value may be.
fn alternative(schema: &Value) -> String {
    let mut text = format!("- {}: {}\n", kind(schema), description(schema));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, field) in properties.into_iter().flatten() {
        text += &format!("  - `{name}` ({}): {}\n", kind(field), description(field));
        // Fields of a variant stand inside an object that is named after it.
        let inner = field.get("properties").and_then(Value::as_object);
        for (name, field) in inner.into_iter().flatten() {
            text += &format!("    - `{name}` ({}): {}\n", kind(field), description(field));
        }
    }
    text
}

/// The type of a value in a few words, with a link where it has a name.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let name = reference.rsplit('/').next().unwrap_or(reference);
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(constant) = schema.get("const") {
        return format!("`{constant}`");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
    }
    if let Some(alternatives) = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(key)?.as_array()) {
        return alternatives.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let types = match schema.get("type") {
        Some(Value::Array(types)) => types.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(name)) => vec![name.as_str()],
        _ => return "any value".to_owned(),
    };
    types.iter().map(|name| plain(name, schema)).collect::<Vec<_>>().join(" or ")
}

fn plain(name: &str, schema: &Value) -> String {
    match name {
        "array" => match (schema.get("items"), schema.get("prefixItems").and_then(Value::as_array)) {
            (_, Some(items)) => format!("list of {}", items.iter().map(kind).collect::<Vec<_>>().join(" and ")),
            (Some(items), None) => format!("list of {}", kind(items)),
            (None, None) => "list".to_owned(),
        },
        "object" => match schema.get("additionalProperties") {
            Some(values @ Value::Object(_)) => format!("object with values: {}", kind(values)),
            _ => "object".to_owned(),
        },
        "boolean" => "true or false".to_owned(),
        other => other.to_owned(),
    }
}

/// What the code's documentation says; its links to other fields become their names.
fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.replace("\n\n", " ").replace('\n', " ").replace("[`", "`").replace("`]", "`").replace('<', "\\<")
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map(|first| first.to_uppercase().chain(characters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn types_are_told_in_words() {
        assert_eq!(kind(&json!({"type": ["string", "null"]})), "string or null");
        assert_eq!(kind(&json!({"type": "array", "items": {"$ref": "#/$defs/Core"}})), "list of [Core](#core)");
        assert_eq!(kind(&json!({"type": "string", "const": "gpu"})), "`\"gpu\"`");
        assert_eq!(
            kind(&json!({"type": "object", "additionalProperties": {"type": "number"}})),
            "object with values: number"
        );
    }

    #[test]
    fn every_format_has_its_fields_and_links_lead_somewhere() {
        let page = page().unwrap_or_default();
        for format in ["board", "profile", "cost", "schedule", "certificate", "run-report"] {
            assert!(page.contains(&format!("## {format}\n")), "{format}");
        }
        let headings: Vec<String> =
            page.lines().filter_map(|line| line.strip_prefix("### ")).map(str::to_lowercase).collect();
        for target in page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(headings.iter().any(|heading| heading == target), "{target}");
        }
        assert!(page.contains("- `clusters` (list of [Cluster"), "{page}");
    }
}
