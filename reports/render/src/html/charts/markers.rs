//! Markers of points: eight shapes, filled or hollow.

use plotters::element::{Circle, PathElement, Polygon};
use plotters::style::{Color, RGBColor};

use super::ChartError;
use super::roles;
use super::text::Area;

/// The marker of a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    pub(super) shape: usize,
    pub(super) role: RGBColor,
    pub(super) filled: bool,
    /// Half of the width in pixels.
    pub(super) radius: i32,
}

/// Shapes by index: circle, square, triangle, diamond, plus, cross, inverted triangle, hourglass, then again from the
/// first.
pub(super) const DIAMOND: usize = 3;
/// See [`DIAMOND`].
pub(super) const CIRCLE: usize = 0;
const SHAPES: usize = 8;

impl Marker {
    /// Returns the marker of a group. Shape and color together distinguish 64 groups.
    pub(super) fn of_group(group: usize, filled: bool, radius: i32) -> Marker {
        Marker { shape: group % SHAPES, role: roles::series(group % SHAPES + group / SHAPES), filled, radius }
    }
}

/// Draws a marker around `at`.
pub(super) fn draw(area: &Area<'_>, marker: Marker, at: (i32, i32)) -> Result<(), ChartError> {
    // Lines of series have a stroke of 2, and get dashes by it.
    let stroke = if marker.radius > 4 { 2 } else { 1 };
    let Some(corners) = corners(marker.shape, marker.radius) else {
        let style = if marker.filled { marker.role.filled() } else { marker.role.stroke_width(stroke) };
        return Ok(area.draw(&Circle::new(at, marker.radius, style))?);
    };
    let mut points: Vec<(i32, i32)> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
    if marker.filled {
        return Ok(area.draw(&Polygon::new(points, marker.role.filled()))?);
    }
    points.extend(points.first().copied());
    Ok(area.draw(&PathElement::new(points, marker.role.stroke_width(stroke)))?)
}

/// Returns the corners relative to the center; `None` for a circle.
fn corners(shape: usize, r: i32) -> Option<Vec<(i32, i32)>> {
    // The half width of a plus's arms, and the reach of a cross's arms.
    let (arm, reach) = ((r * 2 / 5).max(1), r - 1);
    let corners = match shape % SHAPES {
        CIRCLE => return None,
        1 => vec![(-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach)],
        2 => vec![(0, -r), (r, reach), (-r, reach)],
        DIAMOND => vec![(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)],
        4 => vec![
            (-arm, -r),
            (arm, -r),
            (arm, -arm),
            (r, -arm),
            (r, arm),
            (arm, arm),
            (arm, r),
            (-arm, r),
            (-arm, arm),
            (-r, arm),
            (-r, -arm),
            (-arm, -arm),
        ],
        5 => {
            let near = r - arm - 1;
            vec![
                (0, -arm),
                (near, -r),
                (r, -near),
                (arm, 0),
                (r, near),
                (near, r),
                (0, arm),
                (-near, r),
                (-r, near),
                (-arm, 0),
                (-r, -near),
                (-near, -r),
            ]
        }
        6 => vec![(0, r), (r, -reach), (-r, -reach)],
        _ => vec![(-r, -r), (r, -r), (-r, r), (r, r)],
    };
    Some(corners)
}
