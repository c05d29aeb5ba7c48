//! Pages of a list, each with the cursor of the next one.

use healbench_core::{Object, canonical_json};
use serde_json::{Value, json};

use crate::arguments::{Arguments, PAGING_ARGUMENTS, shown};
use crate::definition::{Filter, ToolFailure};
use crate::progress::opaque;

/// Returns one page of a list, as JSON: the page that the argument `cursor` names, or else the first.
pub(crate) fn page_of(
    rows: &[&Object],
    size: usize,
    table: &str,
    filters: &[Filter],
    arguments: Arguments<'_>,
) -> Result<String, ToolFailure> {
    // A cursor belongs to the filters and the order that it was made with.
    let filtering = filters.iter().map(|filter| filter.argument.as_str()).chain(PAGING_ARGUMENTS);
    let list: Object = filtering.filter_map(|name| Some((name.to_owned(), arguments.get(name)?.clone()))).collect();
    let list = format!("{table} {}", canonical_json(&Value::Object(list)));
    let cursor = |page: usize| opaque("", &list, page as u64);
    let pages = rows.chunks(size.max(1));
    let last = pages.len().max(1) - 1;
    let page = match arguments.get("cursor").filter(|sent| !sent.is_null()) {
        None => 0,
        Some(sent) => {
            let is_sent = |page: &usize| sent.as_str() == Some(cursor(*page).as_str());
            (1..=last).find(is_sent).ok_or_else(|| ToolFailure {
                recovery: Some(
                    "Send the next_cursor of the page before, with the same filters, or no cursor for the first page."
                        .to_owned(),
                ),
                recovery_is_generated: true,
                ..ToolFailure::new("INVALID_CURSOR", format!("The cursor '{}' is not one of this list.", shown(sent)))
            })?
        }
    };
    let items = rows.chunks(size.max(1)).nth(page).unwrap_or_default();
    let next = (page < last).then(|| cursor(page + 1));
    Ok(json!({"page": page + 1, "items": items, "next_cursor": next}).to_string())
}
