//! Documents that a few edits of a sound one make.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value};

/// Numbers at the ends of what types and checks allow.
const NUMBERS: [f64; 12] = [0.0, -0.0, -1.0, 0.5, 1e-300, 1e300, f64::MAX, 5e-324, 1e9, 1e18, 1e-9, 2.5];
/// The same of whole numbers.
const WHOLE: [u64; 10] =
    [0, 1, 2, 3, u64::MAX, i64::MAX as u64, u32::MAX as u64, 1 << 53, u32::MAX as u64 + 1, 1_000_000_000_000];
/// Names that documents refer to.
const NAMES: [&str; 8] = ["B", "s", "G", "", "conv", "Conv_0", "\u{0}", "A1"];

/// The document as text: `data` themselves where they begin like one, else one of the sound ones with the edits that
/// they say.
pub(crate) fn text(data: &[u8], sound: &[Value]) -> Option<String> {
    if data.first().is_none_or(|first| b"{ \n\t\r[\"".contains(first)) {
        return std::str::from_utf8(data).ok().map(str::to_owned);
    }
    edited(&mut Unstructured::new(data), sound).ok().map(|document| document.to_string())
}

fn edited(raw: &mut Unstructured<'_>, sound: &[Value]) -> Result<Value> {
    let mut document = raw.choose(sound)?.clone();
    let other = document.clone();
    for _ in 0..raw.int_in_range(1..=8)? {
        edit(raw, &mut document, &other)?;
    }
    Ok(document)
}

/// Walks down to some place and changes it.
fn edit(raw: &mut Unstructured<'_>, document: &mut Value, other: &Value) -> Result<()> {
    let mut place = document;
    loop {
        let children = match place {
            Value::Object(fields) => fields.len(),
            Value::Array(elements) => elements.len(),
            _ => 0,
        };
        if children == 0 || raw.int_in_range(0..=6)? == 0 {
            break;
        }
        let index = raw.int_in_range(0..=children - 1)?;
        let next = match place {
            Value::Object(fields) => fields.values_mut().nth(index),
            Value::Array(elements) => elements.get_mut(index),
            _ => None,
        };
        let Some(next) = next else { return Ok(()) };
        place = next;
    }
    match place {
        Value::Array(elements) if raw.int_in_range(0..=3)? > 0 => edit_elements(raw, elements),
        Value::Object(fields) if raw.int_in_range(0..=3)? > 0 => edit_fields(raw, fields),
        _ => {
            *place = value(raw, other)?;
            Ok(())
        }
    }
}

fn edit_elements(raw: &mut Unstructured<'_>, elements: &mut Vec<Value>) -> Result<()> {
    if elements.is_empty() {
        return Ok(());
    }
    let place = raw.int_in_range(0..=elements.len() - 1)?;
    match raw.int_in_range(0..=3)? {
        0 => drop(elements.remove(place)),
        1 => elements.push(elements[place].clone()),
        2 => elements.swap(0, place),
        _ => elements.clear(),
    }
    Ok(())
}

fn edit_fields(raw: &mut Unstructured<'_>, fields: &mut Map<String, Value>) -> Result<()> {
    let names: Vec<String> = fields.keys().cloned().collect();
    if names.is_empty() {
        return Ok(());
    }
    let [one, two] = [raw.choose(&names)?, raw.choose(&names)?];
    match raw.int_in_range(0..=2)? {
        0 => drop(fields.remove(one)),
        1 => drop(fields.insert(one.clone(), fields[two].clone())),
        _ => drop(fields.insert("unknown".to_owned(), Value::Null)),
    }
    Ok(())
}

/// Any value, those among them that other places of the document have.
fn value(raw: &mut Unstructured<'_>, other: &Value) -> Result<Value> {
    Ok(match raw.int_in_range(0..=9)? {
        0 => Value::Null,
        1 => Value::Bool(raw.arbitrary()?),
        2 => Value::from(raw.arbitrary::<f64>()?),
        3 => Value::from(raw.arbitrary::<i64>()?),
        4 | 5 => Value::from(*raw.choose(&WHOLE)?),
        6 | 7 => Value::from(*raw.choose(&NUMBERS)?),
        8 => Value::from(*raw.choose(&NAMES)?),
        _ => {
            let mut place = other;
            while let Some(children) = place.as_array().map(Vec::len).or(place.as_object().map(Map::len))
                && children > 0
                && raw.int_in_range(0..=4)? > 0
            {
                let index = raw.int_in_range(0..=children - 1)?;
                place = match place {
                    Value::Object(fields) => fields.values().nth(index).unwrap_or(place),
                    Value::Array(elements) => elements.get(index).unwrap_or(place),
                    _ => break,
                };
            }
            place.clone()
        }
    })
}
