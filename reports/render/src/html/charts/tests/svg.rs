//! Reads texts and positions from a drawn chart.

use roxmltree::{Document, Node};

use super::super::text;

/// The elements used by charts.
const ELEMENTS: [&str; 14] = [
    "svg", "title", "desc", "defs", "pattern", "path", "rect", "circle", "line", "polyline", "polygon", "text", "a",
    "g",
];
/// The attributes used by charts.
const ATTRIBUTES: [&str; 37] = [
    "href",
    "data-agent",
    "data-c",
    "aria-label",
    "tabindex",
    "class",
    "width",
    "height",
    "viewBox",
    "role",
    "aria-labelledby",
    "aria-describedby",
    "font-family",
    "font-size",
    "id",
    "patternUnits",
    "d",
    "fill",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "points",
    "dx",
    "dy",
    "text-anchor",
    "font-weight",
    "opacity",
    "xmlns",
];

/// Parses a chart, and asserts that it only contains known elements and attributes.
pub(super) fn parse_chart(svg: &str) -> Document<'_> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    for node in document.descendants().filter(Node::is_element) {
        assert!(ELEMENTS.contains(&node.tag_name().name()), "{node:?}");
        for attribute in node.attributes() {
            assert!(ATTRIBUTES.contains(&attribute.name()), "{attribute:?}");
        }
    }
    document
}

pub(super) fn elements<'a>(document: &'a Document<'a>, name: &'a str) -> impl Iterator<Item = Node<'a, 'a>> {
    document.descendants().filter(move |node| node.has_tag_name(("http://www.w3.org/2000/svg", name)))
}

/// Returns all visible texts, without the title and description.
pub(super) fn texts(document: &Document<'_>) -> Vec<String> {
    elements(document, "text").map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
}

/// Returns the width and height.
pub(super) fn size(document: &Document<'_>) -> (i32, i32) {
    (number(document.root_element(), "width"), number(document.root_element(), "height"))
}

/// Returns a numeric attribute; 0 if it is missing.
pub(super) fn number(node: Node<'_, '_>, attribute: &str) -> i32 {
    node.attribute(attribute).map_or(0, |value| value.parse().unwrap_or_else(|_| panic!("{attribute}={value}")))
}

/// Asserts that all shapes are within the view box.
pub(super) fn assert_inside_view_box(document: &Document<'_>) {
    let (width, height) = size(document);
    let drawn = document.root_element().children().filter(|node| !node.has_tag_name("defs"));
    for node in drawn.filter(Node::is_element) {
        for (x, y) in corners(node) {
            assert!((0..=width).contains(&x) && (0..=height).contains(&y), "{x},{y} of {node:?} {:?}", node.text());
        }
    }
}

/// Returns the corners of an element's bounding box.
fn corners(node: Node<'_, '_>) -> Vec<(i32, i32)> {
    let number = |attribute| number(node, attribute);
    match node.tag_name().name() {
        "rect" => vec![(number("x"), number("y")), (number("x") + number("width"), number("y") + number("height"))],
        "circle" => {
            let (x, y, r) = (number("cx"), number("cy"), number("r"));
            vec![(x - r, y - r), (x + r, y + r)]
        }
        "line" => vec![(number("x1"), number("y1")), (number("x2"), number("y2"))],
        "polyline" | "polygon" => points(node),
        "text" => text_box(node),
        _ => Vec::new(),
    }
}

fn points(node: Node<'_, '_>) -> Vec<(i32, i32)> {
    let points = node.attribute("points").unwrap_or_default().split_whitespace();
    let point = |point: &str| {
        let (x, y) = point.split_once(',')?;
        Some((x.parse().ok()?, y.parse().ok()?))
    };
    points.map(|pair| point(pair).unwrap_or_else(|| panic!("{pair}"))).collect()
}

/// Returns the bounding box of a text, by the width estimate that layouts use.
fn text_box(node: Node<'_, '_>) -> Vec<(i32, i32)> {
    let wide = text::width(node.text().unwrap_or_default().trim());
    let (x, y) = (number(node, "x"), number(node, "y"));
    let left = match node.attribute("text-anchor") {
        None => x,
        Some("middle") => x - wide / 2,
        Some("end") => x - wide,
        Some(other) => panic!("{other}"),
    };
    let (top, bottom) = match node.attribute("dy") {
        Some("0.76em") => (y, y + 12),
        Some("0.5ex") => (y - 6, y + 6),
        other => panic!("{other:?}"),
    };
    vec![(left, top), (left + wide, bottom)]
}
