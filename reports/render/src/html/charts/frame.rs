//! The frame of a chart: axes, numbers and grid.

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::prelude::{Cartesian2d, IntoDrawingArea, SVGBackend, TRANSPARENT};
use plotters::style::text_anchor::{HPos, VPos};

use super::postprocess::postprocess;
use super::roles::{FAINT, GRID};
use super::text::Area;
use super::ticks::Axis;
use super::{Caption, ChartError, Mark, text};

/// A drawing area with axes.
pub(super) type Frame<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// The space around a frame in pixels; `left` and `bottom` contain the numbers of the axes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margins {
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

/// Draws a complete chart by `draw`, which returns its marks, and converts it for the page.
pub(super) fn draw_svg(
    caption: &Caption,
    (width, height): (i32, i32),
    draw: impl FnOnce(&Area<'_>) -> Result<Vec<Mark>, ChartError>,
) -> Result<String, ChartError> {
    let size = (width.unsigned_abs(), height.unsigned_abs());
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let marks = draw(&area)?;
    area.present()?;
    drop(area);
    Ok(postprocess(&svg, caption, size, &marks))
}

/// Draws axes, numbers and grid.
pub(super) fn build_frame<'a, 'b>(
    area: &'a Area<'b>,
    x: &Axis,
    y: &Axis,
    margins: Margins,
) -> Result<Frame<'a, 'b>, ChartError> {
    let mut frame = ChartBuilder::on(area)
        .margin_right(margins.right)
        .margin_top(margins.top)
        .x_label_area_size(margins.bottom)
        .y_label_area_size(margins.left)
        .build_cartesian_2d(x.clone(), y.clone())?;
    let mut mesh = frame.configure_mesh();
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .x_labels(x.ticks.len())
        .y_labels(y.ticks.len())
        .x_label_style(text::style(FAINT, HPos::Center, VPos::Top))
        .y_label_style(text::style(FAINT, HPos::Right, VPos::Center));
    if y.ticks.is_empty() {
        mesh.disable_y_axis();
    }
    if !x.grid {
        mesh.disable_x_mesh();
    }
    if !y.grid {
        mesh.disable_y_mesh();
    }
    mesh.draw()?;
    drop(mesh);
    Ok(frame)
}

/// Draws the titles of the axes: the horizontal one centered below the frame, the vertical one at the upper left so
/// that it need not be rotated.
pub(super) fn draw_axis_titles(area: &Area<'_>, margins: Margins, (x, y): (&str, &str)) -> Result<(), ChartError> {
    let (width, height) = area.dim_in_pixel();
    let (width, height) = (width as i32, height as i32);
    let room = width - margins.left - margins.right;
    // A title that is wider than the frame may use the whole width.
    let middle = if text::width(x) > room { width / 2 } else { margins.left + room / 2 };
    text::draw(area, x, &text::style(FAINT, HPos::Center, VPos::Top), (middle, height - text::LINE_HEIGHT), width)?;
    text::draw(area, y, &text::style(FAINT, HPos::Left, VPos::Top), (0, margins.top - text::LINE_HEIGHT - 6), width)
}
