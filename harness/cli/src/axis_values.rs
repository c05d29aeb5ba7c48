//! Parses the values of the options for guardrails, error formats and content.

use std::path::Path;

use healbench_core::{ErrorFormat, Guardrails, TemplateSource};
use healbench_engine::check_template;

use crate::error::CliError;

/// Parses the values of `--guardrails`: sets, and sweeps of several.
pub(crate) fn parse_guardrails(values: &[String]) -> Result<Vec<Guardrails>, CliError> {
    let mut sets: Vec<Guardrails> = Vec::new();
    for value in values {
        let selected = match Guardrails::sweep(value) {
            Some(sweep) => sweep,
            None => vec![value.parse().map_err(with_sweeps)?],
        };
        for set in selected {
            // A sweep may contain a set that is also named, so duplicates are dropped.
            if !sets.contains(&set) {
                sets.push(set);
            }
        }
    }
    Ok(sets)
}

fn with_sweeps(mut error: healbench_core::AxisError) -> CliError {
    error.known.extend(["full", "one-out", "one-in"].map(str::to_owned));
    error.into()
}

/// The value of `--format` that means all named formats.
const ALL_FORMATS: &str = "all";

/// Parses the values of `--format`.
pub(crate) fn parse_formats(values: &[String]) -> Result<Vec<ErrorFormat>, CliError> {
    let mut formats = Vec::new();
    for value in values {
        match value.as_str() {
            // Other values add formats to `all` only if they are templates.
            ALL_FORMATS => formats.extend(ErrorFormat::named().map(|entry| entry.format.clone())),
            value => formats.push(parse_format(value)?),
        }
    }
    if values.iter().any(|value| value == ALL_FORMATS) {
        let mut seen = std::collections::BTreeSet::new();
        formats.retain(|format| seen.insert(format.clone()));
    }
    reject_duplicates("--format", formats.iter().map(ErrorFormat::to_string))?;
    Ok(formats)
}

/// Parses the name of a format, or `template:FILE`.
fn parse_format(value: &str) -> Result<ErrorFormat, CliError> {
    match value.strip_prefix("template:") {
        Some(file) => read_template(file).map(ErrorFormat::Template),
        None => value.parse().map_err(with_templates),
    }
}

/// Reads the template of an error format.
pub(crate) fn read_template(file: &str) -> Result<TemplateSource, CliError> {
    let text = healbench_files::read_text_file(Path::new(file), healbench_files::MAX_WRITTEN_BYTES)
        .map_err(|source| CliError::read(Path::new(file), &source))?;
    let source = TemplateSource { file: file.to_owned(), text };
    check_template(&source)?;
    Ok(source)
}

/// Parses a value of `--format` that must be a single format.
pub(crate) fn parse_single_format(value: &str) -> Result<ErrorFormat, CliError> {
    match value == ALL_FORMATS || (value.contains(',') && !value.starts_with("template:")) {
        true => Err(CliError::one_only("--format", value)),
        false => parse_format(value),
    }
}

fn with_templates(mut error: healbench_core::AxisError) -> CliError {
    error.known.extend([ALL_FORMATS, "template:FILE"].map(str::to_owned));
    error.into()
}

/// Rejects a value that an option names twice.
pub(crate) fn reject_duplicates(option: &'static str, values: impl Iterator<Item = String>) -> Result<(), CliError> {
    let mut seen = std::collections::BTreeSet::new();
    for value in values {
        if !seen.insert(value.clone()) {
            return Err(CliError::new(format_args!("`{option}` names `{value}` twice")));
        }
    }
    Ok(())
}
