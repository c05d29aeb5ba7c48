use std::io::{self, Read};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Formats JSON with sorted keys and no white space, so that equal values give equal text.
pub fn canonical_json(value: &Value) -> String {
    // Most values are arguments of a call and fit in the initial capacity.
    let mut out = Vec::with_capacity(128);
    write_canonical(value, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push(b'{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_json(key, out);
                out.push(b':');
                write_canonical(item, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        scalar => write_json(scalar, out),
    }
}

fn write_json<T: serde::Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    // Writing JSON to memory cannot fail.
    let _ = serde_json::to_writer(out, value);
}

/// Compares two values, with numbers compared by value: `450` equals `450.0`.
pub fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a)),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| same_json(a, b)))
        }
        _ => a == b,
    }
}

/// Returns the SHA-256 of `bytes` in lower-case hexadecimal.
pub fn fingerprint(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Returns the number of bytes that `source` has and their SHA-256, like [`fingerprint`].
///
/// # Errors
/// Those of reading.
pub fn fingerprint_reader(source: &mut dyn Read) -> io::Result<(u64, String)> {
    let (mut hasher, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; READ_BYTES]);
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok((bytes, hexadecimal(&hasher.finalize()))),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                bytes += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The number of bytes that are read at once: the processor's cache holds them.
const READ_BYTES: usize = 1 << 17;

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Returns the JSON Schema name of a value's type; integers are `number`.
pub fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_at_every_depth() {
        let value = json!({"b": [{"y": 1, "x": null}], "a": "q\"\n"});
        assert_eq!(canonical_json(&value), r#"{"a":"q\"\n","b":[{"x":null,"y":1}]}"#);
    }

    #[test]
    fn numbers_are_the_same_by_value() {
        assert!(same_json(&json!({"a": [450], "b": 1}), &json!({"b": 1.0, "a": [450.0]})));
        assert!(!same_json(&json!(450), &json!("450")));
        assert!(!same_json(&json!([1]), &json!([1, 2])));
        assert!(!same_json(&json!({"a": 1}), &json!({"b": 1})));
    }

    #[test]
    fn fingerprint_is_sha256() {
        // FIPS 180-2, appendix B.1: the message "abc".
        assert_eq!(fingerprint(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
