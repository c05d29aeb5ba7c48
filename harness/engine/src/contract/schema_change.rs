//! What a change of an input schema means for calls that were valid before.

use serde_json::Value;

use super::Severity;
use super::accepts::accepts_all;
use super::canonical::{canonical_schema, without_annotations, without_required};
use crate::schema::prepare_schema;

/// How bad the change from `previous` to `current` is; `None` when they say the same, in whatever order.
///
/// Under the guardrail `strict`: BREAKING when a call that was valid may be rejected now, SAFE when the one change is that less is
/// required, COSMETIC when only descriptions, titles, examples or comments changed, RISKY otherwise.
pub(super) fn severity_of_change(previous: &Value, current: &Value) -> Option<Severity> {
    if canonical_schema(previous) == canonical_schema(current) {
        return None;
    }
    if without_annotations(previous) == without_annotations(current) {
        return Some(Severity::Cosmetic);
    }
    // As a call meets them: closed at their roots.
    let closed = |schema: &Value| prepare_schema(schema, None, true);
    Some(if !accepts_all(&closed(previous), &closed(current)) {
        Severity::Breaking
    } else if without_required(previous) == without_required(current) {
        Severity::Safe
    } else {
        Severity::Risky
    })
}
