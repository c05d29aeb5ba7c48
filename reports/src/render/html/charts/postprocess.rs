//! Converts the SVG of plotters for embedding in a page.

use std::fmt::Write as _;

use super::text::{svg_font_size, xml_char};
use super::{Caption, hatch, roles};

/// The dash patterns of series, which distinguish them without color. The first series has a solid line.
const DASHES: [&str; 7] = ["8 4", "2 3", "9 3 2 3", "14 4", "5 2", "9 3 2 3 2 3", "1 4"];
/// The stroke width of dashed lines. No other line of a series color has it.
pub(super) const DASHED_WIDTH: u32 = 2;

/// The patterns to add to plain colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesPattern {
    /// None.
    Plain,
    /// Series' lines are dashed.
    Dashes,
    /// Rectangles are hatched.
    Hatches,
}

/// Removes repeated attributes, fonts and themes, and adds names and a view box.
///
/// Replacements only affect markup: the search strings contain quotation marks, which are escaped in text.
pub(super) fn postprocess(svg: &str, caption: &Caption, (width, height): (u32, u32), pattern: SeriesPattern) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let mut body = body
        .replace('\n', "")
        .replace(" opacity=\"1\"", "")
        .replace(" stroke=\"none\"", "")
        .replace(" stroke-width=\"1\"", "")
        .replace(" font-family=\"inherit\"", "")
        .replace(&format!(" font-size=\"{}\"", svg_font_size()), "")
        .replace(" text-anchor=\"start\"", "")
        .replace(" \"/>", "\"/>");
    let id = format!("{}-{width}", xml_id(&caption.id));
    let mut definitions = String::new();
    match pattern {
        SeriesPattern::Plain => {}
        SeriesPattern::Dashes => body = apply_dashes(body),
        SeriesPattern::Hatches => (body, definitions) = hatch::apply_hatches(body, &id),
    }
    let mut out = String::with_capacity(body.len() + definitions.len() + 1024);
    // Writing to a `String` cannot fail.
    let _ = write!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{width}" height="{height}" viewBox="0 0 {width} {height}" "#
    );
    let _ = write!(
        out,
        r#"role="img" aria-labelledby="{id}-t" aria-describedby="{id}-d" font-family="inherit" font-size="{}">"#,
        super::text::SIZE
    );
    let _ = write!(out, r#"<title id="{id}-t">{}</title>"#, escape_xml(&caption.title));
    let _ = write!(out, r#"<desc id="{id}-d">{}</desc>"#, escape_xml(&caption.description));
    out.push_str(&definitions);
    out.push_str(&body);
    out
}

fn apply_dashes(mut body: String) -> String {
    for (role, dash) in roles::SERIES.iter().skip(1).zip(DASHES) {
        let line = format!(r#"stroke="{}" stroke-width="{DASHED_WIDTH}""#, roles::hex(*role));
        body = body.replace(&line, &format!(r#"{line} stroke-dasharray="{dash}""#));
    }
    body
}

/// Keeps letters, digits, `-` and `_`.
fn xml_id(id: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    id.chars().map(|character| if fits(character) { character } else { '-' }).collect()
}

fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars().map(xml_char) {
        match character {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            other => out.push(other),
        }
    }
    out
}
