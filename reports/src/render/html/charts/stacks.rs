//! Calls by what came of them, one stacked bar for each position, in small panels of one scale.

use plotters::element::Rectangle;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::frame::{Area, Margins, build_frame, draw_axis_titles, draw_svg};
use super::legend::{self, LegendEntry, LegendKey};
use super::postprocess::SeriesPattern;
use super::roles::{self, FAINT, GOOD, INK};
use super::ticks::Axis;
use super::{Caption, ChartError, WIDE, clamp_width, text};

/// Panels that stand beside each other in a wide chart.
const MAX_COLUMNS: usize = 3;
/// Between panels.
const GAP: i32 = 20;
/// Pixels that the label of a position has at most.
const MAX_LABEL_WIDTH: i32 = 60;

/// Stacked bars in panels.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    /// What the chart says in words.
    pub(crate) caption: Caption,
    /// What bars stand for.
    pub(crate) x_title: String,
    /// What is counted.
    pub(crate) y_title: String,
    /// Kinds from the bottom of each bar up.
    pub(crate) kinds: Vec<CallKind>,
    /// The panels.
    pub(crate) panels: Vec<Panel>,
}

/// A part of a bar.
#[derive(Clone, Debug)]
pub(crate) struct CallKind {
    /// Its name.
    pub(crate) label: String,
    /// What it is.
    pub(crate) status: CallStatus,
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallStatus {
    /// It succeeded.
    Ok,
    /// A class of errors. Eight of them differ by color and hatch.
    Error,
    /// Classes that have no color of their own.
    Other,
}

/// The bars of one setting.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The setting.
    pub(crate) title: String,
    /// From left to right.
    pub(crate) bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Its position.
    pub(crate) label: String,
    /// Counts in the order of the kinds.
    pub(crate) counts: Vec<u64>,
}

/// Draws `data` at `width` CSS pixels; nothing when nothing was counted.
pub(crate) fn stacks(data: &Stacks, width: u32) -> Result<Option<String>, ChartError> {
    let bars = data.panels.iter().flat_map(|panel| &panel.bars);
    let highest = bars.filter_map(|bar| segments(bar, data).last().map(|(_, _, to)| *to)).fold(0.0, f64::max);
    if highest <= 0.0 {
        return Ok(None);
    }
    let width = clamp_width(width);
    let columns = if width >= WIDE { column_count(data.panels.len()) } else { 1 };
    let lines = data.panels.len().div_ceil(columns);
    let panel = ((width + GAP) / columns as i32 - GAP, if width >= WIDE { 260 } else { 220 });
    let panels_height = (panel.1 + 8) * lines as i32;
    let roles = kind_colors(&data.kinds);
    let named = data.kinds.iter().zip(&roles);
    let entries: Vec<LegendEntry> =
        named.map(|(kind, role)| LegendEntry { key: LegendKey::Fill(*role), label: kind.label.clone() }).collect();
    let height = panels_height + legend::height(&entries, width);
    let y = Axis::linear(0.0, highest, 4);
    let svg = draw_svg(&data.caption, (width, height), SeriesPattern::Hatches, |area| {
        for (index, shown) in data.panels.iter().enumerate() {
            let (column, line) = ((index % columns) as i32, (index / columns) as i32);
            let corner = (column * (panel.0 + GAP), line * (panel.1 + 8));
            draw_panel(&area.clone().shrink(corner, panel), data, shown, (&y, &roles))?;
        }
        legend::draw(area, &entries, panels_height, width)
    })?;
    Ok(Some(svg))
}

/// Panels in a line, so that four are two by two.
fn column_count(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => MAX_COLUMNS,
    }
}

/// The color of each kind. Classes take the series' colors in their order.
fn kind_colors(kinds: &[CallKind]) -> Vec<RGBColor> {
    let mut classes = 0..;
    let role = |kind: &CallKind| match kind.status {
        CallStatus::Ok => GOOD,
        CallStatus::Other => FAINT,
        CallStatus::Error => roles::series(classes.next().unwrap_or(0)),
    };
    kinds.iter().map(role).collect()
}

/// The parts of a bar that hold something: which kind, from where, to where.
fn segments(bar: &Bar, data: &Stacks) -> Vec<(usize, f64, f64)> {
    let mut from = 0.0;
    let counts = bar.counts.iter().take(data.kinds.len()).enumerate().filter(|(_, count)| **count > 0);
    let place = |(kind, count): (usize, &u64)| {
        let to = from + *count as f64;
        (kind, std::mem::replace(&mut from, to), to)
    };
    counts.map(place).collect()
}

fn draw_panel(
    area: &Area<'_>,
    data: &Stacks,
    panel: &Panel,
    (y, roles): (&Axis, &[RGBColor]),
) -> Result<(), ChartError> {
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let labels = y.ticks.iter().map(|(_, label)| text::width(label)).max().unwrap_or(0);
    let left = labels + 10;
    // The last position's label is in the middle of its bar and may be wider.
    let bar = (width - left) / (panel.bars.len().max(1) as i32);
    let right = 2 + (widest_label(panel) / 2 - bar / 2).max(0);
    let margins = Margins { left, right, top: 44, bottom: 22 };
    text::draw(area, &panel.title, &text::bold(INK, HPos::Left, VPos::Top), (0, 2), width)?;
    let plot_area = area.clone().shrink((0, 0), (width, height - text::LINE_HEIGHT - 5));
    let mut frame = build_frame(&plot_area, &position_axis(panel, width - margins.left - margins.right), y, margins)?;
    draw_axis_titles(area, margins, (&data.x_title, &data.y_title))?;
    for (index, bar) in panel.bars.iter().enumerate() {
        let middle = index as f64 + 1.0;
        for (kind, from, to) in segments(bar, data) {
            let at = |value| frame.backend_coord(&(middle, value)).1;
            let high = at(from) - at(to);
            if high == 0 {
                continue;
            }
            let mut part = Rectangle::new([(middle - 0.4, from), (middle + 0.4, to)], roles[kind].filled());
            // A line of paper between the parts, where there is room for one.
            if high > 3 {
                part.set_margin(1, 0, 0, 0);
            }
            frame.draw_series([part])?;
        }
    }
    Ok(())
}

/// The pixels of the widest label of a position.
fn widest_label(panel: &Panel) -> i32 {
    panel.bars.iter().map(|bar| text::width(&bar.label)).max().unwrap_or(0).min(MAX_LABEL_WIDTH)
}

/// The axis of positions. Where not every label has room the last one stays.
fn position_axis(panel: &Panel, room: i32) -> Axis {
    let bars = panel.bars.len().max(1);
    let every =
        ((widest_label(panel) + 8).unsigned_abs() as usize * bars).div_ceil(room.max(1).unsigned_abs() as usize);
    let shown = panel.bars.iter().enumerate().filter(|(index, _)| (bars - 1 - index).is_multiple_of(every));
    let ticks = shown.map(|(index, bar)| (index as f64 + 1.0, text::truncate(&bar.label, MAX_LABEL_WIDTH))).collect();
    Axis { low: 0.4, high: bars as f64 + 0.6, ticks, grid: false }
}
