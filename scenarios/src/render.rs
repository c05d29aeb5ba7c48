use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::Diagnostic;

/// The diagnostics in rustc's manner: message, `file:line:column`, the source line with carets, `help:`. `sources` holds the
/// files' texts by path; a diagnostic whose file is not there is shown without its line. Nothing of a source reaches a
/// terminal raw: control characters are made visible.
pub fn render_diagnostics(diagnostics: &[Diagnostic], sources: &BTreeMap<String, String>, color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        if !out.is_empty() {
            out.push('\n');
        }
        let line = sources.get(&diagnostic.file).and_then(|text| source_line(text, diagnostic.line));
        out.push_str(&render_one(diagnostic, line, &renderer));
        out.push('\n');
    }
    out
}

fn render_one(diagnostic: &Diagnostic, line: Option<&str>, renderer: &Renderer) -> String {
    let message = visible(&diagnostic.message);
    let help = diagnostic.help.as_deref().map(visible);
    let file = visible(&diagnostic.file);
    let shown = line.map(replace_invisible);
    let mut group = Group::with_title(Level::ERROR.primary_title(&message));
    group = match &shown {
        Some(shown) => {
            let start = byte_of_column(shown, diagnostic.column);
            let end = byte_of_column(shown, diagnostic.column + diagnostic.length).max(start);
            let snippet = Snippet::source(shown.as_str())
                .path(&file)
                .line_start(diagnostic.line)
                .annotation(AnnotationKind::Primary.span(start..end));
            group.element(snippet)
        }
        None => {
            group.element(annotate_snippets::Origin::path(&file).line(diagnostic.line).char_column(diagnostic.column))
        }
    };
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help));
    }
    renderer.render(&[group])
}

/// Line `number` of `text`, without its line break.
fn source_line(text: &str, number: usize) -> Option<&str> {
    let line = text.split('\n').nth(number.checked_sub(1)?)?;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

fn byte_of_column(line: &str, column: usize) -> usize {
    line.char_indices().nth(column - 1).map_or(line.len(), |(byte, _)| byte)
}

/// annotate-snippets shows C0 and bidirectional controls as pictures; the C1 block (a terminal takes U+009B for an escape
/// sequence) and the line separators it leaves alone.
fn replace_invisible(line: &str) -> String {
    let replace = |c: char| if is_hidden(c) && !c.is_ascii() { char::REPLACEMENT_CHARACTER } else { c };
    line.chars().map(replace).collect()
}

fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with what cannot be seen written as an escape, for messages that quote a file.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
