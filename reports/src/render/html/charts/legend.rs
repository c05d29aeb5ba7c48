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
    placed(entries, width).last().map_or(0, |(_, y)| y + LINE)
}

/// Draws `entries` from `top` down, in reading order.
pub(super) fn draw(area: &Area<'_>, entries: &[Entry], top: i32, width: i32) -> Result<(), ChartError> {
    for (entry, (x, y)) in entries.iter().zip(placed(entries, width)) {
        let middle = top + y + LINE / 2;
        key(area, entry.key, (x, middle))?;
        let from = x + entry.key.width();
        text::draw(area, &entry.label, &text::style(INK, HPos::Left, VPos::Center), (from, middle), width - from)?;
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

/// Where entries begin; one that does not fit goes to the next line.
fn placed(entries: &[Entry], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (0, 0);
    let place = |entry: &Entry| {
        let needed = entry.key.width() + text::width(&entry.label).min(width);
        if x > 0 && x + needed > width {
            (x, y) = (0, y + LINE);
        }
        let at = (x, y);
        x += needed + GAP;
        at
    };
    entries.iter().map(place).collect()
}
