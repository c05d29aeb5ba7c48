//! Strings with a format, a length or a pattern.

use serde_json::Value;

use super::super::schema_node::SchemaNode;
use super::pattern::text_matching;

/// Common strings, tried for patterns from which none can be generated.
const COMMON_TEXTS: [&str; 6] = ["Example123!", "Example-123", "example-1", "EXAMPLE", "Example", "1"];

/// The shortest common texts of formats, tried where others are too long.
const SHORT_TEXTS: [(&str, &str); 8] = [
    ("email", "a@b.co"),
    ("idn-email", "a@b.co"),
    ("uri", "https://a.co"),
    ("uri", "a:b"),
    ("hostname", "a.co"),
    ("ipv4", "1.1.1.1"),
    ("ipv6", "::1"),
    ("date-time", "2024-01-15T10:30:00Z"),
];

/// No example is generated for a longer string.
const MAX_LENGTH: usize = 1000;

/// Returns candidates, the best first.
pub(super) fn candidates(node: &SchemaNode<'_>, want: usize) -> Vec<Value> {
    let length = |value: Option<&Value>| value.and_then(Value::as_f64).map(|length| length as usize);
    let least = length(node.lower_bound("minLength")).unwrap_or(0);
    let most = length(node.upper_bound("maxLength")).unwrap_or(usize::MAX);
    if least > MAX_LENGTH {
        return Vec::new();
    }
    let mut out: Vec<String> = Vec::new();
    for format in node.keyword_values("format").filter_map(Value::as_str) {
        out.extend((0..want).filter_map(|variant| text_of_format(format, least, variant)));
        out.extend(SHORT_TEXTS.iter().filter(|(name, _)| *name == format).map(|(_, text)| (*text).to_owned()));
    }
    out.extend((0..=want).map(|variant| default_text(least, most, variant)));
    for pattern in node.keyword_values("pattern").filter_map(Value::as_str) {
        let made: Vec<String> = (0..want + 3).filter_map(|variant| text_matching(pattern, least, variant)).collect();
        if node.has("format") {
            // The pattern may require a prefix or a suffix of a string in the format.
            out.extend(made.iter().flat_map(|text| [format!("{text}example.com"), format!("example{text}")]));
        }
        out.extend(made);
        out.extend(COMMON_TEXTS.iter().map(|text| fit_length(text, least, most, 0)));
    }
    out.into_iter().map(Value::String).collect()
}

/// Returns `example`, `example2`, …, truncated or repeated to an allowed length.
fn default_text(least: usize, most: usize, variant: usize) -> String {
    let text = if variant == 0 { "example".to_owned() } else { format!("example{}", variant + 1) };
    if most < text.len() { fit_length("example", least, most, variant) } else { fit_length(&text, least, most, 0) }
}

fn fit_length(text: &str, least: usize, most: usize, skip: usize) -> String {
    let length = text.len().max(least).min(most);
    text.chars().cycle().skip(skip).take(length).collect()
}

/// Returns a string in a format named by JSON Schema.
fn text_of_format(format: &str, least: usize, variant: usize) -> Option<String> {
    let number = if variant == 0 { String::new() } else { (variant + 1).to_string() };
    let text = match format {
        "email" | "idn-email" => {
            let user = format!("user{number}");
            let missing = least.saturating_sub(user.len() + "@example.com".len());
            format!("{user}{}@example.com", "r".repeat(missing))
        }
        "uri" | "iri" | "uri-reference" | "iri-reference" | "url" => {
            let start =
                if variant == 0 { "https://example.com".to_owned() } else { format!("https://example.com/{number}") };
            if start.len() < least { format!("{start}/{}", "a".repeat(least - start.len())) } else { start }
        }
        "uri-template" => format!("https://example.com/{{id}}{number}"),
        "uuid" => format!("123e4567-e89b-12d3-a456-{:012}", 426_614_174_000_u64 + variant as u64),
        "date" => format!("2024-{:02}-{:02}", variant / 28 % 12 + 1, (14 + variant) % 28 + 1),
        "date-time" => format!("2024-01-15T{:02}:{:02}:00Z", (10 + variant / 60) % 24, (30 + variant) % 60),
        "time" => format!("{:02}:{:02}:00Z", (10 + variant / 60) % 24, (30 + variant) % 60),
        "duration" => format!("P{}D", variant + 1),
        "ipv4" => format!("192.0.2.{}", variant % 254 + 1),
        "ipv6" => format!("2001:db8::{:x}", variant % 65_535 + 1),
        "hostname" | "idn-hostname" => format!("example{number}.com"),
        "json-pointer" => format!("/example{number}"),
        "relative-json-pointer" => (variant + 1).to_string(),
        "regex" => format!("^example{number}$"),
        _ => return None,
    };
    Some(text)
}
