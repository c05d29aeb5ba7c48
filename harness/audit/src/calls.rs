//! The calls file: calls of a server that are right, and calls that are wrong for reasons that no schema states.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use healbench_core::Object;
use healbench_text::{compared_part, plain_text};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{AuditReport, BaseState};

/// The calls of each tool, by its name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsFile {
    pub tools: BTreeMap<String, ToolCalls>,
}

/// The calls of a tool.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCalls {
    /// The arguments of a call that is right. `{dir}` is the folder that the server was given.
    pub right: Option<Object>,
    /// The arguments of calls that are wrong.
    #[serde(default)]
    pub wrong: Vec<Object>,
}

/// The reason why a calls file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallsError {
    /// It is not such a file.
    #[error("the calls file is invalid: {0}")]
    Invalid(String),
    /// It names a tool that the server does not have.
    #[error("the calls file has the tool `{name}`, which the server does not have{}", nearest(suggestion.as_deref()))]
    UnknownTool {
        name: String,
        /// The tool of the server with the nearest name.
        suggestion: Option<String>,
    },
}

fn nearest(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

impl CallsFile {
    /// Reads a calls file, YAML or JSON.
    ///
    /// # Errors
    /// [`CallsError::Invalid`].
    pub fn parse(text: &str) -> Result<CallsFile, CallsError> {
        let invalid = |error: &dyn std::fmt::Display| {
            // The rest of the message is an excerpt of the file.
            let message = error.to_string();
            CallsError::Invalid(message.lines().next().unwrap_or_default().to_owned())
        };
        serde_saphyr::from_str(text).map_err(|error| invalid(&error))
    }

    /// Checks that the server has the tools of the file.
    ///
    /// # Errors
    /// [`CallsError::UnknownTool`].
    pub(crate) fn check<'n>(&self, names: impl Iterator<Item = &'n str> + Clone) -> Result<(), CallsError> {
        let Some(name) = self.tools.keys().find(|name| !names.clone().any(|known| known == name.as_str())) else {
            return Ok(());
        };
        Err(CallsError::UnknownTool { name: name.clone(), suggestion: nearest_name(name, names) })
    }
}

/// Returns the name that is most like another, if one is.
pub(crate) fn nearest_name<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let likeness = |known: &str| strsim::jaro_winkler(compared_part(name), compared_part(known));
    let best = names.map(|known| (likeness(known), known)).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.8).then(|| best.1.to_owned())
}

/// Returns a first calls file with what an audit found out: the base calls that were accepted, and the others with the
/// reason why they were refused.
pub fn first_calls_file(report: &AuditReport) -> String {
    let mut out = String::from(
        "# Calls for `healbench audit --calls`. `right` is a call that works; `wrong` are calls that should be refused although\n\
         # their arguments fit the schema, such as one of a file that does not exist.\ntools:\n",
    );
    if report.tools.is_empty() && report.uncalled.is_empty() {
        out.push_str("  {}\n");
    }
    for tool in &report.tools {
        // Writing to a `String` cannot fail.
        let _ = writeln!(out, "  {}:", yaml_text(&json!(tool.name)));
        let Some(base) = &tool.base else {
            out.push_str("    # No call could be made up.\n    right: {}\n    wrong: []\n");
            continue;
        };
        let reason = || plain_text(base.text.iter().flat_map(|text| text.lines()).next().unwrap_or_default());
        let _ = match base.state {
            BaseState::Refused => writeln!(out, "    # Edit this call, which was refused: {}", reason()),
            BaseState::RefusedSoftly => {
                writeln!(out, "    # Edit this call, which was answered with an error sent as a success: {}", reason())
            }
            _ => Ok(()),
        };
        let _ = writeln!(out, "    right: {}\n    wrong: []", yaml_text(&base.arguments));
    }
    for tool in &report.uncalled {
        let call = tool.arguments.as_ref().map_or("{}".to_owned(), yaml_text);
        let name = yaml_text(&json!(tool.name));
        let _ = writeln!(out, "  {name}:\n    # Not called: made from the schema.\n    right: {call}\n    wrong: []");
    }
    out
}

/// Returns the JSON of a value with escapes for the characters that YAML does not allow, or that end a line.
fn yaml_text(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            ' '..='~' | '\u{10000}'.. => out.push(c),
            '\u{a0}'..='\u{fffd}' if !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => out.push(c),
            // Writing to a `String` cannot fail.
            _ => drop(write!(out, "\\u{:04x}", u32::from(c))),
        }
    }
    out
}

/// Replaces `{dir}` in all texts of a value.
pub(crate) fn replace_dir(value: &mut Value, dir: &str) {
    match value {
        Value::String(text) if text.contains("{dir}") => *text = text.replace("{dir}", dir),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_dir(item, dir)),
        Value::Object(map) => map.values_mut().for_each(|item| replace_dir(item, dir)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_and_its_mistakes_are_named() {
        let file =
            CallsFile::parse("tools:\n  read:\n    right: {path: \"{dir}/a\"}\n    wrong: [{path: /b}]\n").unwrap();
        assert_eq!((file.tools["read"].wrong.len(), file.check(["read"].into_iter())), (1, Ok(())));
        let unknown = file.check(["reads", "write"].into_iter()).unwrap_err().to_string();
        assert_eq!(
            unknown,
            "the calls file has the tool `read`, which the server does not have; did you mean `reads`?"
        );
        assert!(CallsFile::parse("tools: {read: {wrong: {}}}").is_err());
        let key = CallsFile::parse("tools: {read: {wright: {}}}").unwrap_err().to_string();
        assert!(key.contains("wright"), "{key}");
    }

    #[test]
    fn every_character_of_a_call_is_read_back() {
        let every: String =
            ('\0'..=char::MAX).filter(|c| u32::from(*c) < 0x3000 || u32::from(*c) % 0x80 > 0x7c).collect();
        for text in [every.as_str(), "\u{fffe}", "\u{feff}a", "a: b # c", "{dir}"] {
            // YAML has no keys of over 1,024 characters.
            let name = if text.len() < 100 { text } else { "every" };
            let value = json!({name: [text, 1, null]});
            let file = format!("tools:\n  {}:\n    right: {}\n", yaml_text(&json!(name)), yaml_text(&value));
            let read = CallsFile::parse(&file).unwrap();
            assert_eq!(Value::from(read.tools[name].right.clone().unwrap()), value);
        }
    }
}
