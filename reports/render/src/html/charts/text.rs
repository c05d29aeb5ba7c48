//! Text in a chart: estimating its width, truncating and drawing it.

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, FontDesc, FontFamily, FontStyle, RGBColor, SVGBackend, TextStyle};
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use unicode_width::UnicodeWidthChar;

use super::ChartError;

/// A drawing area in pixels.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Font size in CSS pixels.
pub(super) const SIZE: f64 = 12.0;
/// Distance between lines in pixels.
pub(super) const LINE_HEIGHT: i32 = 16;
/// Plotters' SVG backend divides font sizes by this number.
const PLOTTERS_SCALE: f64 = 1.24;

/// Returns the `font-size` attribute as plotters writes it.
pub(super) fn svg_font_size() -> f64 {
    SIZE * PLOTTERS_SCALE / PLOTTERS_SCALE
}

/// Returns a text style with the given horizontal and vertical anchor.
pub(super) fn style(role: RGBColor, across: HPos, down: VPos) -> TextStyle<'static> {
    styled(FontStyle::Normal, role, Pos::new(across, down))
}

/// Returns the bold text style of headings.
pub(super) fn bold(role: RGBColor, across: HPos, down: VPos) -> TextStyle<'static> {
    styled(FontStyle::Bold, role, Pos::new(across, down))
}

fn styled(style: FontStyle, role: RGBColor, pos: Pos) -> TextStyle<'static> {
    // The font is set by the page.
    let font = FontDesc::new(FontFamily::Name("inherit"), SIZE * PLOTTERS_SCALE, style);
    TextStyle { font, color: role.to_backend_color(), pos }
}

/// Draws `text`, truncated to `room` pixels.
pub(super) fn draw(
    area: &Area<'_>,
    text: &str,
    style: &TextStyle<'_>,
    at: (i32, i32),
    room: i32,
) -> Result<(), ChartError> {
    let bold = matches!(style.font.get_style(), FontStyle::Bold);
    let text = truncate(text, if bold { room * 10 / 11 } else { room });
    if text.is_empty() {
        return Ok(());
    }
    Ok(area.draw_text(&text, style, at)?)
}

/// Estimates the width of `text` in pixels in the page's usual fonts, rather too wide than too narrow.
pub(super) fn width(text: &str) -> i32 {
    let ems: f64 = text.chars().map(em).sum();
    // Limit the width of very long texts.
    (ems * SIZE).min(1e6).ceil() as i32
}

/// Estimates the width of bold text, which is a tenth wider.
pub(super) fn bold_width(text: &str) -> i32 {
    width(text) * 11 / 10
}

fn em(character: char) -> f64 {
    match character {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.34,
        '(' | ')' | '[' | ']' => 0.4,
        '0'..='9' => 0.64,
        '+' | '<' | '>' | '=' | '×' => 0.84,
        'f' | 'r' | 't' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
        'A'..='Z' | '_' | '&' => 0.7,
        other => match other.width() {
            Some(0) => 0.0,
            Some(1) | None => 0.6,
            Some(_) => 1.05,
        },
    }
}

/// Truncates `text` to `room` pixels with an ellipsis. Characters that XML does not allow are made visible.
pub(super) fn truncate(text: &str, room: i32) -> String {
    let text: String = text.chars().take(300).map(xml_char).collect();
    if width(&text) <= room {
        return text;
    }
    let room = f64::from(room) / SIZE - em('…');
    let mut used = 0.0;
    let kept: String = text
        .chars()
        .take_while(|character| {
            used += em(*character);
            used <= room
        })
        .collect();
    if kept.is_empty() { kept } else { format!("{}…", kept.trim_end()) }
}

/// Breaks `text` at a space into at most two lines of `room` pixels; the second line is truncated.
pub(super) fn wrap(text: &str, room: i32) -> Vec<String> {
    let text: String = text.trim().chars().take(300).map(xml_char).collect();
    let blanks = text.match_indices(' ').map(|(at, _)| at);
    let end = blanks.take_while(|at| width(&text[..*at]) <= room).last();
    match end.filter(|_| width(&text) > room) {
        Some(end) => vec![text[..end].to_owned(), truncate(text[end..].trim_start(), room)],
        None => vec![truncate(&text, room)],
    }
}

/// Replaces line breaks and tabs by spaces, since a label is one line.
pub(super) fn xml_char(character: char) -> char {
    match character {
        '\t' | '\n' | '\r' => ' ',
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => char::REPLACEMENT_CHARACTER,
        other => other,
    }
}
