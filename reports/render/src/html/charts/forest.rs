//! Forest plot: one row per effect with its interval, and a line at zero.

use plotters::element::{Circle, PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, VPos};
use plotters::style::{Color, RGBColor};

use super::frame::{Frame, Margins, build_frame, draw_axis_titles, draw_svg};
use super::legend::{self, LegendEntry};
use super::markers::{self, Marker};
use super::roles::{self, FAINT, INK, PAPER};
use super::text::Area;
use super::ticks::Axis;
use super::{Caption, ChartError, Link, Mark, WIDE, clamp_width, is_drawable, text};

#[derive(Clone, Debug)]
pub(crate) struct Forest {
    pub(crate) caption: Caption,
    /// The title of the axis with the unit of the effects.
    pub(crate) axis: String,
    /// The rows from top to bottom.
    pub(crate) rows: Vec<ForestRow>,
    /// The range of the axis that several charts share; it may be smaller than that of the rows.
    pub(crate) range: (f64, f64),
}

#[derive(Clone, Debug)]
pub(crate) enum ForestRow {
    /// A heading of the rows below it.
    Heading(String),
    /// An effect in the units of the axis.
    Effect {
        /// The name of the effect.
        label: String,
        /// The estimate; unknown if nothing is to be drawn.
        estimate: Option<f64>,
        interval: Option<(f64, f64)>,
        /// True if the effect is clear.
        is_clear: bool,
        /// The formatted estimate and interval.
        text: String,
        /// The index of the agent, which decides the color and what the mark leads to.
        group: usize,
    },
}

#[derive(Clone, Copy)]
struct Layout {
    width: i32,
    wide: bool,
    margins: Margins,
}

/// Draws `data` at `width` CSS pixels; `None` without an estimate.
pub(crate) fn forest(data: &Forest, width: u32) -> Result<Option<String>, ChartError> {
    let values: Vec<f64> = data.rows.iter().flat_map(values).collect();
    if values.is_empty() {
        return Ok(None);
    }
    let layout = layout(data, clamp_width(width));
    let tops = row_tops(&data.rows, layout.wide);
    let rows = tops.last().copied().unwrap_or(0) + 4;
    let entries = legend_entries();
    // Height of the axis numbers, the title and the legend.
    let (numbers, below) = (rows + 22, rows + 22 + 3 + text::LINE_HEIGHT);
    let height = below + 10 + legend::height(&entries, layout.width);
    let svg = draw_svg(&data.caption, (layout.width, height), |area| {
        let plot_area = area.clone().shrink((0, 0), (layout.width, numbers));
        let count = if layout.wide { 8 } else { 4 };
        let ends = values.iter().fold(data.range, |(low, high): (f64, f64), at| (low.min(*at), high.max(*at)));
        let x = Axis::linear(ends.0, ends.1, count).signed();
        let y = Axis { low: 0.0, high: 1.0, ticks: Vec::new(), grid: false };
        let mut frame = build_frame(&plot_area, &x, &y, layout.margins)?;
        frame.draw_series([PathElement::new(vec![(0.0, 0.0), (0.0, 1.0)], INK.stroke_width(1))])?;
        draw_axis_titles(&area.clone().shrink((0, 0), (layout.width, below)), layout.margins, (&data.axis, ""))?;
        let mut marks = Vec::new();
        for (row, top) in data.rows.iter().zip(&tops) {
            marks.extend(draw_row(area, &frame, row, *top, layout)?);
        }
        legend::draw(area, &entries, below + 10, layout.width)?;
        Ok(marks)
    })?;
    Ok(Some(svg))
}

/// Returns the estimates and the ends of their intervals.
fn values(row: &ForestRow) -> Vec<f64> {
    match row {
        ForestRow::Effect { estimate: Some(estimate), interval, .. } if is_drawable(*estimate) => {
            let ends = finite_interval(*interval).into_iter().flat_map(|(low, high)| [low, high]);
            ends.chain([*estimate]).collect()
        }
        _ => Vec::new(),
    }
}

fn finite_interval(interval: Option<(f64, f64)>) -> Option<(f64, f64)> {
    interval
        .filter(|(low, high)| is_drawable(*low) && is_drawable(*high))
        .map(|(low, high)| (low.min(high), low.max(high)))
}

