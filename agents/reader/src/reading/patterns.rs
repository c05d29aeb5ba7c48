//! Words for JSON types and value formats.

/// Returns the JSON type that a word names.
pub(super) fn json_type(word: &str) -> Option<&'static str> {
    const TYPES: &[(&str, &[&str])] = &[
        ("string", &["string", "str"]),
        ("number", &["number", "numeric", "float", "decimal", "double", "f64", "f32"]),
        ("integer", &["integer", "int", "i64", "u64", "i32", "u32", "u16", "u8", "usize", "i128", "whole"]),
        ("boolean", &["boolean", "bool"]),
        ("array", &["array", "list", "sequence", "tuple"]),
        ("object", &["object", "map", "dict", "dictionary", "struct"]),
        ("null", &["null"]),
    ];
    TYPES.iter().find(|(_, words)| words.iter().any(|known| known.eq_ignore_ascii_case(word))).map(|(name, _)| *name)
}

/// Returns true if a word names an unsigned integer type.
pub(super) fn is_unsigned(word: &str) -> bool {
    ["u8", "u16", "u32", "u64", "u128", "usize", "uint", "unsigned"].contains(&word)
}

/// Returns true if a word names a value format.
pub(super) fn is_format(word: &str) -> bool {
    const FORMATS: &[&str] = &[
        "email",
        "e-mail",
        "uuid",
        "guid",
        "url",
        "uri",
        "date",
        "datetime",
        "date-time",
        "time",
        "timestamp",
        "ipv4",
        "ipv6",
        "ip",
        "phone",
        "hostname",
        "iso",
        "cuid",
        "ulid",
        "base64",
        "duration",
        "iso-8601",
        "iso8601",
        "rfc3339",
        "slug",
        "regex",
        "yyyy-mm-dd",
    ];
    FORMATS.iter().any(|known| known.eq_ignore_ascii_case(word))
}
