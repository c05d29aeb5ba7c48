//! Markers of points.

use plotters::element::{Circle, Polygon};
use plotters::style::{Color, RGBColor};

use super::ChartError;
use super::text::Area;

/// The marker of a point: a filled diamond or a hollow circle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    pub(super) role: RGBColor,
    /// True for the diamond.
    pub(super) filled: bool,
    /// Half of the width in pixels.
    pub(super) radius: i32,
}

/// Draws a marker around `at`.
pub(super) fn draw(area: &Area<'_>, marker: Marker, (x, y): (i32, i32)) -> Result<(), ChartError> {
    let r = marker.radius;
    if !marker.filled {
        // A stroke of 2 on large markers.
        let stroke = if r > 4 { 2 } else { 1 };
        return Ok(area.draw(&Circle::new((x, y), r, marker.role.stroke_width(stroke)))?);
    }
    let corners = vec![(x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y)];
    Ok(area.draw(&Polygon::new(corners, marker.role.filled()))?)
}