fn layout(data: &Forest, width: i32) -> Layout {
    let wide = width >= WIDE;
    let (mut labels, mut texts) = (60, 40);
    for row in &data.rows {
        if let ForestRow::Effect { label, text, .. } = row {
            labels = text::width(label).max(labels);
            texts = text::width(text).max(texts);
        }
    }
    let (left, right) = if wide {
        (labels.min(width / 3) + 24, texts.min(width / 4) + 16)
    } else {
        (labels.max(texts).min(width * 2 / 5) + 10, 18)
    };
    Layout { width, wide, margins: Margins { left, right, top: 4, bottom: 22 } }
}

/// Returns the top of each row, and the bottom of the last one.
fn row_tops(rows: &[ForestRow], wide: bool) -> Vec<i32> {
    let mut top = 4;
    let mut tops = vec![top];
    for row in rows {
        top += match row {
            ForestRow::Heading(_) => 26,
            ForestRow::Effect { .. } if wide => 24,
            ForestRow::Effect { .. } => 40,
        };
        tops.push(top);
    }
    tops
}

fn draw_row(
    area: &Area<'_>,
    frame: &Frame<'_, '_>,
    row: &ForestRow,
    top: i32,
    layout: Layout,
) -> Result<Option<Mark>, ChartError> {
    let (label, estimate, interval, is_clear, numbers, group) = match row {
        ForestRow::Heading(heading) => {
            // A background keeps grid lines from crossing the text.
            let behind = [(0, top + 5), (text::bold_width(heading).min(layout.width), top + 23)];
            area.draw(&Rectangle::new(behind, PAPER.filled()))?;
            let style = text::bold(INK, HPos::Left, VPos::Center);
            text::draw(area, heading, &style, (0, top + 14), layout.width)?;
            return Ok(None);
        }
        ForestRow::Effect { label, estimate, interval, is_clear, text, group } => {
            (label, estimate, interval, is_clear, text, *group)
        }
    };
    let ink = |across| text::style(INK, across, VPos::Center);
    let (left, right) = (layout.margins.left, layout.margins.right);
    if layout.wide {
        text::draw(area, label, &ink(HPos::Left), (8, top + 12), left - 20)?;
        text::draw(area, numbers, &ink(HPos::Right), (layout.width, top + 12), right - 8)?;
    } else {
        text::draw(area, label, &ink(HPos::Left), (0, top + 12), left - 8)?;
        text::draw(area, numbers, &text::style(FAINT, HPos::Left, VPos::Center), (0, top + 27), left - 8)?;
    }
    let middle = top + if layout.wide { 12 } else { 20 };
    match estimate.filter(|estimate| is_drawable(*estimate)) {
        Some(estimate) => {
            let marker = effect_marker(*is_clear, roles::series(group));
            let at = draw_effect(area, frame, (estimate, finite_interval(*interval)), middle, marker)?;
            let link = Some(Link { agent: group });
            Ok(Some(Mark::around(at, format!("{label}: {numbers}"), link)))
        }
        None => Ok(None),
    }
}

fn draw_effect(
    area: &Area<'_>,
    frame: &Frame<'_, '_>,
    (estimate, interval): (f64, Option<(f64, f64)>),
    y: i32,
    marker: Marker,
) -> Result<(i32, i32), ChartError> {
    let x = |value: f64| frame.backend_coord(&(value, 0.0)).0;
    if let Some((low, high)) = interval {
        area.draw(&PathElement::new(vec![(x(low), y), (x(high), y)], marker.role.stroke_width(2)))?;
    }
    if !marker.filled {
        // The zero line and the interval must not be visible inside a hollow marker.
        area.draw(&Circle::new((x(estimate), y), marker.radius, PAPER.filled()))?;
    }
    markers::draw(area, marker, (x(estimate), y))?;
    Ok((x(estimate), y))
}

/// Returns the marker of an effect in a color.
fn effect_marker(is_clear: bool, role: RGBColor) -> Marker {
    Marker { role, filled: is_clear, radius: 5 }
}

fn legend_entries() -> [LegendEntry; 2] {
    [(true, "clear"), (false, "not clear")]
        .map(|(is_clear, label)| LegendEntry { marker: effect_marker(is_clear, FAINT), label: label.to_owned() })
}
