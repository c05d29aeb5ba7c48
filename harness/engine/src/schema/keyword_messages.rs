//! Messages of keywords whose issues have no kind of their own.

use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::expected::normalize_number;
use super::lookup::{Trail, pointer_tokens, schema_at};
use crate::contract::readable_subschema;

/// Returns the alternatives at a location in readable form.
pub(super) fn alternatives(schema: &Value, pointer: &str) -> String {
    schema_at(schema, pointer_tokens(pointer), &Trail::default())
        .map_or_else(|| "the alternatives".to_owned(), |schema_part| readable_subschema(schema_part, schema))
}

/// Returns what a list must contain. `parent` is the pointer of the schema with the failed `keyword`: `contains`,
/// `minContains` or `maxContains`.
pub(super) fn contains_message(root: &Value, parent: &str, keyword: &str) -> String {
    let schema = root.pointer(parent);
    let member = |name: &str| schema.and_then(|schema| schema.get(name));
    let kind = member("contains").map_or_else(|| "as required".to_owned(), |item| readable_subschema(item, root));
    // Integral numbers may have a fraction in a schema.
    let limit = member(keyword).map(normalize_number);
    match (keyword, limit) {
        ("minContains", Some(limit)) => format!("at least {limit} of its items must be {kind}"),
        ("maxContains", Some(limit)) => {
            let at_least_one = member("minContains").is_none();
            let least = if at_least_one { "at least 1 and " } else { "" };
            format!("{least}at most {limit} of its items must be {kind}")
        }
        _ => format!("at least 1 of its items must be {kind}"),
    }
}

/// The message for a value where the schema allows none.
pub(super) const NOTHING_ALLOWED: &str = "no value is allowed here";

pub(super) fn other_message(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Not { schema } => format!("it must not be {}", readable_subschema(schema, schema)),
        ValidationErrorKind::FalseSchema => NOTHING_ALLOWED.to_owned(),
        ValidationErrorKind::PropertyNames { error } => format!("a name in it is not allowed: {error}"),
        ValidationErrorKind::AdditionalItems { limit } => format!("it has more than {limit} items"),
        ValidationErrorKind::UnevaluatedItems { unexpected } => {
            format!("items that are not declared: {}", unexpected.join(", "))
        }
        ValidationErrorKind::Custom { message, .. } => format!("it must be {message}"),
        other => format!("`{}` is not met", other.keyword()),
    }
}
