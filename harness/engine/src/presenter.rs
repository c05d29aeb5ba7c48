//! Presentation of lists: truncation to the presenter's limit, with a notice that explains how to narrow the list.

use healbench_core::Object;
use serde_json::Value;

use crate::definition::{Action, Code, Handler, Presenter, ToolFailure};
use crate::render::single_line;
use crate::schema::RowSchema;

/// The first line and the filters are taken from Fusion's document on cognitive guardrails.
const TRUNCATION_NOTICE: &str =
    "⚠️ Dataset truncated. Showing {shown} of {total} {rows}.\nUse filters to narrow results:\n{filters}";
/// Used when the action has no filters.
const TRUNCATION_NOTICE_WITHOUT_FILTERS: &str = "⚠️ Dataset truncated. Showing {shown} of {total} {rows}.";

/// A presented list.
#[derive(Debug)]
pub(crate) struct PresentedList {
    /// The rows as a JSON array, followed by the other blocks.
    pub(crate) content: Vec<String>,
    /// The number of truncated rows.
    pub(crate) omitted: u32,
    /// The index of the block with the truncation notice, if there is one.
    pub(crate) truncation_notice: Option<usize>,
}

/// Presents `rows` of `action`; `truncate` is the guardrail. Only rows that are shown are checked against `egress`.
///
/// # Errors
/// INTERNAL_ERROR if a shown row does not match: the server's data violates its contract.
pub(crate) fn present(
    action: &Action,
    presenter: Option<&Presenter>,
    egress: Option<&RowSchema>,
    rows: &[&Object],
    truncate: bool,
) -> Result<PresentedList, ToolFailure> {
    let max = presenter.filter(|_| truncate).and_then(|presenter| presenter.max);
    let limit = max.map_or(rows.len(), |max| max.min(rows.len()));
    if let Some(at) = egress.and_then(|egress| rows[..limit].iter().position(|row| !egress.accepts_row(row))) {
        let message = format!("Row {} of the answer does not fit the contract of its list.", at + 1);
        return Err(ToolFailure::new(Code::InternalError, message));
    }
    let mut content = vec![rows_text(&rows[..limit])];
    let Some(presenter) = presenter else { return Ok(PresentedList { content, omitted: 0, truncation_notice: None }) };
    if !presenter.rules.is_empty() {
        content.push(bullet_list("Rules:", &presenter.rules));
    }
    if !presenter.suggest_actions.is_empty() {
        content.push(bullet_list("Suggested actions:", &presenter.suggest_actions));
    }
    let omitted = rows.len() - limit;
    let truncation_notice = (omitted > 0).then(|| {
        content.push(truncation_notice_text(action, presenter, limit, rows.len()));
        content.len() - 1
    });
    Ok(PresentedList { content, omitted: u32::try_from(omitted).unwrap_or(u32::MAX), truncation_notice })
}

/// Formats a JSON array with one row per line.
pub(crate) fn rows_text(rows: &[&Object]) -> String {
    let mut out = String::from("[");
    for (index, row) in rows.iter().enumerate() {
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        // Serializing a map with string keys cannot fail.
        out.push_str(&serde_json::to_string(row).unwrap_or_default());
    }
    out.push_str(if rows.is_empty() { "]" } else { "\n]" });
    out
}

fn bullet_list(head: &str, lines: &[String]) -> String {
    lines.iter().fold(head.to_owned(), |out, line| out + "\n  • " + &single_line(line))
}

fn truncation_notice_text(action: &Action, presenter: &Presenter, shown: usize, total: usize) -> String {
    let filters = filter_lines(action);
    let default = if filters.is_empty() { TRUNCATION_NOTICE_WITHOUT_FILTERS } else { TRUNCATION_NOTICE };
    let rows = match &action.handler {
        Handler::Select { table, .. } => table.as_str(),
        _ => "rows",
    };
    fill_placeholders(
        presenter.truncation_notice.as_deref().unwrap_or(default),
        &[
            ("{shown}", &group_thousands(shown)),
            ("{total}", &group_thousands(total)),
            ("{omitted}", &group_thousands(total - shown)),
            ("{rows}", rows),
            ("{filters}", &filters),
        ],
    )
}

/// Fills the placeholders in one pass, so that a value that looks like a placeholder is not replaced.
fn fill_placeholders(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len() + 64);
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let found = values.iter().find(|(name, _)| rest.starts_with(name));
        let (text, skip) = found.map_or(("{", 1), |(name, value)| (*value, name.len()));
        out.push_str(text);
        rest = &rest[skip..];
    }
    out + rest
}

/// Lists the filters of the action with their options, or else their description, format or type:
/// `  • status: "in_progress", "done"`.
fn filter_lines(action: &Action) -> String {
    let Handler::Select { filters, .. } = &action.handler else { return String::new() };
    let empty = Object::new();
    let properties = action.input.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let line = |argument: &str| {
        let schema = properties.get(argument)?;
        let hint = match schema.get("enum").and_then(Value::as_array) {
            Some(options) => options.iter().map(Value::to_string).collect::<Vec<_>>().join(", "),
            None => ["description", "format", "type"]
                .iter()
                .find_map(|key| schema.get(*key)?.as_str())
                .unwrap_or("any value")
                .to_owned(),
        };
        Some(format!("  • {}: {}", single_line(argument), single_line(&hint)))
    };
    filters.iter().filter_map(|filter| line(&filter.argument)).collect::<Vec<_>>().join("\n")
}

/// Formats `3200` as `3,200`.
fn group_thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + 4);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(["0", "50", "3,200", "1,000,000"], [0, 50, 3200, 1_000_000].map(group_thousands).as_slice());
    }

    #[test]
    fn a_placeholder_in_a_value_stays() {
        assert_eq!(fill_placeholders("{a} {b} {c}", &[("{a}", "{b}"), ("{b}", "1")]), "{b} 1 {c}");
    }
}
