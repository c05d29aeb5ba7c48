//! Excerpts of sources in error texts: stack traces, lines of a query, values that a validator repeats. They are cut.

/// The beginnings of sentences between the traces of chained Python exceptions, of which the last is the error.
const CHAINED: [&str; 2] = ["During handling of the above exception", "The above exception was the direct cause"];

/// The beginning of a Python trace.
const TRACE: &str = "Traceback (most recent call last):";

/// Returns the text without excerpts.
pub(super) fn cut(text: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    // The number of lines before the last trace.
    let mut before_trace = 0;
    let mut in_trace = false;
    for line in text.lines() {
        let shown = line.trim();
        if let Some(before) = shown.strip_suffix(TRACE) {
            kept.extend((!before.is_empty()).then(|| before.trim().to_owned()));
            (before_trace, in_trace) = (kept.len(), true);
        } else if CHAINED.iter().any(|start| shown.starts_with(start)) {
            kept.truncate(before_trace);
        } else if in_trace && (shown.is_empty() || line.starts_with([' ', '\t'])) || is_frame(line) {
            continue;
        } else {
            // The exception ends a trace.
            in_trace = false;
            kept.extend(cut_line(line));
        }
    }
    kept.join("\n")
}

/// Returns true for a frame of a stack trace of JavaScript, Java or .NET, and for the count of those left out.
fn is_frame(line: &str) -> bool {
    let Some(frame) = line.trim_start().strip_prefix("at ").filter(|_| line.starts_with([' ', '\t'])) else {
        let shown = line.trim();
        return shown.starts_with("... ") && shown.ends_with(" more");
    };
    frame.contains([':', '(', '/']) || !frame.trim().contains(' ')
}

/// Returns the line without excerpts; `None` if nothing is left.
fn cut_line(line: &str) -> Option<String> {
    let mut kept = line.to_owned();
    if let Some(at) = query_line(&kept) {
        kept.truncate(at);
    }
    for (start, end) in [("[SQL:", "]"), ("[parameters:", "]"), ("(Background on this error at:", ")")] {
        kept = without(&kept, start, end);
    }
    kept = without_input_value(&kept);
    let shown = kept.trim();
    // The marks below a line of a source, and links to explanations.
    let is_excerpt =
        shown.chars().all(|c| matches!(c, '^' | '~' | ' ' | '|')) || shown.starts_with("For further information visit");
    (!is_excerpt).then(|| shown.to_owned())
}

/// Returns the position of `LINE n:`.
fn query_line(line: &str) -> Option<usize> {
    line.match_indices("LINE ").map(|(at, _)| at).find(|at| {
        let rest = &line[at + "LINE ".len()..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        digits > 0 && rest[digits..].starts_with(':')
    })
}

/// Cuts from `start` to the last `end`, or to the end of the line.
fn without(line: &str, start: &str, end: &str) -> String {
    let Some(at) = line.find(start) else { return line.to_owned() };
    let after = line[at..].rfind(end).map_or("", |last| &line[at + last + end.len()..]);
    format!("{}{after}", &line[..at])
}

/// Cuts the values that pydantic repeats: `input_value={'a': 1}, input_type=dict`.
fn without_input_value(line: &str) -> String {
    const START: &str = "input_value=";
    let Some(at) = line.find(START) else { return line.to_owned() };
    let value = &line[at + START.len()..];
    let rest = match (value.find(", input_type="), value.rfind(']')) {
        (Some(next), _) => &value[next + ", ".len()..],
        (None, Some(last)) => &value[last..],
        (None, None) => "",
    };
    let before = if rest.starts_with("input_type") { &line[..at] } else { line[..at].trim_end_matches([',', ' ']) };
    format!("{before}{}", without_input_value(rest))
}
