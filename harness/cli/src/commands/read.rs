//! Reads texts as simulated readers do: one record a line, one prediction a line.

use std::io;

use healbench_mcp::{Line, MAX_LINE, read_line};
use healbench_reader::reading::predict;
use serde_json::Value;

use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Prints what is found in the text of each record of standard input. Stops at a line that is no record.
pub(crate) fn read(terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let mut input = io::BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut results = terminal.result_writer();
    let mut number = 0_u64;
    while let Some(line) = read_line(&mut input, MAX_LINE)
        .map_err(|source| CliError::new(format_args!("cannot read standard input: {source}")))?
    {
        number += 1;
        let wrong = |problem: String| CliError::new(format_args!("line {number} of standard input: {problem}"));
        let line = match line {
            Line::TooLong => return Err(wrong(format!("it is longer than {} MiB", MAX_LINE >> 20))),
            Line::Bytes(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Line::Bytes(line) => line,
        };
        let record: Value = serde_json::from_slice(&line).map_err(|error| wrong(format!("not JSON: {error}")))?;
        let prediction = predict(&record).map_err(|error| wrong(error.to_string()))?;
        if !results.print(&format!("{prediction}\n"))? {
            break;
        }
    }
    results.flush()?;
    Ok(ExitStatus::Success)
}
