use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// JSON with sorted keys and no white space: equal values give equal text.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (index, (key, item)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                // A write into a String cannot fail.
                let _ = write!(out, "{}:", Value::String(key.clone()));
                write_canonical(item, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(item, out);
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

/// The SHA-256 of `bytes` in lower-case hexadecimal.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(out, "{byte:02x}");
    }
    out
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
    fn fingerprint_is_sha256() {
        // FIPS 180-2, appendix B.1: the message "abc".
        assert_eq!(fingerprint(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
