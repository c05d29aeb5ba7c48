//! The charts of a page: finished numbers in, one SVG out.
//!
//! Every chart is a function over plain data and a width in CSS pixels. A page shows each of them twice, wide and narrow, and lets
//! CSS pick, for text must stay about 12 pixels high. Nothing here sums, averages or tests: a chart only places numbers.
//!
//! An SVG has no theme. Its colors are roles (`roles.rs`) that `charts.css` turns into the page's variables, and whatever a color
//! tells, a shape, a dash, a hatch or an order tells as well.

mod curves;
mod forest;
mod frame;
mod hatch;
mod legend;
mod markers;
mod postprocess;
mod roles;
mod scatter;
mod stacks;
#[cfg(test)]
mod tests;
mod text;
mod ticks;

use std::io;

use plotters::drawing::DrawingAreaErrorKind;

pub(crate) use curves::{Curve, Curves, curves};
pub(crate) use forest::{Forest, ForestRow, forest};
pub(crate) use scatter::{MAX_WHISKER_POINTS, Point, Scatter, scatter};
pub(crate) use stacks::{Bar, CallKind, CallStatus, Panel, Stacks, stacks};

/// What gives the roles their colors; part of a page's style sheet.
pub(crate) const CSS: &str = include_str!("charts/charts.css");

/// From this width on a chart has room for labels beside its marks.
const WIDE: i32 = 560;

/// A chart could not be drawn. It is drawn into memory, so this says that something is wrong with the drawing itself.
#[derive(Debug, thiserror::Error)]
#[error("a chart could not be drawn")]
pub struct ChartError(#[from] DrawingAreaErrorKind<io::Error>);

/// What says in words what a chart shows, for those who do not see it.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    /// Unique in the page among charts; the same for a chart's two widths.
    pub(crate) id: String,
    /// The chart's name.
    pub(crate) title: String,
    /// What there is to see, with the numbers that matter.
    pub(crate) description: String,
}

/// Widths that a layout can be made for; what is asked for beyond is drawn at the nearest.
fn clamp_width(width: u32) -> i32 {
    i32::try_from(width.clamp(240, 2000)).unwrap_or(720)
}

/// Whether a chart can place a number. What is larger than any count or price comes from nowhere but a mistake.
fn is_drawable(value: f64) -> bool {
    value.is_finite() && value.abs() < 1e15
}
