//! Converts the SVG of plotters for embedding in a page.

use std::fmt::Write as _;

use super::text::{svg_font_size, xml_char};
use super::{Caption, Link, Mark};

/// Removes repeated attributes, fonts and themes, and adds names and a view box.
///
/// Replacements only affect markup: the search strings contain quotation marks, which are escaped in text.
pub(super) fn postprocess(svg: &str, caption: &Caption, (width, height): (u32, u32), marks: &[Mark]) -> String {
    let body = svg.split_once('>').map_or("", |(_, body)| body);
    let body = body
        .replace('\n', "")
        .replace(" opacity=\"1\"", "")
        .replace(" stroke=\"none\"", "")
        .replace(" stroke-width=\"1\"", "")
        .replace(" font-family=\"inherit\"", "")
        .replace(&format!(" font-size=\"{}\"", svg_font_size()), "")
        .replace(" text-anchor=\"start\"", "")
        .replace(" \"/>", "\"/>");
    let id = format!("{}-{width}", xml_id(&caption.id));
    let mut out = String::with_capacity(body.len() + 1024);
    // Writing to a `String` cannot fail.
    let _ = write!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart" width="{width}" height="{height}" viewBox="0 0 {width} {height}" "#
    );
    let _ = write!(
        out,
        r#"role="{}" aria-labelledby="{id}-t" aria-describedby="{id}-d" font-family="inherit" font-size="{}">"#,
        // What is in an image cannot have the focus.
        if marks.is_empty() { "img" } else { "group" },
        super::text::SIZE
    );
    let _ = write!(out, r#"<title id="{id}-t">{}</title>"#, escape_xml(&caption.title));
    let _ = write!(out, r#"<desc id="{id}-d">{}</desc>"#, escape_xml(&caption.description));
    let body = body.strip_suffix("</svg>").unwrap_or(&body);
    out.push_str(body);
    marks.iter().for_each(|mark| out.push_str(&format_mark(mark, (width as i32, height as i32))));
    out.push_str("</svg>");
    out
}

/// Formats a mark, cut to the size of the chart: a link, or an element that can have the focus.
fn format_mark(mark: &Mark, (width, height): (i32, i32)) -> String {
    let (x, y, wide, high) = mark.area;
    let (left, top) = (x.clamp(0, width), y.clamp(0, height));
    let (right, bottom) = ((x + wide).clamp(left, width), (y + high).clamp(top, height));
    let rect = format!(r#"<rect x="{left}" y="{top}" width="{}" height="{}"/>"#, right - left, bottom - top);
    let text = escape_xml(&mark.text);
    match mark.link {
        Some(Link { agent }) => {
            format!(r##"<a class="mark" href="#scenarios" data-agent="{agent}" aria-label="{text}">{rect}</a>"##)
        }
        None => format!(r#"<g class="mark" tabindex="0" role="img" aria-label="{text}">{rect}</g>"#),
    }
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
