//! Words for JSON types and value formats.

/// Returns the JSON type that a word names.
pub(super) fn json_type(word: &str) -> Option<&'static str> {
    // `System.Int32`, `java.lang.Integer`
    let word = if word.contains('.') { word.rsplit('.').next().unwrap_or(word) } else { word };
    const TYPES: &[(&str, &[&str])] = &[
        ("string", &["string", "str"]),
        ("number", &["number", "numeric", "float", "decimal", "double", "f64", "f32"]),
        ("integer", &["integer", "int", "i64", "u64", "i32", "u32", "u16", "u8", "usize", "i128", "whole", "bigint"]),
        ("boolean", &["boolean", "bool", "yes/no", "true/false"]),
        ("array", &["array", "list", "sequence", "tuple", "iterable"]),
        ("object", &["object", "map", "dict", "dictionary", "struct", "record", "mapping", "hash"]),
        ("null", &["null"]),
    ];
    let named = TYPES.iter().find(|(_, words)| words.iter().any(|known| known.eq_ignore_ascii_case(word)));
    // `int64`, `uint8`, `float32`
    let sized = || {
        let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let known = [("int", "integer"), ("uint", "integer"), ("float", "number")];
        known
            .into_iter()
            .find(|(start, _)| name.len() < word.len() && name.eq_ignore_ascii_case(start))
            .map(|(_, kind)| kind)
    };
    named.map(|(name, _)| *name).or_else(sized)
}

/// Returns the type of a list of JSON types that has only one beside null: `string, null`.
pub(super) fn only_type(list: &str) -> Option<&'static str> {
    let mut types = list.split(',').map(|word| json_type(word.trim()));
    let mut only = None;
    types.try_for_each(|named| {
        let named = named.filter(|named| *named == "null" || only.is_none())?;
        only = only.or((named != "null").then_some(named));
        Some(())
    })?;
    only
}

/// Returns true if a word names an unsigned integer type.
pub(super) fn is_unsigned(word: &str) -> bool {
    ["u8", "u16", "u32", "u64", "u128", "usize", "unsigned"].contains(&word) || word.starts_with("uint")
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
        "isoformat",
        "iban",
        "e.164",
        "mac",
        "hex",
        "semver",
        "iso-8601",
        "iso8601",
        "rfc3339",
        "slug",
        "regex",
        "yyyy-mm-dd",
    ];
    FORMATS.iter().any(|known| known.eq_ignore_ascii_case(word)) || is_date_pattern(word)
}

/// Returns true for the letters of a date or a time, as in `DD/MM/YYYY`, `HH:MM` and `%Y-%m-%d`.
fn is_date_pattern(word: &str) -> bool {
    let letters = |c: char| "yYmMdDhHsS%TZz".contains(c) || "-/.: ".contains(c);
    let named = ["YY", "yy", "MM", "DD", "HH", "hh", "%Y", "%H", "%m", "%d"];
    word.len() >= 4 && word.chars().all(letters) && named.iter().filter(|part| word.contains(**part)).count() >= 2
}
