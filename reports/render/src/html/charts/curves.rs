//! Cumulative step curves: the share of error chains fixed within a number of further attempts.

use plotters::element::{Circle, PathElement};
use plotters::series::LineSeries;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::frame::{Frame, Margins, build_frame, draw_axis_titles, draw_svg};
use super::legend::{self, LegendEntry, LegendKey};
use super::markers::{self, Marker};
use super::postprocess::{DASHED_WIDTH, SeriesPattern};
use super::roles::{FAINT, INK, PAPER};
use super::text::Area;
use super::ticks::Axis;
use super::{Caption, ChartError, Link, Mark, WIDE, clamp_width, is_drawable, text};
use crate::number::percent;

/// The number of distinguishable series; the legend gives the number of omitted ones.
const MAX_CURVES: usize = 8;
/// The largest number of markers on a line, so that they do not overlap.
const MAX_MARKERS: usize = 12;

#[derive(Clone, Debug)]
pub(crate) struct Curves {
    pub(crate) caption: Caption,
    /// The title of the horizontal axis.
    pub(crate) x_title: String,
    /// The title of the vertical axis.
    pub(crate) y_title: String,
    pub(crate) series: Vec<Curve>,
}

#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub(crate) label: String,
    /// The index of the agent, which decides the color and the dashes.
    pub(crate) group: usize,
    /// True if the markers are filled.
    pub(crate) filled: bool,
    /// What the marks lead to.
    pub(crate) link: Option<Link>,
    /// The cumulative share, 0 to 1, at each count. Counts ascend, and the curve ends at its last point.
    pub(crate) points: Vec<(u32, f64)>,
}

/// A curve with its drawing style.
struct CurveLine<'a> {
    label: &'a str,
    points: Vec<(f64, f64)>,
    marker: Marker,
    link: Option<Link>,
}

/// Draws `data` at `width` CSS pixels; `None` if no curve has a point.
pub(crate) fn curves(data: &Curves, width: u32) -> Result<Option<String>, ChartError> {
    let all: Vec<CurveLine<'_>> = data.series.iter().filter_map(curve_line).collect();
    let lines = &all[..all.len().min(MAX_CURVES)];
    let last = data.series.iter().flat_map(|curve| &curve.points).map(|(count, _)| *count).max();
    let (Some(last), false) = (last, lines.is_empty()) else { return Ok(None) };
    let width = clamp_width(width);
    let wide = width >= WIDE;
    let labels = lines.iter().map(|line| text::width(line.label)).max().unwrap_or(0);
    // Labels truncated next to the curves could be ambiguous.
    let label_ends = wide && labels <= width / 4;
    let entries = legend_entries(lines, all.len() - lines.len(), label_ends);
    let right = if label_ends { labels + 28 } else { 18 };
    let margins = Margins { left: 46, right, top: 26, bottom: 22 };
    let plot_height = if wide { 320 } else { 260 };
    let height = plot_height + if entries.is_empty() { 0 } else { 8 + legend::height(&entries, width) };
    let svg = draw_svg(&data.caption, (width, height), SeriesPattern::Dashes, |area| {
        let plot_area = area.clone().shrink((0, 0), (width, plot_height - text::LINE_HEIGHT - 5));
        let x = Axis::integers(last, if wide { 12 } else { 6 });
        let frame = build_frame(&plot_area, &x, &Axis::shares(), margins)?;
        draw_axis_titles(&area.clone().shrink((0, 0), (width, plot_height)), margins, (&data.x_title, &data.y_title))?;
        let marks = draw_lines(area, frame, lines, label_ends.then_some(width - right + 24))?;
        legend::draw(area, &entries, plot_height + 8, width)?;
        Ok(marks)
    })?;
    Ok(Some(svg))
}

fn curve_line(curve: &Curve) -> Option<CurveLine<'_>> {
    let points: Vec<(f64, f64)> = curve
        .points
        .iter()
        .filter(|(_, share)| is_drawable(*share))
        .map(|(count, share)| (f64::from(*count), share.clamp(0.0, 1.0)))
        .collect();
    let marker = Marker::of_group(curve.group, curve.filled, 4);
    (!points.is_empty()).then(|| CurveLine { label: &curve.label, points, marker, link: curve.link })
}

