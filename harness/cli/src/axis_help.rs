//! Help texts that name the entries of the protocol's tables.

use healbench_core::{AXES, Axis, CONDITIONS, ErrorFormat, GUARDRAILS};

/// Returns the help of an option that takes sets of guardrails.
pub(crate) fn guardrails_help(subject: &str, end: &str) -> String {
    let names = GUARDRAILS.map(|entry| entry.name).join(", ");
    format!("{subject}: `none`, `all`, or names joined by `+` ({names}){end}")
}

/// Returns the help of an option that takes error formats.
pub(crate) fn formats_help(end: &str) -> String {
    let names: Vec<&str> = ErrorFormat::named().map(|entry| entry.name).collect();
    format!("Error formats ({}, `template:FILE`), or `all`{end}", names.join(", "))
}

/// Returns the help of an option that takes one error format.
pub(crate) fn format_help(subject: &str) -> String {
    let names: Vec<&str> = ErrorFormat::named().map(|entry| entry.name).collect();
    format!("{subject} ({}, or `template:FILE`)", names.join(", "))
}

/// Returns the help of the option that varies conditions.
pub(crate) fn vary_help(verb: &str) -> String {
    let axis = |axis: &Axis| {
        let others = Some(axis.others).filter(|others| !others.is_empty());
        let values: Vec<&str> = (axis.values)().into_iter().map(|(name, _)| name).chain(others).collect();
        format!("`{}` ({})", axis.key, values.join(", "))
    };
    let axes = AXES.each_ref().map(axis).join(", ");
    format!(
        "{verb} each condition with these values of an axis, as in `content=diagnosis,expected`. Several axes, separated by `;`, \
         form all combinations. The unchanged named condition comes first. Axes: {axes}"
    )
}

/// Returns the help of the option that takes named conditions.
pub(crate) fn conditions_help(end: &str) -> String {
    let names = CONDITIONS.each_ref().map(|entry| entry.name).join(", ");
    format!(
        "Named conditions ({names}, or NAME of a `[condition.NAME]` table in healbench.toml), instead of \
         `--guardrails` and `--format`{end}"
    )
}
