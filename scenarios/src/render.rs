use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use healbench_text::is_unprintable;

use crate::Diagnostic;

/// Formats diagnostics like rustc: message, `file:line:column`, the source line with carets, `help:`. `sources`
/// contains the texts of files by path; without its file's text, and in a very long line, a diagnostic is shown without the
/// source line. Control characters are made visible.
pub fn render_diagnostics(diagnostics: &[Diagnostic], sources: &BTreeMap<String, String>, color: bool) -> String {
    render_all(diagnostics, sources, &Level::ERROR, color)
}

/// Formats warnings as [`render_diagnostics`] does errors.
pub fn render_warnings(warnings: &[Diagnostic], sources: &BTreeMap<String, String>, color: bool) -> String {
    render_all(warnings, sources, &Level::WARNING, color)
}

fn render_all(
    diagnostics: &[Diagnostic],
    sources: &BTreeMap<String, String>,
    level: &Level<'_>,
    color: bool,
) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for diagnostic in diagnostics {
        if !out.is_empty() {
            out.push('\n');
        }
        let line = sources.get(&diagnostic.file).and_then(|text| source_line(text, diagnostic.line));
        out.push_str(&render_one(diagnostic, line, level, &renderer));
        out.push('\n');
    }
    out
}

fn render_one(diagnostic: &Diagnostic, line: Option<&str>, level: &Level<'_>, renderer: &Renderer) -> String {
    let message = escape_unprintable(&diagnostic.message);
    let help = diagnostic.help.as_deref().map(escape_unprintable);
    let file = escape_unprintable(&diagnostic.file);
    let display_line = line.map(replace_unprintable);
    let mut group = Group::with_title(level.clone().primary_title(&message));
    group = match &display_line {
        Some(display_line) => {
            let start = byte_of_column(display_line, diagnostic.column);
            let end = byte_of_column(display_line, diagnostic.column + diagnostic.length).max(start);
            let snippet = Snippet::source(display_line.as_str())
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

/// The longest line that is shown, in bytes.
const MAX_LINE: usize = 10_000;

/// Returns line `number` of `text`, from 1, without its line break, unless it is too long.
fn source_line(text: &str, number: usize) -> Option<&str> {
    let line = text.split('\n').nth(number.checked_sub(1)?)?;
    Some(line.strip_suffix('\r').unwrap_or(line)).filter(|line| line.len() <= MAX_LINE)
}

fn byte_of_column(line: &str, column: usize) -> usize {
    line.char_indices().nth(column - 1).map_or(line.len(), |(byte, _)| byte)
}

/// Replaces unprintable characters that annotate-snippets does not: the C1 controls (terminals interpret U+009B as an
/// escape sequence) and line separators. It replaces C0 and bidirectional controls with pictures itself.
fn replace_unprintable(line: &str) -> String {
    let replace = |c: char| if is_unprintable(c) && !c.is_ascii() { char::REPLACEMENT_CHARACTER } else { c };
    line.chars().map(replace).collect()
}

/// Escapes unprintable characters in `text`, for messages that quote a file.
pub(crate) fn escape_unprintable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unprintable(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
