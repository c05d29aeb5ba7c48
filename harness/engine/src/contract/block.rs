//! Formatting of contract changes in error texts.

use serde::Serialize;

use super::{Delta, Severity};
use crate::render::{single_line, xml_attribute, xml_text};

/// The syntax of the block, which also determines its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockStyle {
    /// `<contract_awareness>`, before the last `</validation_error>` or at the end: for `fusion-xml` and the bare line.
    Xml,
    /// Lines like those of `fusion-text`, at the end.
    Text,
    /// A Markdown section, at the end: for `llm-friendly`.
    Markdown,
    /// A member `contractChanges` of the error object of `llm-friendly-json`.
    LlmFriendlyJson,
    /// An additional issue in the array of `zod-json`.
    ZodIssue,
    /// An extension member of `problem-json`.
    ProblemMember,
    /// No block: the text itself shows the changes, as a template may.
    Omitted,
}

impl BlockStyle {
    /// Returns true if the block is a part of a JSON text.
    pub(super) fn is_json(self) -> bool {
        matches!(self, BlockStyle::LlmFriendlyJson | BlockStyle::ZodIssue | BlockStyle::ProblemMember)
    }

    /// Returns the closing text before which the block is inserted.
    pub(super) fn closing(self) -> Option<&'static str> {
        match self {
            BlockStyle::Xml => Some("</validation_error>"),
            BlockStyle::LlmFriendlyJson => Some("\n  }\n}"),
            BlockStyle::ZodIssue => Some("\n]"),
            BlockStyle::ProblemMember => Some("\n}"),
            BlockStyle::Text | BlockStyle::Markdown | BlockStyle::Omitted => None,
        }
    }
}

/// Formats the block for `action` of `tool`. `deltas` must not be empty.
pub(super) fn render_block(tool: &str, action: &str, deltas: &[&Delta], style: BlockStyle) -> String {
    let worst = deltas.iter().map(|delta| delta.severity).max().unwrap_or(Severity::Cosmetic);
    match style {
        BlockStyle::Xml => xml_block(tool, action, deltas, worst),
        BlockStyle::Text => text_block(tool, action, deltas, worst),
        BlockStyle::Markdown => markdown_block(tool, action, deltas, worst),
        BlockStyle::LlmFriendlyJson => {
            json_member("contractChanges", &ContractChangesJson::new(tool, action, deltas, worst), 4)
        }
        BlockStyle::ProblemMember => {
            json_member("contract_changes", &ContractChangesJson::new(tool, action, deltas, worst), 2)
        }
        BlockStyle::ZodIssue => zod_issue(tool, action, deltas, worst),
        BlockStyle::Omitted => String::new(),
    }
}

fn xml_block(tool: &str, action: &str, deltas: &[&Delta], worst: Severity) -> String {
    let mut out = format!(
        "
  <contract_awareness>
    <system_note>
      IMPORTANT: The behavioral contract for tool \"{}\" has
      changed since your last calibration.
    </system_note>
    <action>{}</action>
    <change_count>{}</change_count>
    <max_severity>{}</max_severity>

    <instructions>
      Review the contract changes below and adjust your next
      invocation accordingly. These changes may explain why
      your previous arguments were rejected.
    </instructions>

    <contract_deltas>
",
        xml_text(tool),
        xml_text(action),
        deltas.len(),
        worst.name(),
    );
    for delta in deltas {
        let (severity, field) = (delta.severity.name(), xml_attribute(&delta.field));
        out.push_str(&format!("      <delta severity=\"{severity}\" field=\"{field}\">\n"));
        if let Some(previous) = &delta.previous {
            out.push_str(&format!("        <previous>{}</previous>\n", xml_text(previous)));
        }
        if let Some(current) = &delta.current {
            out.push_str(&format!("        <current>{}</current>\n", xml_text(current)));
        }
        out.push_str("      </delta>\n");
    }
    out.push_str("    </contract_deltas>\n  </contract_awareness>\n");
    out
}

