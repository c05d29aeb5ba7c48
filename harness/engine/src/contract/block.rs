//! How contract changes are written into an error text.

use super::{Delta, Severity};
use crate::render::{single_line, xml_attribute, xml_text};

/// In whose manner the block is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockStyle {
    /// `<contract_awareness>`, for `fusion-xml` and the bare line.
    Xml,
    /// Lines like those of `fusion-text`.
    Text,
}

/// The block for `action` of `tool`, with a line end before and after it. `deltas` is not empty.
pub(super) fn render_block(tool: &str, action: &str, deltas: &[&Delta], style: BlockStyle) -> String {
    let worst = deltas.iter().map(|delta| delta.severity).max().unwrap_or(Severity::Cosmetic);
    match style {
        BlockStyle::Xml => xml_block(tool, action, deltas, worst),
        BlockStyle::Text => text_block(tool, action, deltas, worst),
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
