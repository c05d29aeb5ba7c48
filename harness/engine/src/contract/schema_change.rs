//! The severity of a change of an input schema for calls that were valid before.

use serde_json::Value;

use super::Severity;
use super::accepts::accepts_all;
use super::canonical::{canonical_schema, without_annotations, without_required};
use crate::schema::closed_schema;

/// Returns the severity of the change from `previous` to `current`, or `None` if they are equal up to order.
///
/// Under the guardrail `strict`: BREAKING if a previously valid call may be rejected, SAFE if the only change is that
/// less is required, COSMETIC if only descriptions, titles, examples or comments changed, RISKY otherwise.
pub(super) fn severity_of_change(previous: &Value, current: &Value) -> Option<Severity> {
    if canonical_schema(previous) == canonical_schema(current) {
        return None;
    }
    if without_annotations(previous) == without_annotations(current) {
        return Some(Severity::Cosmetic);
    }
    // As applied to calls: with undeclared fields rejected.
    let closed = |schema: &Value| closed_schema(schema, None);
    Some(if !accepts_all(&closed(previous), &closed(current)) {
        Severity::Breaking
    } else if without_required(previous) == without_required(current) {
        Severity::Safe
    } else {
        Severity::Risky
    })
}
