//! Scatter plot of cost against success, one point per row.

use plotters::element::PathElement;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::frame::{Frame, Margins, build_frame, draw_axis_titles, draw_svg};
use super::legend::{self, LegendEntry, LegendKey};
use super::markers::{self, Marker};
use super::postprocess::SeriesPattern;
use super::roles::{FAINT, INK};
use super::text::Area;
use super::ticks::Axis;
use super::{Caption, ChartError, Link, Mark, WIDE, clamp_width, is_drawable, text};

/// The largest number of points with whiskers and full-size markers; more whiskers would hide the points.
pub(crate) const MAX_WHISKER_POINTS: usize = 60;

#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    pub(crate) caption: Caption,
    /// The title of the horizontal axis.
    pub(crate) x_title: String,
    /// The title of the vertical axis.
    pub(crate) y_title: String,
    /// The names of groups.
    pub(crate) groups: Vec<String>,
    /// The legend of filled markers.
    pub(crate) filled: String,
    /// The legend of hollow markers.
    pub(crate) hollow: String,
    pub(crate) points: Vec<Point>,
}

#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// The name, shown if it has room.
    pub(crate) label: String,
    /// The index of the group.
    pub(crate) group: usize,
    /// True if the marker is filled.
    pub(crate) filled: bool,
    /// The amount.
    pub(crate) x: f64,
    /// The share, 0 to 1.
    pub(crate) y: f64,
    pub(crate) y_interval: Option<(f64, f64)>,
    /// What the mark leads to.
    pub(crate) link: Option<Link>,
    /// The values as text.
    pub(crate) text: String,
}

/// Draws `data` at `width` CSS pixels; `None` without a point.
pub(crate) fn scatter(data: &Scatter, width: u32) -> Result<Option<String>, ChartError> {
    let points: Vec<&Point> = data.points.iter().filter(|point| is_drawable(point.x) && is_drawable(point.y)).collect();
    if points.is_empty() {
        return Ok(None);
    }
    let width = clamp_width(width);
    let wide = width >= WIDE;
    let (x, logarithmic) = amount_axis(&points, if wide { 8 } else { 4 });
    let entries = legend_entries(data, &points);
    let margins = Margins { left: 46, right: 20, top: 26, bottom: 22 };
    let plot_height = if wide { 360 } else { 280 };
    let height = plot_height + 8 + legend::height(&entries, width);
    let svg = draw_svg(&data.caption, (width, height), SeriesPattern::Plain, |area| {
        let plot_area = area.clone().shrink((0, 0), (width, plot_height - text::LINE_HEIGHT - 5));
        let frame = build_frame(&plot_area, &x, &Axis::shares(), margins)?;
        let title = format!("{}{}", data.x_title, if logarithmic { " (logarithmic)" } else { "" });
        draw_axis_titles(&area.clone().shrink((0, 0), (width, plot_height)), margins, (&title, &data.y_title))?;
        let to_pixel = |x: f64, y: f64| {
            let x = if logarithmic { x.log10() } else { x };
            frame.backend_coord(&(x, y.clamp(0.0, 1.0)))
        };
        draw_points(area, &points, to_pixel)?;
        let bounds = bounds(&frame);
        if points.len() <= MAX_WHISKER_POINTS {
            draw_labels(area, &points, to_pixel, bounds)?;
        }
        legend::draw(area, &entries, plot_height + 8, width)?;
        let few = points.len() <= MAX_WHISKER_POINTS;
        let mark = |point: &&&Point| Mark::around(to_pixel(point.x, point.y), point.text.clone(), point.link);
        Ok(points.iter().filter(|_| few).map(|point| mark(&point)).collect())
    })?;
    Ok(Some(svg))
}

/// Returns the axis of amounts, and true if it is logarithmic.
fn amount_axis(points: &[&Point], count: i32) -> (Axis, bool) {
    let least = points.iter().map(|point| point.x).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|point| point.x).fold(f64::NEG_INFINITY, f64::max);
    if least > 1e-9 && most / least > 20.0 {
        return (Axis::logarithmic(least, most, count), true);
    }
    // Amounts close to each other do not need a zero, but almost equal amounts are not magnified.
    let near = least > most / 2.0 && most - least > most / 20.0;
    let from = if least > 0.0 && near { least - (most - least) / 10.0 } else { least.min(0.0) };
    (Axis::linear(from, most, count), false)
}

fn bounds(frame: &Frame<'_, '_>) -> PixelRect {
    let (x, y) = frame.plotting_area().get_pixel_range();
    PixelRect { left: x.start, right: x.end, top: y.start, bottom: y.end }
}

