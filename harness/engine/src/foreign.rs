//! The guardrails in front of a server: what becomes of its own results, whose texts are opaque.

use healbench_core::{CallResult, ErrorClass, ToolFailure};
use serde_json::Value;

/// Settings for results of servers.
#[derive(Debug, Clone, Copy)]
pub struct ForeignSettings {
    /// The number of tokens above which the guardrail `truncation` shortens a result.
    pub max_tokens: u32,
    /// Counts the tokens of a text.
    pub count_tokens: fn(&str) -> u32,
}

/// The names of input properties that page or filter a list.
const NARROWING_PROPERTIES: [&str; 22] = [
    "limit",
    "offset",
    "page",
    "page_size",
    "pagesize",
    "per_page",
    "perpage",
    "cursor",
    "first",
    "last",
    "head",
    "tail",
    "start",
    "end",
    "max_results",
    "maxresults",
    "filter",
    "query",
    "search",
    "pattern",
    "since",
    "until",
];

/// Returns the failure of a refused call. The server's text is the message and is never parsed.
pub(crate) fn failure(result: &CallResult) -> ToolFailure {
    let class = match result.protocol_error {
        Some(_) => ErrorClass::ProtocolError,
        None => ErrorClass::ServerError,
    };
    let message = match &result.protocol_error {
        Some(error) => error.message.clone(),
        None => result.shown().join("\n\n"),
    };
    ToolFailure { severity: None, ..ToolFailure::new(class.name(), message) }
}

/// A shortened result.
pub(crate) struct Shortened {
    pub(crate) content: Vec<String>,
    /// The number of items or lines left out.
    pub(crate) omitted: u32,
}

/// Shortens texts above the limit: a JSON array, alone or as the only array of an object, keeps its first items, and
/// any other text its first lines. The last block of the result is the notice. Returns `None` if the texts fit.
pub(crate) fn shorten(content: &[String], schema: Option<&Value>, settings: &ForeignSettings) -> Option<Shortened> {
    let text = content.join("\n\n");
    // No token is shorter than a byte, so most texts need no count.
    if text.len() <= settings.max_tokens as usize || (settings.count_tokens)(&text) <= settings.max_tokens {
        return None;
    }
    let (kept, shown, total, noun) = shorten_json(&text, settings).unwrap_or_else(|| shorten_lines(&text, settings));
    let mut notice = format!("⚠️ Result truncated. Showing {shown} of {total} {noun}.");
    let properties = narrowing_properties(schema);
    if !properties.is_empty() {
        notice.push_str(&format!("\nUse these arguments to narrow it: {}", properties.join(", ")));
    }
    let omitted = u32::try_from(total - shown).unwrap_or(u32::MAX);
    Some(Shortened { content: vec![kept, notice], omitted })
}

/// Returns the text with the first items of its array, the numbers of items kept and found, and their name.
fn shorten_json(text: &str, settings: &ForeignSettings) -> Option<(String, usize, usize, &'static str)> {
    let value: Value = serde_json::from_str(text).ok()?;
    let array_key = match &value {
        Value::Array(_) => None,
        Value::Object(members) => {
            let mut arrays = members.iter().filter(|(_, member)| member.is_array());
            let (key, _) = arrays.next()?;
            if arrays.next().is_some() {
                return None;
            }
            Some(key.clone())
        }
        _ => return None,
    };
    let with = |count: usize| {
        let mut shortened = value.clone();
        let array = match &array_key {
            None => shortened.as_array_mut(),
            Some(key) => shortened.get_mut(key).and_then(Value::as_array_mut),
        };
        if let Some(array) = array {
            array.truncate(count);
        }
        shortened.to_string()
    };
    let items = array_key.as_ref().map_or(&value, |key| &value[key]).as_array()?.len();
    let kept = largest(items, |count| (settings.count_tokens)(&with(count)) <= settings.max_tokens)?;
    Some((with(kept), kept, items, "items"))
}

fn shorten_lines(text: &str, settings: &ForeignSettings) -> (String, usize, usize, &'static str) {
    let ends: Vec<usize> = text
        .split_inclusive('\n')
        .scan(0, |end, line| {
            Some({
                *end += line.len();
                *end
            })
        })
        .collect();
    let with = |count: usize| text[..count.checked_sub(1).map_or(0, |last| ends[last])].trim_end_matches('\n');
    let fits = |count: usize| (settings.count_tokens)(with(count)) <= settings.max_tokens;
    match largest(ends.len(), fits) {
        Some(kept) if kept > 0 => (with(kept).to_owned(), kept, ends.len(), "lines"),
        // The first line alone is too long.
        _ => {
            let ends: Vec<usize> = text.char_indices().map(|(at, character)| at + character.len_utf8()).collect();
            let with = |count: usize| &text[..count.checked_sub(1).map_or(0, |last| ends[last])];
            let kept = largest(ends.len(), |count| (settings.count_tokens)(with(count)) <= settings.max_tokens);
            let kept = kept.unwrap_or(0);
            (with(kept).to_owned(), kept, ends.len(), "characters")
        }
    }
}

/// Returns the largest number up to `max` that fits; `None` if not even 0 does.
fn largest(max: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
    if !fits(0) {
        return None;
    }
    // What fits is usually short, and a test of a long text takes long.
    let (mut low, mut high) = (0, max.min(1));
    while high < max && fits(high) {
        (low, high) = (high, max.min(high * 2));
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if fits(middle) { low = middle } else { high = middle - 1 }
    }
    Some(low)
}

fn narrowing_properties(schema: Option<&Value>) -> Vec<&str> {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let narrows = |name: &&String| NARROWING_PROPERTIES.contains(&name.to_lowercase().as_str());
    properties.into_iter().flat_map(|properties| properties.keys().filter(narrows)).map(String::as_str).collect()
}

/// Returns the properties of a schema whose names occur as words in a text, sorted.
pub(crate) fn named_properties(text: &str, schema: &Value) -> Vec<String> {
    let is_word_character = |character: char| character.is_alphanumeric() || character == '_';
    let words: std::collections::BTreeSet<&str> = text.split(|character| !is_word_character(character)).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let named = |name: &&String| {
        let mut parts = name.split(|character| !is_word_character(character));
        // A name such as `dry-run` consists of several words.
        parts.all(|part| words.contains(part)) && (words.contains(name.as_str()) || text.contains(name.as_str()))
    };
    let mut names: Vec<String> =
        properties.into_iter().flat_map(|properties| properties.keys().filter(named)).cloned().collect();
    names.sort_unstable();
    names
}
