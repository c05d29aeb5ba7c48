//! Hatch patterns, which distinguish areas without color. Plotters supports plain fills only.

use std::fmt::Write as _;

use super::roles;

/// The lines in a tile of 8 by 8 pixels, one pattern per series.
const HATCHES: [&str; 8] = [
    "M-2 2 2-2M0 8 8 0M6 10 10 6",
    "M-2 6 2 10M0 0 8 8M6-2 10 2",
    "M0 2H8M0 6H8",
    "M2 0V8M6 0V8",
    "M1 2h2M5 6h2",
    "M0 0 8 8M0 8 8 0",
    "M0 4H8M4 0V8",
    "M0 4 2 2 6 6 8 4",
];

/// Fills the rectangles of a series with its pattern. Returns the drawing and the pattern definitions.
pub(super) fn apply_hatches(mut body: String, id: &str) -> (String, String) {
    let mut definitions = String::new();
    for (index, (role, lines)) in roles::SERIES.iter().zip(HATCHES).enumerate() {
        let (name, color) = (format!("{id}-h{index}"), roles::hex(*role));
        let plain = format!(r#" fill="{color}"/>"#);
        if !body.contains(&plain) {
            continue;
        }
        body = body.replace(&plain, &format!(r#" fill="url(#{name})"/>"#));
        // Writing to a `String` cannot fail.
        let _ = write!(
            definitions,
            r#"<pattern id="{name}" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M0 0H8V8H0z" fill="{color}"/><path d="{lines}" fill="none" stroke="{}" stroke-width="1.5"/></pattern>"#,
            roles::hex(roles::PAPER)
        );
    }
    if !definitions.is_empty() {
        definitions = format!("<defs>{definitions}</defs>");
    }
    (body, definitions)
}
