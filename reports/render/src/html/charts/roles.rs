//! The colors of charts, named by role, which is what a color is used for: text, grid, background and so on. A chart is
//! drawn in the colors of light mode. `charts.css` matches these values and replaces them by variables, so that charts
//! follow the theme of the page.

use plotters::style::RGBColor;

/// Text and the zero line.
pub(super) const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
/// Titles of axes, ticks and secondary text.
pub(super) const FAINT: RGBColor = RGBColor(0x57, 0x60, 0x6A);
pub(super) const GRID: RGBColor = RGBColor(0xD0, 0xD7, 0xDE);
/// The background, also used to cover what is behind a shape.
pub(super) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// Series and groups: the colors of Okabe and Ito, darkened to a contrast of 3:1 with white.
pub(super) const SERIES: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x8F, 0x68),
    RGBColor(0xB4, 0x5A, 0x94),
    RGBColor(0xA6, 0x6F, 0x00),
    RGBColor(0x2E, 0x8F, 0xC9),
    RGBColor(0x4D, 0x4D, 0x4D),
    RGBColor(0x7D, 0x7A, 0x00),
];

/// Returns the color of a series, repeating after eight.
pub(super) fn series(index: usize) -> RGBColor {
    SERIES[index % SERIES.len()]
}
