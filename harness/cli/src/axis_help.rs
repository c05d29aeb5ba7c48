//! Help texts that name the entries of the protocol's tables.

use healbench_protocol::{CLIENTS, CONDITIONS, CONTENTS, ErrorFormat, GUARDRAILS};

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

/// Returns the help of an option that takes levels of content.
pub(crate) fn contents_help(subject: &str, end: &str) -> String {
    format!("{subject} ({}){end}", CONTENTS.map(|entry| entry.name).join(", "))
}

/// Returns the help of an option that takes clients.
pub(crate) fn clients_help(end: &str) -> String {
    format!(
        "Clients, the programs that show responses to their models ({}){end}",
        CLIENTS.map(|entry| entry.name).join(", ")
    )
}

/// Returns the help of the option that takes named conditions.
pub(crate) fn conditions_help(end: &str) -> String {
    let names = CONDITIONS.each_ref().map(|entry| entry.name).join(", ");
    format!(
        "Named conditions ({names}, or NAME of a `[condition.NAME]` table in healbench.toml), in the place of \
         `--guardrails`, `--format`, `--undeclared` and `--content`{end}"
    )
}