/// Returns entries for the curves that are not labeled at their ends, and the number of missing curves.
fn legend_entries(lines: &[CurveLine<'_>], missing: usize, label_ends: bool) -> Vec<LegendEntry> {
    let named = lines.iter().filter(|_| !label_ends);
    let mut entries: Vec<LegendEntry> =
        named.map(|line| LegendEntry { key: LegendKey::Curve(line.marker), label: line.label.to_owned() }).collect();
    if missing > 0 {
        entries.push(LegendEntry { key: LegendKey::None, label: format!("{missing} more not drawn") });
    }
    entries
}

/// Draws the curves and, if there is a `column` for them, their labels. Returns a mark for each marker.
fn draw_lines(
    area: &Area<'_>,
    mut frame: Frame<'_, '_>,
    lines: &[CurveLine<'_>],
    column: Option<i32>,
) -> Result<Vec<Mark>, ChartError> {
    let (mut ends, mut marks) = (Vec::new(), Vec::new());
    for line in lines {
        frame.draw_series(LineSeries::new(step_points(&line.points), line.marker.role.stroke_width(DASHED_WIDTH)))?;
    }
    for line in lines {
        let every = line.points.len().div_ceil(MAX_MARKERS).max(1);
        for point in line.points.iter().step_by(every) {
            let at = frame.backend_coord(point);
            if !line.marker.filled {
                area.draw(&Circle::new(at, line.marker.radius, PAPER.filled()))?;
            }
            markers::draw(area, line.marker, at)?;
            let text = format!("{}: {} within {}", line.label, percent(point.1), point.0);
            marks.push(Mark::around(at, text, line.link));
        }
        ends.extend(line.points.last().map(|point| frame.backend_coord(point)));
    }
    let Some(column) = column else { return Ok(marks) };
    let wanted: Vec<i32> = ends.iter().map(|(_, y)| *y).collect();
    let bottom = frame.plotting_area().get_pixel_range().1.end;
    for ((line, end), y) in lines.iter().zip(&ends).zip(spread_labels(&wanted, text::LINE_HEIGHT, bottom)) {
        let leader = vec![(end.0 + 6, end.1), (column - 10, y), (column - 4, y)];
        area.draw(&PathElement::new(leader, FAINT.stroke_width(1)))?;
        let room = area.dim_in_pixel().0 as i32 - column;
        text::draw(area, line.label, &text::style(INK, HPos::Left, VPos::Center), (column, y), room)?;
    }
    Ok(marks)
}

/// The share is constant until the next count.
fn step_points(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(points.len() * 2);
    let mut before: Option<f64> = None;
    for (count, share) in points {
        corners.extend(before.filter(|before| before.total_cmp(share).is_ne()).map(|before| (*count, before)));
        corners.push((*count, *share));
        before = Some(*share);
    }
    corners
}

/// Moves positions apart to at least `gap`, downwards and, below `bottom`, back up.
fn spread_labels(wanted: &[i32], gap: i32, bottom: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|index| wanted[*index]);
    let mut positions = wanted.to_vec();
    let mut free = i32::MIN;
    for index in &order {
        positions[*index] = positions[*index].max(free);
        free = positions[*index] + gap;
    }
    let mut free = bottom;
    for index in order.iter().rev() {
        positions[*index] = positions[*index].min(free);
        free = positions[*index] - gap;
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::{spread_labels, step_points};

    #[test]
    fn labels_are_spread() {
        assert_eq!(spread_labels(&[50, 10, 52], 16, 200), [50, 10, 66]);
        assert_eq!(spread_labels(&[195, 190, 100], 16, 200), [200, 184, 100]);
    }

    #[test]
    fn a_share_holds_until_the_next() {
        assert_eq!(
            step_points(&[(0.0, 0.0), (1.0, 0.5), (2.0, 0.5)]),
            [(0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (2.0, 0.5)]
        );
    }
}
