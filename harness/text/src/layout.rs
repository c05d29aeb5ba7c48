//! Aligned and colored columns of text, used by all tables on a terminal.

use unicode_width::UnicodeWidthStr as _;

/// The style of a span of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    /// Text that was added.
    Added,
    /// Text that was changed.
    Changed,
}

impl Paint {
    fn code(self) -> Option<&'static str> {
        match self {
            Paint::Plain => None,
            Paint::Bold => Some("1"),
            Paint::Dim => Some("2"),
            Paint::Green => Some("32"),
            Paint::Red => Some("31"),
            Paint::Added => Some("1;4;32"),
            Paint::Changed => Some("1;4;33"),
        }
    }
}

/// A text with its style.
#[derive(Debug, Clone)]
pub struct StyledSpan {
    pub text: String,
    pub paint: Paint,
}

impl StyledSpan {
    pub fn new(text: impl Into<String>, paint: Paint) -> StyledSpan {
        StyledSpan { text: text.into(), paint }
    }

    /// Pads the span with spaces on the left to this many columns.
    pub fn pad_left(self, columns: usize) -> StyledSpan {
        let blanks = columns.saturating_sub(self.text.width());
        StyledSpan { text: format!("{}{}", " ".repeat(blanks), self.text), paint: self.paint }
    }

    pub fn painted(&self, color: bool) -> String {
        match self.paint.code() {
            Some(code) if color && !self.text.is_empty() => format!("\u{1b}[{code}m{}\u{1b}[0m", self.text),
            _ => self.text.clone(),
        }
    }
}

/// The content of one column in one row.
pub type TableCell = Vec<StyledSpan>;

pub enum TableLine {
    /// A heading of the rows after it.
    Title(StyledSpan),
    /// A label and one cell per column.
    Row {
        /// The label at the left; on its own line if the columns leave too little room.
        label: String,
        /// The cells, aligned to the right.
        cells: Vec<TableCell>,
    },
}

/// A table whose columns have headings of two lines.
pub struct Table {
    pub heads: Vec<[String; 2]>,
    pub lines: Vec<TableLine>,
}

const GAP: usize = 2;

impl Table {
    /// Returns the width of the table without its labels.
    pub fn body_width(&self) -> usize {
        self.widths().into_iter().map(|width| width + GAP).sum()
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> =
            self.heads.iter().map(|head| head.iter().map(|line| line.width()).max().unwrap_or(0)).collect();
        for line in &self.lines {
            if let TableLine::Row { cells, .. } = line {
                for (width, cell) in widths.iter_mut().zip(cells) {
                    *width = (*width).max(cell_width(cell));
                }
            }
        }
        widths
    }

    /// Returns the table in lines of at most `width` columns, unless the columns alone are wider.
    pub fn lines(&self, width: usize, color: bool) -> Vec<String> {
        let widths = self.widths();
        let room = width.saturating_sub(self.body_width());
        let labels = self.lines.iter().filter_map(|line| match line {
            TableLine::Row { label, .. } => Some(label.width()),
            TableLine::Title(_) => None,
        });
        let label_width = labels.filter(|label| *label <= room).max().unwrap_or(0);
        let mut out = Vec::new();
        for line in 0..2 {
            let cells: Vec<TableCell> =
                self.heads.iter().map(|head| vec![StyledSpan::new(head[line].as_str(), Paint::Dim)]).collect();
            out.push(row("", label_width, &widths, &cells, color));
        }
        for line in &self.lines {
            match line {
                TableLine::Title(title) => out.push(title.painted(color)),
                TableLine::Row { label, cells } if label.width() <= label_width => {
                    out.push(row(label, label_width, &widths, cells, color));
                }
                TableLine::Row { label, cells } => {
                    out.push(label.clone());
                    out.push(row("", label_width, &widths, cells, color));
                }
            }
        }
        out
    }
}

fn row(label: &str, label_width: usize, widths: &[usize], cells: &[TableCell], color: bool) -> String {
    let mut line = format!("{label}{}", " ".repeat(label_width.saturating_sub(label.width())));
    for (width, cell) in widths.iter().zip(cells) {
        let blanks = GAP + width.saturating_sub(cell_width(cell));
        line.push_str(&" ".repeat(blanks));
        for span in cell {
            line.push_str(&span.painted(color));
        }
    }
    line.truncate(line.trim_end().len());
    line
}

fn cell_width(cell: &TableCell) -> usize {
    cell.iter().map(|span| span.text.width()).sum()
}

/// Wraps text into lines of at most `width` columns, broken between words; a longer word has its own line.
pub fn wrap(text: &str, separator: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(separator) {
        match lines.last_mut() {
            Some(line) if line.width() + separator.width() + word.width() <= width => {
                line.push_str(separator);
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
