//! Charts of a page: numbers in, one SVG out.
//!
//! A chart is a function of plain data and a width in CSS pixels. A page contains each chart in a wide and a narrow
//! version and CSS selects one, so that text stays about 12 pixels high. Charts only place numbers; they compute no
//! sums, means or tests.
//!
//! An SVG has no theme. Its colors are roles (`roles.rs`) that `charts.css` maps to the page's variables. Everything
//! shown by color is also shown by shape, dash, hatch or order.

mod forest;
mod frame;
mod legend;
mod markers;
mod postprocess;
mod roles;
#[cfg(test)]
mod tests;
mod text;
mod ticks;

use std::io;

use plotters::drawing::DrawingAreaErrorKind;

pub(crate) use forest::{Forest, ForestRow, forest};

/// Maps the color roles to the page's variables; part of the page's style sheet.
pub(crate) const CSS: &str = include_str!("charts/charts.css");

/// From this width on, labels are placed next to markers.
const WIDE: i32 = 560;

/// The error of drawing a chart. Charts are drawn in memory, so it indicates a bug in the drawing code.
#[derive(Debug, thiserror::Error)]
#[error("a chart could not be drawn")]
pub struct ChartError(#[from] DrawingAreaErrorKind<io::Error>);

/// A place of a chart that says its values while the pointer or the focus is on it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    /// The left and upper corner and the size, in pixels.
    area: (i32, i32, i32, i32),
    text: String,
    link: Option<Link>,
}

/// The scenarios that a mark leads to: those of an agent, by its index in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) agent: usize,
}

impl Mark {
    /// Creates a mark around a point.
    fn around((x, y): (i32, i32), text: String, link: Option<Link>) -> Mark {
        Mark { area: (x - 9, y - 9, 18, 18), text, link }
    }
}

/// The text alternative of a chart.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    /// The chart's id, unique in the page and the same at both widths.
    pub(crate) id: String,
    pub(crate) title: String,
    /// A description of the chart with its main numbers.
    pub(crate) description: String,
}

/// Limits a width to those that a layout can be computed for.
fn clamp_width(width: u32) -> i32 {
    i32::try_from(width.clamp(240, 2000)).unwrap_or(720)
}

/// Returns true if a chart can place a number. Numbers larger than any real count or price are rejected.
fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e15
}
