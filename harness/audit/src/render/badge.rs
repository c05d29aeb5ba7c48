//! Badges with the score.

use serde_json::{Value, json};

use super::title;
use crate::report::AuditReport;

const LABEL: &str = "healbench audit";
/// The color of a badge without a score.
const GREY: &str = "#9f9f9f";
/// The lowest score of each color, the best first.
const COLORS: [(f64, &str); 5] =
    [(90.0, "#4c1"), (75.0, "#97ca00"), (60.0, "#dfb317"), (40.0, "#fe7d37"), (0.0, "#e05d44")];

/// Returns the text and the color of a score, as it is shown.
fn shown(score: Option<f64>) -> (String, &'static str) {
    let Some(score) = score else { return ("no score".to_owned(), GREY) };
    // Rounded as the text, so that equal texts have one color.
    let rounded = (score * 10.0).round() / 10.0;
    let color = COLORS.iter().find(|(from, _)| rounded >= *from).map_or(GREY, |(_, color)| color);
    (format!("{score:.1}"), color)
}

/// Formats the score for the endpoint badge of shields.io.
pub fn badge(report: &AuditReport) -> Value {
    let (message, color) = shown(report.score);
    json!({"schemaVersion": 1, "label": LABEL, "message": message, "color": color})
}

/// Formats the score as a picture, which needs no other file.
pub fn svg(report: &AuditReport) -> String {
    let (message, color) = shown(report.score);
    let (left, right) = (width(LABEL), width(&message));
    let all = left + right;
    let of = escaped(&title(report));
    let part = |text: &str, start: usize, width: usize| {
        let (middle, length) = (start * 10 + width * 5, (width - PADDING) * 10);
        format!(
            "    <text x=\"{middle}\" y=\"150\" fill=\"#010101\" fill-opacity=\".3\" textLength=\"{length}\">{text}</text>\n    \
             <text x=\"{middle}\" y=\"140\" textLength=\"{length}\">{text}</text>\n"
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" aria-label=\"{LABEL}: {message}\">\n  \
         <title>{LABEL} of {of}: {message}</title>\n  \
         <clipPath id=\"r\"><rect width=\"{all}\" height=\"20\" rx=\"3\"/></clipPath>\n  \
         <g clip-path=\"url(#r)\">\n    \
         <rect width=\"{left}\" height=\"20\" fill=\"#555\"/>\n    \
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{color}\"/>\n  \
         </g>\n  \
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,Geneva,DejaVu Sans,sans-serif\" font-size=\"110\" \
         transform=\"scale(.1)\">\n{}{}  </g>\n</svg>\n",
        part(LABEL, 0, left),
        part(&message, left, right)
    )
}

/// The pixels around a text.
const PADDING: usize = 10;

/// Returns the width of a part with a text in pixels: about 7 for a letter or digit of 11 pixels, 4 for a narrow one.
fn width(text: &str) -> usize {
    let letters: usize = text.chars().map(|c| if ". filrt".contains(c) { 4 } else { 7 }).sum();
    PADDING + letters
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in healbench_text::xml_text(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_color_follows_what_is_shown() {
        let color = |score| shown(score).1;
        assert_eq!((color(Some(89.94)), color(Some(89.96)), color(Some(100.0))), ("#97ca00", "#4c1", "#4c1"));
        assert_eq!((color(Some(0.0)), color(None)), ("#e05d44", GREY));
        assert_eq!((shown(Some(89.96)).0, shown(None).0), ("90.0".to_owned(), "no score".to_owned()));
    }
}
