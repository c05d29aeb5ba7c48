//! Helpers for the tests of pages: they parse a page like a browser, as far as needed. This file contains no tests.

use roxmltree::{Document, Node};

/// Elements without an end tag.
const VOID: [&str; 5] = ["meta", "link", "input", "br", "hr"];

/// Converts a page to XML: void elements are closed, every attribute has a value, and style and script are empty. An
/// unescaped quote or bracket makes the result invalid or changes its structure.
pub(crate) fn xml(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        let (tag, after) = after.split_at(end_of_tag(after));
        rest = &after[1..];
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().unwrap();
        out.push('<');
        // Outside of quotes, a word without a value is an attribute.
        for (index, piece) in tag.split('"').enumerate() {
            if index % 2 == 1 {
                out.push_str(&format!("\"{piece}\" "));
                continue;
            }
            for (place, word) in piece.split_whitespace().enumerate() {
                let whole = (index == 0 && place == 0) || word.ends_with('=');
                out.push_str(&format!("{word}{} ", if whole { "" } else { "=\"\"" }).replace("= ", "="));
            }
        }
        out.push_str(if empty || VOID.contains(&name) { "/>" } else { ">" });
        if ["style", "script"].contains(&name) {
            rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
        }
    }
    out.push_str(rest);
    out
}

/// Returns the end of a tag; quoted values may contain any character.
fn end_of_tag(text: &str) -> usize {
    let mut quoted = false;
    let end = text.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b'>' && !quoted
    });
    end.unwrap()
}

/// Parses the page and calls `look` with the document.
pub(crate) fn read<T>(page: &str, look: impl FnOnce(&Document<'_>) -> T) -> T {
    let xml = xml(page);
    let document = Document::parse(&xml).unwrap_or_else(|error| {
        let line = xml.lines().nth(error.pos().row as usize - 1).unwrap_or_default();
        let from = (error.pos().col as usize).saturating_sub(200);
        panic!("{error}: {}", line.chars().skip(from).take(300).collect::<String>())
    });
    look(&document)
}

/// Returns the text without charts, with single spaces; each block's text is separated from the next.
pub(crate) fn text(node: Node<'_, '_>) -> String {
    const BLOCKS: [&str; 7] = ["div", "li", "h3", "h4", "p", "ul", "pre"];
    let mut all = String::new();
    for node in node.descendants().filter(|node| !node.ancestors().any(|node| node.has_tag_name("svg"))) {
        all.push_str(match node.text() {
            Some(text) if node.is_text() => text,
            _ if BLOCKS.contains(&node.tag_name().name()) => " ",
            _ => "",
        });
    }
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the descendants with this name in any namespace.
pub(crate) fn all<'a, 'input>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.descendants().filter(move |node| node.tag_name().name() == name)
}

/// Returns the element with this class.
pub(crate) fn classed<'a, 'input>(
    node: Node<'a, 'input>,
    class: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.descendants()
        .filter(move |node| node.attribute("class").is_some_and(|text| text.split(' ').any(|c| c == class)))
}

/// A table cell: its text and its sort key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) key: Option<String>,
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) heads: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    pub(crate) fn texts(&self) -> Vec<Vec<&str>> {
        self.rows.iter().map(|row| row.iter().map(|cell| cell.text.as_str()).collect()).collect()
    }
}

pub(crate) fn table(node: Node<'_, '_>) -> Table {
    let cell = |node: Node<'_, '_>| Cell { text: text(node), key: node.attribute("data-v").map(str::to_owned) };
    let cells = |row: Node<'_, '_>| row.children().filter(Node::is_element).map(cell).collect::<Vec<_>>();
    let [head, body] = ["thead", "tbody"].map(|part| all(node, part).next().unwrap());
    Table {
        caption: all(node, "caption").map(text).next().unwrap_or_default(),
        heads: all(head, "th").map(text).collect(),
        rows: all(body, "tr").map(cells).collect(),
    }
}

/// Returns the table with this id.
pub(crate) fn table_of(document: &Document<'_>, id: &str) -> Table {
    let found = all(document.root(), "table").find(|node| node.attribute("id") == Some(id));
    table(found.unwrap_or_else(|| panic!("no table {id}")))
}
