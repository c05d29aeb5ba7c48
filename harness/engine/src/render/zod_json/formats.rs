//! The issues of formats and patterns.

use serde_json::{Map, Value, json};

/// `pattern` is that of the schema, if it has one.
pub(super) fn bad_format(format: &str, pattern: Option<&str>, path: Value) -> Value {
    let (name, usual, noun) = match format {
        "email" => ("email", Some(EMAIL.to_owned()), "email address"),
        "uuid" => ("uuid", Some(UUID.to_owned()), "UUID"),
        "uri" => ("url", None, "URL"),
        "date" => ("date", Some(format!("/^{DATE}$/")), "ISO date"),
        "time" => ("time", Some(TIME.to_owned()), "ISO time"),
        "date-time" => ("datetime", Some(format!("/^{DATE}T{TIME_AND_ZONE}$/")), "ISO datetime"),
        "duration" => ("duration", Some(DURATION.to_owned()), "ISO duration"),
        "ipv4" => ("ipv4", Some(IPV4.to_owned()), "IPv4 address"),
        "ipv6" => ("ipv6", None, "IPv6 address"),
        other => {
            let noun = NAMED_FORMATS.iter().find(|(name, _)| *name == other).map_or(other, |(_, noun)| noun);
            (other, pattern.map(regex_literal), noun)
        }
    };
    let pattern = pattern.filter(|_| usual.is_some()).map(regex_literal).or(usual);
    invalid_format(name, pattern.as_deref(), path, format!("Invalid {noun}"))
}

/// Creates the issue of a pattern. zod has names for its own ones, which its schemas give as formats that JSON Schema does not
/// know.
pub(super) fn bad_pattern(format: Option<&str>, pattern: &str, path: Value) -> Value {
    if pattern.starts_with(&format!("^{DATE}T")) {
        return bad_format("date-time", Some(pattern), path);
    }
    if let Some((name, noun, shows_pattern, _)) = NAMED_PATTERNS.iter().find(|(.., known)| *known == pattern) {
        let literal = regex_literal(pattern) + if *name == "emoji" { "u" } else { "" };
        return invalid_format(
            name,
            Some(literal.as_str()).filter(|_| *shows_pattern),
            path,
            format!("Invalid {noun}"),
        );
    }
    let affix = |name: &str, member: &str, verb: &str, text: &str| {
        let message = format!("Invalid string: must {verb} \"{text}\"");
        let mut issue = Map::new();
        for (key, value) in [("origin", "string"), ("code", "invalid_format"), ("format", name), (member, text)] {
            issue.insert(key.to_owned(), json!(value));
        }
        issue.insert("path".to_owned(), path.clone());
        issue.insert("message".to_owned(), json!(message));
        Value::Object(issue)
    };
    let is_plain = |text: &&str| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || " _-:/<>".contains(c));
    let unescaped = |text: &str| text.replace('\\', "");
    let prefix = pattern.strip_prefix('^').and_then(|rest| rest.strip_suffix(".*"));
    if let Some(prefix) = prefix.filter(|text| format == Some("starts_with") || is_plain(text)) {
        return affix("starts_with", "prefix", "start with", &unescaped(prefix));
    }
    let suffix = pattern.strip_prefix(".*").and_then(|rest| rest.strip_suffix('$'));
    if let Some(suffix) = suffix.filter(|text| format == Some("ends_with") || is_plain(text)) {
        return affix("ends_with", "suffix", "end with", &unescaped(suffix));
    }
    match format {
        Some("includes") => return affix("includes", "includes", "include", &unescaped(pattern)),
        Some("starts_with" | "ends_with") | None => {}
        Some(format) => return bad_format(format, Some(pattern), path),
    }
    let flag = if pattern.contains(r"\p{") { "u" } else { "" };
    let pattern = regex_literal(pattern) + flag;
    let message = format!("Invalid string: must match pattern {pattern}");
    invalid_format("regex", Some(&pattern), path, message)
}

/// The formats of zod's own whose nouns are not their names.
const NAMED_FORMATS: [(&str, &str); 12] = [
    ("currency_code", "currency code"),
    ("mac", "MAC address"),
    ("cidrv4", "IPv4 range"),
    ("cidrv6", "IPv6 range"),
    ("base64", "base64-encoded string"),
    ("base64url", "base64url-encoded string"),
    ("jwt", "JWT"),
    ("e164", "E.164 number"),
    ("ulid", "ULID"),
    ("xid", "XID"),
    ("ksuid", "KSUID"),
    ("iban", "IBAN"),
];

/// The patterns to which zod gives names: the name, the noun of the message, whether the issue has the pattern, and the
/// pattern in schemas.
const NAMED_PATTERNS: [(&str, &str, bool, &str); 11] = [
    ("time", "ISO time", true, r"^(?:[01]\d|2[0-3]):[0-5]\d$"),
    ("time", "ISO time", true, r"^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$"),
    (
        "base64",
        "base64-encoded string",
        false,
        r"^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$",
    ),
    ("cuid2", "cuid2", true, r"^[0-9a-z]+$"),
    ("ulid", "ULID", true, r"^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$"),
    ("nanoid", "nanoid", true, r"^[a-zA-Z0-9_-]{21}$"),
    ("e164", "E.164 number", true, r"^\+[1-9]\d{6,14}$"),
    (
        "emoji",
        "emoji",
        true,
        r"^(?=[\s\S]*[\p{Extended_Pictographic}\p{Regional_Indicator}\u20E3])[\p{Extended_Pictographic}\p{Emoji_Component}]+$",
    ),
    (
        "cidrv4",
        "IPv4 range",
        true,
        r"^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$",
    ),
    ("lowercase", "lowercase", true, r"^[^A-Z]*$"),
    ("uppercase", "uppercase", true, r"^[^a-z]*$"),
];

fn invalid_format(format: &str, pattern: Option<&str>, path: Value, message: String) -> Value {
    match pattern {
        Some(pattern) => json!({
            "origin": "string",
            "code": "invalid_format",
            "format": format,
            "pattern": pattern,
            "path": path,
            "message": message,
        }),
        None => json!({ "code": "invalid_format", "format": format, "path": path, "message": message }),
    }
}

/// Formats a pattern as JavaScript shows a regular expression.
fn regex_literal(pattern: &str) -> String {
    if pattern.is_empty() {
        return "/(?:)/".to_owned();
    }
    let mut out = String::with_capacity(pattern.len() + 2);
    out.push('/');
    let mut in_class = false;
    let mut escaped = false;
    for c in pattern.chars() {
        match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' => {
                let name = match c {
                    '\n' => "n",
                    '\r' => "r",
                    '\u{2028}' => "u2028",
                    _ => "u2029",
                };
                out.push_str(if escaped { "" } else { "\\" });
                out.push_str(name);
            }
            '/' if !escaped && !in_class => out.push_str("\\/"),
            other => out.push(other),
        }
        match c {
            '[' if !escaped => in_class = true,
            ']' if !escaped => in_class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    out.push('/');
    out
}

// The regular expressions with which zod checks formats; its messages contain them.
const EMAIL: &str =
    r"/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/";
const UUID: &str = "/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}\
    |00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/";
const DATE: &str = concat!(
    r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29",
    r"|\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)",
    r"|(?:02)-(?:0[1-9]|1\d|2[0-8])))",
);
const TIME: &str = r"/^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?$/";
const TIME_AND_ZONE: &str = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))";
const DURATION: &str =
    r"/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/";
const IPV4: &str = concat!(
    r"/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}",
    r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/",
);
