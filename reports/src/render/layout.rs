//! Columns of text, aligned and painted: what every table on a terminal is made of.

use unicode_width::UnicodeWidthStr as _;

/// How a piece of text is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Bold,
    Dim,
    Green,
    Red,
    /// What was not there before.
    Added,
    /// What was otherwise before.
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

/// A piece of text and its paint.
#[derive(Debug, Clone)]
pub(super) struct StyledSpan {
    pub(super) text: String,
    pub(super) paint: Paint,
}

impl StyledSpan {
    pub(super) fn new(text: impl Into<String>, paint: Paint) -> StyledSpan {
        StyledSpan { text: text.into(), paint }
    }

    /// The piece with blanks before it, up to this many columns.
    pub(super) fn pad_left(self, columns: usize) -> StyledSpan {
        let blanks = columns.saturating_sub(self.text.width());
        StyledSpan { text: format!("{}{}", " ".repeat(blanks), self.text), paint: self.paint }
    }

    pub(super) fn painted(&self, color: bool) -> String {
        match self.paint.code() {
            Some(code) if color && !self.text.is_empty() => format!("\u{1b}[{code}m{}\u{1b}[0m", self.text),
            _ => self.text.clone(),
        }
    }
}

/// What stands in one column of one row.
pub(super) type TableCell = Vec<StyledSpan>;

/// A line of a table.
pub(super) enum TableLine {
    /// Stands over the rows after it.
    Title(StyledSpan),
    /// A label and a cell for each column.
    Row {
        /// Stands at the left; on a line of its own when the columns leave too little room.
        label: String,
        /// Aligned to the right.
        cells: Vec<TableCell>,
    },
}

/// A table: each column has two lines of head.
pub(super) struct Table {
    pub(super) heads: Vec<[String; 2]>,
    pub(super) lines: Vec<TableLine>,
}

const GAP: usize = 2;

impl Table {
    /// The columns that the table takes without its labels.
    pub(super) fn body_width(&self) -> usize {
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

    /// The table in lines that are at most `width` wide, unless its columns alone are wider.
    pub(super) fn lines(&self, width: usize, color: bool) -> Vec<String> {
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

/// Text in lines of at most `width` columns, broken between words; a word that is longer stands alone.
pub(super) fn wrap(text: &str, separator: &str, width: usize) -> Vec<String> {
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
