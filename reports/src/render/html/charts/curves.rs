//! Shares that grow from step to step: chains of errors mended within so many further attempts.

use plotters::element::PathElement;
use plotters::series::LineSeries;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, VPos};

use super::finish::{DASHED_WIDTH, Finish};
use super::frame::{Area, Frame, Sides, chart, frame, titles};
use super::legend::{self, Entry, Key};
use super::marks::{self, Mark};
use super::roles::{FAINT, INK};
use super::ticks::Axis;
use super::{Caption, ChartError, WIDE, drawable, text, usable};

/// As many series as differ from each other; the legend says how many more there are.
const MOST: usize = 8;
/// As many marks as a line has at most, so that they do not grow together.
const MARKS: usize = 12;

/// Step curves of shares.
#[derive(Clone, Debug)]
pub(crate) struct Curves {
    /// What the chart says in words.
    pub(crate) caption: Caption,
    /// What is counted across.
    pub(crate) x_title: String,
    /// What the share is of.
    pub(crate) y_title: String,
    /// The curves, eight at most.
    pub(crate) series: Vec<Curve>,
}

/// One curve.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    /// Its name.
    pub(crate) label: String,
    /// The share, 0 to 1, that is reached with each count, which ascends. The curve ends with its last point.
    pub(crate) points: Vec<(u32, f64)>,
}

/// A curve as it is drawn.
struct Line<'a> {
    label: &'a str,
    points: Vec<(f64, f64)>,
    mark: Mark,
}

/// Draws `data` at `width` CSS pixels; nothing when no curve has a point.
pub(crate) fn curves(data: &Curves, width: u32) -> Result<Option<String>, ChartError> {
    let all: Vec<Line<'_>> = data.series.iter().enumerate().filter_map(|(index, curve)| line(index, curve)).collect();
    let lines = &all[..all.len().min(MOST)];
    let last = data.series.iter().flat_map(|curve| &curve.points).map(|(count, _)| *count).max();
    let (Some(last), false) = (last, lines.is_empty()) else { return Ok(None) };
    let width = usable(width);
    let wide = width >= WIDE;
    let labels = lines.iter().map(|line| text::width(line.label)).max().unwrap_or(0);
    // Names that would be cut beside the curves could not be told apart.
    let beside = wide && labels <= width / 4;
    let entries = entries(lines, all.len() - lines.len(), beside);
    let right = if beside { labels + 28 } else { 18 };
    let sides = Sides { left: 46, right, top: 26, bottom: 22 };
    let above = if wide { 320 } else { 260 };
    let height = above + if entries.is_empty() { 0 } else { 8 + legend::height(&entries, width) };
    let svg = chart(&data.caption, (width, height), Finish::Dashes, |area| {
        let part = area.clone().shrink((0, 0), (width, above - text::LINE - 5));
        let x = Axis::whole(last, if wide { 12 } else { 6 });
        let frame = frame(&part, &x, &Axis::shares(), sides)?;
        titles(&area.clone().shrink((0, 0), (width, above)), sides, (&data.x_title, &data.y_title))?;
        draw_lines(area, frame, lines, beside.then_some(width - right + 24))?;
        legend::draw(area, &entries, above + 8, width)
    })?;
    Ok(Some(svg))
}

fn line(index: usize, curve: &Curve) -> Option<Line<'_>> {
    let points: Vec<(f64, f64)> = curve
        .points
        .iter()
        .filter(|(_, share)| drawable(*share))
        .map(|(count, share)| (f64::from(*count), share.clamp(0.0, 1.0)))
        .collect();
    (!points.is_empty()).then(|| Line { label: &curve.label, points, mark: Mark::of_group(index, true, 4) })
}

/// Curves that are not named beside their ends are named below; and how many are missing.
fn entries(lines: &[Line<'_>], missing: usize, beside: bool) -> Vec<Entry> {
    let named = lines.iter().filter(|_| !beside);
    let mut entries: Vec<Entry> =
        named.map(|line| Entry { key: Key::Curve(line.mark), label: line.label.to_owned() }).collect();
    if missing > 0 {
        entries.push(Entry { key: Key::Nothing, label: format!("{missing} more not drawn") });
    }
    entries
}

/// Draws curves, and their names where there is a `column` for them.
fn draw_lines(
    area: &Area<'_>,
    mut frame: Frame<'_, '_>,
    lines: &[Line<'_>],
    column: Option<i32>,
) -> Result<(), ChartError> {
    let mut ends = Vec::new();
    for line in lines {
        frame.draw_series(LineSeries::new(steps(&line.points), line.mark.role.stroke_width(DASHED_WIDTH)))?;
    }
    for line in lines {
        let every = line.points.len().div_ceil(MARKS).max(1);
        for point in line.points.iter().step_by(every) {
            marks::draw(area, line.mark, frame.backend_coord(point))?;
        }
        ends.extend(line.points.last().map(|point| frame.backend_coord(point)));
    }
    let Some(column) = column else { return Ok(()) };
    let wanted: Vec<i32> = ends.iter().map(|(_, y)| *y).collect();
    let bottom = frame.plotting_area().get_pixel_range().1.end;
    for ((line, end), y) in lines.iter().zip(&ends).zip(apart(&wanted, text::LINE, bottom)) {
        let leader = vec![(end.0 + 6, end.1), (column - 10, y), (column - 4, y)];
        area.draw(&PathElement::new(leader, FAINT.stroke_width(1)))?;
        let room = area.dim_in_pixel().0 as i32 - column;
        text::draw(area, line.label, &text::style(INK, HPos::Left, VPos::Center), (column, y), room)?;
    }
    Ok(())
}

/// The share holds until the next count, then it jumps.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(points.len() * 2);
    let mut before: Option<f64> = None;
    for (count, share) in points {
        corners.extend(before.filter(|before| before.total_cmp(share).is_ne()).map(|before| (*count, before)));
        corners.push((*count, *share));
        before = Some(*share);
    }
    corners
}

/// Moves places that are nearer than `gap` apart, downwards and, where that goes below `bottom`, back up.
fn apart(wanted: &[i32], gap: i32, bottom: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|index| wanted[*index]);
    let mut places = wanted.to_vec();
    let mut free = i32::MIN;
    for index in &order {
        places[*index] = places[*index].max(free);
        free = places[*index] + gap;
    }
    let mut free = bottom;
    for index in order.iter().rev() {
        places[*index] = places[*index].min(free);
        free = places[*index] - gap;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{apart, steps};

    #[test]
    fn labels_move_apart() {
        assert_eq!(apart(&[50, 10, 52], 16, 200), [50, 10, 66]);
        assert_eq!(apart(&[195, 190, 100], 16, 200), [200, 184, 100]);
    }

    #[test]
    fn a_share_holds_until_the_next() {
        assert_eq!(steps(&[(0.0, 0.0), (1.0, 0.5), (2.0, 0.5)]), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.5), (2.0, 0.5)]);
    }
}
