//! The legend below a chart.

use plotters::style::text_anchor::{HPos, VPos};

use super::markers::{self, Marker};
use super::roles::INK;
use super::text::Area;
use super::{ChartError, text};

/// Height of a line in pixels.
const LINE_HEIGHT: i32 = 18;
/// Space between entries in pixels.
const GAP: i32 = 16;

/// The width of the marker before an entry's text, in pixels.
const KEY: i32 = 18;

/// A marker and its meaning.
#[derive(Clone, Debug)]
pub(super) struct LegendEntry {
    pub(super) marker: Marker,
    pub(super) label: String,
}

/// Returns the height of `entries` below a chart in pixels.
pub(super) fn height(entries: &[LegendEntry], width: i32) -> i32 {
    place_entries(entries, width).last().map_or(0, |placed| placed.y + placed.height())
}

/// Draws `entries` from `top` down, in reading order.
pub(super) fn draw(area: &Area<'_>, entries: &[LegendEntry], top: i32, width: i32) -> Result<(), ChartError> {
    for (entry, placed) in entries.iter().zip(place_entries(entries, width)) {
        let mut middle = top + placed.y + LINE_HEIGHT / 2;
        markers::draw(area, entry.marker, (placed.x + 7, middle))?;
        let from = placed.x + KEY;
        for line in &placed.lines {
            text::draw(area, line, &text::style(INK, HPos::Left, VPos::Center), (from, middle), width - from)?;
            middle += LINE_HEIGHT;
        }
    }
    Ok(())
}

/// The position of an entry and the lines of its text.
struct PlacedEntry {
    x: i32,
    y: i32,
    lines: Vec<String>,
}

impl PlacedEntry {
    fn height(&self) -> i32 {
        LINE_HEIGHT * self.lines.len() as i32
    }
}

/// Places entries next to each other. An entry that does not fit moves to the next line, and an entry of two lines has
/// its own row.
fn place_entries(entries: &[LegendEntry], width: i32) -> Vec<PlacedEntry> {
    let (mut x, mut y, mut next) = (0, 0, LINE_HEIGHT);
    let placed = |entry: &LegendEntry| {
        let lines = text::wrap(&entry.label, width - KEY);
        let needed = match &lines[..] {
            [line] => KEY + text::width(line),
            _ => width,
        };
        if x > 0 && x + needed > width {
            (x, y) = (0, next);
        }
        let placed = PlacedEntry { x, y, lines };
        next = y + placed.height();
        x += needed + GAP;
        placed
    };
    entries.iter().map(placed).collect()
}
