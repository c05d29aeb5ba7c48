//! What a color stands for. The value is the one of light mode and also the role's name: `charts.css` looks for it.

use plotters::style::RGBColor;

/// Text, and the zero line.
pub(super) const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x24);
/// Titles of axes, ticks and what matters less.
pub(super) const FAINT: RGBColor = RGBColor(0x57, 0x60, 0x6A);
/// The grid.
pub(super) const GRID: RGBColor = RGBColor(0xD0, 0xD7, 0xDE);
/// What lies behind; fills what would otherwise be seen through.
pub(super) const PAPER: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// What went well.
pub(super) const GOOD: RGBColor = RGBColor(0x1A, 0x6B, 0x2F);
/// Series and groups, darkened from Okabe and Ito's colors until they stand out from white by 3:1.
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

/// The color of a series; the ninth has the first one's.
pub(super) fn series(index: usize) -> RGBColor {
    SERIES[index % SERIES.len()]
}

/// A role as plotters writes it.
pub(super) fn hex(role: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", role.0, role.1, role.2)
}
