//! Stacked bars of calls by result, one bar per position, in small panels with a common scale.

use plotters::element::Rectangle;
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::frame::{Margins, build_frame, draw_axis_titles, draw_svg};
use super::legend::{self, LegendEntry, LegendKey};
use super::postprocess::SeriesPattern;
use super::roles::{self, FAINT, GOOD, INK};
use super::text::Area;
use super::ticks::Axis;
use super::{Caption, ChartError, Link, Mark, WIDE, clamp_width, text};
use crate::number::count;

/// The largest number of panels in a row of a wide chart.
const MAX_COLUMNS: usize = 3;
/// Space between panels in pixels.
const GAP: i32 = 20;
/// The largest width of a position's label in pixels.
const MAX_LABEL_WIDTH: i32 = 60;

#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    pub(crate) caption: Caption,
    /// The title of the horizontal axis.
    pub(crate) x_title: String,
    /// The title of the vertical axis.
    pub(crate) y_title: String,
    /// The kinds, from the bottom of each bar up.
    pub(crate) kinds: Vec<CallKind>,
    pub(crate) panels: Vec<Panel>,
}

/// A kind of call: one segment of a bar.
#[derive(Clone, Debug)]
pub(crate) struct CallKind {
    pub(crate) label: String,
    pub(crate) status: CallStatus,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallStatus {
    /// The call succeeded.
    Ok,
    /// The call failed with an error class. Color and hatch distinguish eight of them.
    Error,
    /// The call failed with one of the remaining error classes.
    Other,
}

/// The bars of one condition.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    /// The name of the condition.
    pub(crate) title: String,
    /// What the marks lead to.
    pub(crate) link: Option<Link>,
    /// The bars from left to right.
    pub(crate) bars: Vec<Bar>,
}

#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// The label of the position.
    pub(crate) label: String,
    /// The counts in the order of the kinds.
    pub(crate) counts: Vec<u64>,
}

/// Draws `data` at `width` CSS pixels; `None` if all counts are 0.
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
        let mut marks = Vec::new();
        for (index, shown) in data.panels.iter().enumerate() {
            let (column, line) = ((index % columns) as i32, (index / columns) as i32);
            let corner = (column * (panel.0 + GAP), line * (panel.1 + 8));
            marks.extend(draw_panel(&area.clone().shrink(corner, panel), data, shown, (&y, &roles))?);
        }
        legend::draw(area, &entries, panels_height, width)?;
        Ok(marks)
    })?;
    Ok(Some(svg))
}

/// Returns the number of panels per row; four are arranged two by two.
fn column_count(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2 | 4 => 2,
        _ => MAX_COLUMNS,
    }
}

/// Returns the color of each kind. Error classes have the series' colors in their order.
fn kind_colors(kinds: &[CallKind]) -> Vec<RGBColor> {
    let mut classes = 0..;
    let role = |kind: &CallKind| match kind.status {
        CallStatus::Ok => GOOD,
        CallStatus::Other => FAINT,
        CallStatus::Error => roles::series(classes.next().unwrap_or(0)),
    };
    kinds.iter().map(role).collect()
}

/// Returns the non-empty segments of a bar: index of the kind, bottom, top.
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
) -> Result<Vec<Mark>, ChartError> {
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let labels = y.ticks.iter().map(|(_, label)| text::width(label)).max().unwrap_or(0);
    let left = labels + 10;
    // The last label is centered below its bar and may be wider.
    let bar = (width - left) / (panel.bars.len().max(1) as i32);
    let right = 2 + (widest_label(panel) / 2 - bar / 2).max(0);
    let margins = Margins { left, right, top: 44, bottom: 22 };
    text::draw(area, &panel.title, &text::bold(INK, HPos::Left, VPos::Top), (0, 2), width)?;
    let plot_area = area.clone().shrink((0, 0), (width, height - text::LINE_HEIGHT - 5));
    let mut frame = build_frame(&plot_area, &position_axis(panel, width - margins.left - margins.right), y, margins)?;
    draw_axis_titles(area, margins, (&data.x_title, &data.y_title))?;
    let mut marks = Vec::new();
    for (index, bar) in panel.bars.iter().enumerate() {
        let middle = index as f64 + 1.0;
        if let Some((_, _, top)) = segments(bar, data).last() {
            let (left, upper) = frame.backend_coord(&(middle - 0.4, *top));
            let (right, lower) = frame.backend_coord(&(middle + 0.4, 0.0));
            let area = (left, upper, right - left, lower - upper);
            marks.push(Mark { area, text: describe_bar(panel, bar, data), link: panel.link });
        }
        for (kind, from, to) in segments(bar, data) {
            let at = |value| frame.backend_coord(&(middle, value)).1;
            let high = at(from) - at(to);
            if high == 0 {
                continue;
            }
            let mut part = Rectangle::new([(middle - 0.4, from), (middle + 0.4, to)], roles[kind].filled());
            // A background-colored line separates segments that are high enough.
            if high > 3 {
                part.set_margin(1, 0, 0, 0);
            }
            frame.draw_series([part])?;
        }
    }
    Ok(marks)
}

/// Describes a bar: `all fusion-xml, call 2: 35 ok, 4 NOT_FOUND`.
fn describe_bar(panel: &Panel, bar: &Bar, data: &Stacks) -> String {
    let counts = bar.counts.iter().zip(&data.kinds).filter(|(count, _)| **count > 0);
    let counts: Vec<String> = counts.map(|(calls, kind)| format!("{} {}", count(*calls), kind.label)).collect();
    format!("{}, call {}: {}", panel.title, bar.label, counts.join(", "))
}

/// Returns the width of the widest label of a position in pixels.
fn widest_label(panel: &Panel) -> i32 {
    panel.bars.iter().map(|bar| text::width(&bar.label)).max().unwrap_or(0).min(MAX_LABEL_WIDTH)
}

/// Returns the axis of positions. If not all labels have room, the last one is kept.
fn position_axis(panel: &Panel, room: i32) -> Axis {
    let bars = panel.bars.len().max(1);
    let every =
        ((widest_label(panel) + 8).unsigned_abs() as usize * bars).div_ceil(room.max(1).unsigned_abs() as usize);
    let shown = panel.bars.iter().enumerate().filter(|(index, _)| (bars - 1 - index).is_multiple_of(every));
    let ticks = shown.map(|(index, bar)| (index as f64 + 1.0, text::truncate(&bar.label, MAX_LABEL_WIDTH))).collect();
    Axis { low: 0.4, high: bars as f64 + 0.6, ticks, grid: false }
}