fn text_block(tool: &str, action: &str, deltas: &[&Delta], worst: Severity) -> String {
    let name = format!("{tool}.{action}");
    let mut out = format!(
        "\n🔄 CONTRACT CHANGED — '{}' since your last calibration. Worst change: {}.\n",
        single_line(&name),
        worst.name()
    );
    for delta in deltas {
        let value = |value: &Option<String>| {
            value.as_deref().map_or_else(|| "(absent)".to_owned(), |text| single_line(text).into_owned())
        };
        out.push_str(&format!(
            "  • {} [{}] — Before: {} — Now: {}\n",
            single_line(&delta.field),
            delta.severity.name(),
            value(&delta.previous),
            value(&delta.current),
        ));
    }
    out.push_str("💡 Adjust your next call to the contract as it is now.\n");
    out
}

fn markdown_block(tool: &str, action: &str, deltas: &[&Delta], worst: Severity) -> String {
    let name = format!("{tool}.{action}");
    let mut out = format!(
        "\n## Contract Changes:\n\nThe contract of {} has changed since your last calibration (worst change: {}).\n",
        code_span(&name),
        worst.name()
    );
    for (index, delta) in deltas.iter().enumerate() {
        let value = |value: &Option<String>| value.as_deref().map_or_else(|| "(absent)".to_owned(), code_span);
        out.push_str(&format!(
            "\n{}. {} ({})\n   - Before: {}\n   - Now: {}\n",
            index + 1,
            code_span(&delta.field),
            delta.severity.name(),
            value(&delta.previous),
            value(&delta.current),
        ));
    }
    out.truncate(out.trim_end().len());
    out
}

/// Formats a Markdown code span, with a fence longer than any run of backticks in the text.
fn code_span(text: &str) -> String {
    let text = single_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A backtick at either end would extend the fence, and Markdown strips one space from both ends if both have one.
    let ticked = text.starts_with('`') || text.ends_with('`');
    let spaced = text.starts_with(' ') && text.ends_with(' ') && text.contains(|c| c != ' ');
    let pad = if ticked || spaced || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[derive(Debug, Serialize)]
struct ContractChangesJson<'a> {
    tool: &'a str,
    action: &'a str,
    /// The worst severity.
    severity: &'static str,
    changes: Vec<DeltaJson<'a>>,
}

#[derive(Debug, Serialize)]
struct DeltaJson<'a> {
    field: &'a str,
    severity: &'static str,
    previous: Option<&'a str>,
    current: Option<&'a str>,
}

impl<'a> ContractChangesJson<'a> {
    fn new(tool: &'a str, action: &'a str, deltas: &[&'a Delta], worst: Severity) -> ContractChangesJson<'a> {
        let change = |delta: &&'a Delta| DeltaJson {
            field: &delta.field,
            severity: delta.severity.name(),
            previous: delta.previous.as_deref(),
            current: delta.current.as_deref(),
        };
        ContractChangesJson { tool, action, severity: worst.name(), changes: deltas.iter().map(change).collect() }
    }
}

/// Formats a comma and a member of an object that is indented by `indent` spaces.
fn json_member(name: &str, value: &impl Serialize, indent: usize) -> String {
    format!(",\n{:indent$}\"{name}\": {}", "", indented_json(value, indent))
}

fn zod_issue(tool: &str, action: &str, deltas: &[&Delta], worst: Severity) -> String {
    #[derive(Serialize)]
    struct Custom<'a> {
        code: &'static str,
        path: [&'static str; 0],
        message: String,
        params: ContractChangesJson<'a>,
    }
    let issue = Custom {
        code: "custom",
        path: [],
        message: format!("The contract of {tool}.{action} has changed since your last calibration"),
        params: ContractChangesJson::new(tool, action, deltas, worst),
    };
    format!(",\n  {}", indented_json(&issue, 2))
}

/// Formats JSON over several lines and indents all but the first. JSON strings contain no line breaks, so every line
/// break is layout.
fn indented_json(value: &impl Serialize, indent: usize) -> String {
    // Serializing plain data with string keys cannot fail.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.replace('\n', &format!("\n{:indent$}", ""))
}
