//! What the marks of a chart mean, in lines below it.

use plotters::element::{PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::finish::DASHED_WIDTH;
use super::frame::Area;
use super::marks::{self, Mark};
use super::roles::INK;
use super::{ChartError, text};

/// Height of a line.
const LINE: i32 = 18;
/// Between an entry and the next.
const GAP: i32 = 16;

/// What stands before an entry's text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    /// A series' line with its mark.
    Curve(Mark),
    /// A point's mark.
    Point(Mark),
    /// A bar's fill.
    Fill(RGBColor),
    /// Nothing: a remark.
    Nothing,
}

impl Key {
    fn width(self) -> i32 {
        match self {
            Key::Curve(_) => 36,
            Key::Point(_) => 18,
            Key::Fill(_) => 20,
            Key::Nothing => 0,
        }
    }
}

/// One entry.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) label: String,
}

/// Pixels that `entries` take below a chart.
pub(super) fn height(entries: &[Entry], width: i32) -> i32 {
    placed(entries, width).last().map_or(0, |place| place.y + place.height())
}

/// Draws `entries` from `top` down, in reading order.
pub(super) fn draw(area: &Area<'_>, entries: &[Entry], top: i32, width: i32) -> Result<(), ChartError> {
    for (entry, place) in entries.iter().zip(placed(entries, width)) {
        let mut middle = top + place.y + LINE / 2;
        key(area, entry.key, (place.x, middle))?;
        let from = place.x + entry.key.width();
        for line in &place.lines {
            text::draw(area, line, &text::style(INK, HPos::Left, VPos::Center), (from, middle), width - from)?;
            middle += LINE;
        }
    }
    Ok(())
}

fn key(area: &Area<'_>, key: Key, (x, y): (i32, i32)) -> Result<(), ChartError> {
    match key {
        Key::Curve(mark) => {
            area.draw(&PathElement::new(vec![(x, y), (x + 30, y)], mark.role.stroke_width(DASHED_WIDTH)))?;
            marks::draw(area, mark, (x + 15, y))
        }
        Key::Point(mark) => marks::draw(area, mark, (x + 7, y)),
        Key::Fill(role) => Ok(area.draw(&Rectangle::new([(x, y - 6), (x + 14, y + 6)], role.filled()))?),
        Key::Nothing => Ok(()),
    }
}

/// Where an entry begins, and the lines of its text.
struct Place {
    x: i32,
    y: i32,
    lines: Vec<String>,
}

impl Place {
    fn height(&self) -> i32 {
        LINE * self.lines.len() as i32
    }
}

/// Places entries beside each other; one that does not fit goes to the next line, and one that has two lines has them alone.
fn placed(entries: &[Entry], width: i32) -> Vec<Place> {
    let (mut x, mut y, mut next) = (0, 0, LINE);
    let place = |entry: &Entry| {
        let lines = text::wrapped(&entry.label, width - entry.key.width());
        let needed = match &lines[..] {
            [line] => entry.key.width() + text::width(line),
            _ => width,
        };
        if x > 0 && x + needed > width {
            (x, y) = (0, next);
        }
        let place = Place { x, y, lines };
        next = y + place.height();
        x += needed + GAP;
        place
    };
    entries.iter().map(place).collect()
}