/// Returns the groups that have points, then filled and hollow markers.
fn legend_entries(data: &Scatter, points: &[&Point]) -> Vec<LegendEntry> {
    let used = |group: &usize| points.iter().any(|point| point.group == *group);
    let name = |(group, label): (usize, &String)| {
        let marker = Marker::of_group(group, true, 5);
        used(&group).then(|| LegendEntry { key: LegendKey::Point(marker), label: label.clone() })
    };
    let mut entries: Vec<LegendEntry> = data.groups.iter().enumerate().filter_map(name).collect();
    for (filled, label) in [(true, &data.filled), (false, &data.hollow)] {
        if points.iter().any(|point| point.filled == filled) {
            let marker = Marker { shape: markers::CIRCLE, role: FAINT, filled, radius: 5 };
            entries.push(LegendEntry { key: LegendKey::Point(marker), label: label.clone() });
        }
    }
    entries
}

fn draw_points(
    area: &Area<'_>,
    points: &[&Point],
    to_pixel: impl Fn(f64, f64) -> (i32, i32),
) -> Result<(), ChartError> {
    let few = points.len() <= MAX_WHISKER_POINTS;
    for point in points {
        let marker = Marker::of_group(point.group, point.filled, if few { 5 } else { 3 });
        if let Some((low, high)) = point.y_interval.filter(|(low, high)| few && is_drawable(*low) && is_drawable(*high))
        {
            let ends = vec![to_pixel(point.x, low), to_pixel(point.x, high)];
            area.draw(&PathElement::new(ends, marker.role.stroke_width(1)))?;
        }
        markers::draw(area, marker, to_pixel(point.x, point.y))?;
    }
    Ok(())
}

/// A rectangle that is occupied.
#[derive(Clone, Copy, Debug)]
struct PixelRect {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl PixelRect {
    fn overlaps(&self, other: &PixelRect) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    fn is_inside(&self, other: &PixelRect) -> bool {
        self.left >= other.left && self.right <= other.right && self.top >= other.top && self.bottom <= other.bottom
    }
}

/// Labels the points whose labels have room next to, above or below them: first the best point of each group, then the hollow ones, then
/// the others. The marks say what the labels do not.
fn draw_labels(
    area: &Area<'_>,
    points: &[&Point],
    to_pixel: impl Fn(f64, f64) -> (i32, i32),
    bounds: PixelRect,
) -> Result<(), ChartError> {
    let mut taken: Vec<PixelRect> = Vec::new();
    for point in points {
        let (x, y) = to_pixel(point.x, point.y);
        taken.push(PixelRect { left: x - 6, right: x + 6, top: y - 6, bottom: y + 6 });
        if let Some((low, high)) = point.y_interval.filter(|(low, high)| is_drawable(*low) && is_drawable(*high)) {
            let (one, other) = (to_pixel(point.x, low).1, to_pixel(point.x, high).1);
            taken.push(PixelRect { left: x - 1, right: x + 1, top: one.min(other), bottom: one.max(other) });
        }
    }
    let mut labels = Vec::new();
    for point in by_importance(points) {
        let (x, y) = to_pixel(point.x, point.y);
        let label = text::truncate(&point.label, 130);
        let wide = text::width(&label);
        let at = [(x + 9, y), (x - 9 - wide, y), (x - wide / 2, y - 15), (x - wide / 2, y + 15)];
        let space = |(x, y): (i32, i32)| PixelRect { left: x, right: x + wide, top: y - 7, bottom: y + 7 };
        let free =
            |at: &(i32, i32)| space(*at).is_inside(&bounds) && !taken.iter().any(|other| space(*at).overlaps(other));
        let Some(at) = at.into_iter().find(free) else { continue };
        taken.push(space(at));
        labels.push((label, at, wide));
    }
    for (label, at, wide) in &labels {
        text::draw(area, label, &text::style(INK, HPos::Left, VPos::Center), *at, *wide)?;
    }
    Ok(())
}

/// Orders points by what a reader looks for: the best one of each group, the hollow ones, then the others, better ones first.
fn by_importance<'a>(points: &[&'a Point]) -> Vec<&'a Point> {
    let mut ordered: Vec<&Point> = points.to_vec();
    ordered.sort_by(|a, b| b.y.total_cmp(&a.y).then(a.x.total_cmp(&b.x)));
    let mut groups = std::collections::BTreeSet::new();
    let best: Vec<bool> = ordered.iter().map(|point| point.filled && groups.insert(point.group)).collect();
    let mut ranked: Vec<(u8, &Point)> = ordered
        .iter()
        .zip(best)
        .map(|(point, best)| (if best { 0 } else { 1 + u8::from(point.filled) }, *point))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, point)| point).collect()
}
