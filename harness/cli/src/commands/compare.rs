use std::path::Path;

use healbench_analysis::{
    Axis, Change, ErrorAxis, ErrorChanges, ErrorQuery, Side, compare as compare_runs, error_changes, error_texts,
    matrix,
};
use healbench_core::EpisodeRecord;
use healbench_frames::Rows;
use healbench_render::html::{self, ComparisonPage, TraceChangesPage};
use healbench_render::{
    ComparisonOptions, ErrorOptions, comparison, comparison_markdown, error_changes as render_changes,
    error_changes_csv, error_changes_markdown, json, matrix as render_matrix, matrix_markdown,
};
use healbench_store::{RunDir, RunManifest, RunStatus};
use healbench_text::{part_of, shell_quote};

use super::errors::{self, ErrorsRequest};
use super::one_state::{of_one_state, until_one_state};
use super::outputs;
use super::report::{name_pages, run_page};
use super::scenario_changes::scenario_changes;
use crate::args::{CompareArgs, ComparisonForm, ErrorForm};
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::terminal::Terminal;

/// Prints the differences between two runs, or between the cells of one.
pub(crate) fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    outputs::check(&args.output, std::iter::empty())?;
    until_one_state(|| compare_once(args, terminal))
}

fn compare_once(args: &CompareArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let open = |path: &Path| -> Result<(RunDir, RunManifest), CliError> {
        let (run, manifest) = RunDir::open(path)?;
        let all = manifest.episodes();
        if manifest.status == RunStatus::Interrupted {
            let (name, done) = (shell_quote(&path.to_string_lossy()), manifest.episodes_done);
            terminal.warn(&format!("{name} was interrupted: it has {}", part_of(done, all.len(), "episode")));
        }
        if let Some(shard) = &manifest.shards {
            terminal.warn(&format!("{} is shard {shard} of a run", shell_quote(&path.to_string_lossy())));
        }
        Ok((run, manifest))
    };
    let (base_name, (base, base_manifest)) = (args.base.to_string_lossy(), open(&args.base)?);
    let base_side = Side { name: &base_name, run: &Rows(&base), manifest: &base_manifest };
    let Some(candidate) = &args.candidate else {
        return compare_cells(base_side, &base, args, terminal);
    };
    let (candidate_name, (run, manifest)) = (candidate.to_string_lossy(), open(candidate)?);
    if base_manifest.plan.is_trace() && manifest.plan.is_trace() {
        let changes = changes_of_traces([(&base, &base_manifest), (&run, &manifest)])?;
        return print_changes([&base_name, &candidate_name], &changes, args, terminal);
    }
    let candidate_side = Side { name: &candidate_name, run: &Rows(&run), manifest: &manifest };
    let found = of_one_state(&base, &base_manifest, || {
        of_one_state(&run, &manifest, || Ok(compare_runs(base_side, candidate_side)?))
    })?;
    let status = match found.conclusion.change {
        Change::NotComparable => ExitStatus::Incomplete,
        _ => ExitStatus::Success,
    };
    let render = |form, printed: bool| {
        Ok(match form {
            ComparisonForm::Json => json(&found)?,
            ComparisonForm::Csv => return Err(no_csv()),
            ComparisonForm::Markdown => comparison_markdown(&found),
            ComparisonForm::Html => {
                let scenario_changes = &scenario_changes((&base, &base_manifest.plan), (&run, &manifest.plan));
                html::comparison(&ComparisonPage { comparison: &found, addresses: None, scenario_changes })
            }
            ComparisonForm::Terminal => {
                let color = printed && terminal.colors_results();
                comparison(&found, ComparisonOptions { width: terminal.width(), color, flips: args.flips })
            }
        })
    };
    outputs::write(&args.output, ComparisonForm::Terminal, terminal, render)?;
    name_pages(&args.output, ComparisonForm::Html, terminal);
    Ok(status)
}

/// Rejects a form that only traces have.
fn no_csv() -> CliError {
    CliError::new("only the error texts of traces are compared as CSV")
        .kind(ErrorKind::Invalid)
        .help("take `json`, which has all numbers")
}

/// Compares the error texts of two traces, without attacks.
pub(super) fn changes_of_traces(sides: [(&RunDir, &RunManifest); 2]) -> Result<ErrorChanges, CliError> {
    let accepts = |row: &EpisodeRecord| !row.is_attacked();
    let [before, after] = sides.map(|(run, manifest)| {
        of_one_state(run, manifest, || Ok(error_texts(&Rows(run), manifest, ErrorQuery::default(), &accepts)?))
    });
    Ok(error_changes(&before?, &after?))
}

/// The number of texts that a terminal and Markdown show of two traces.
const SHOWN_TEXTS: usize = 20;

/// Prints the error texts that two traces have in common.
fn print_changes(
    names: [&str; 2],
    changes: &ErrorChanges,
    args: &CompareArgs,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    outputs::write(&args.output, ComparisonForm::Terminal, terminal, |form, printed| {
        Ok(match form {
            ComparisonForm::Html => html::trace_changes(&TraceChangesPage { names, found: changes, served: false }),
            ComparisonForm::Json => json(changes)?,
            ComparisonForm::Csv => error_changes_csv(changes)?,
            ComparisonForm::Markdown => error_changes_markdown(changes, SHOWN_TEXTS),
            ComparisonForm::Terminal => {
                let color = printed && terminal.colors_results();
                render_changes(changes, ErrorOptions { width: terminal.width(), color, limit: SHOWN_TEXTS })
            }
        })
    })?;
    name_pages(&args.output, ComparisonForm::Html, terminal);
    let is_comparable = !changes.texts.is_empty() || changes.totals.repaired_next.is_some();
    Ok(if is_comparable { ExitStatus::Success } else { ExitStatus::Incomplete })
}

/// Prints the differences between the cells of one run.
fn compare_cells(
    side: Side<'_>,
    run: &RunDir,
    args: &CompareArgs,
    terminal: &Terminal,
) -> Result<ExitStatus, CliError> {
    // Clap requires an axis if there is no candidate.
    let axis = args.by.unwrap_or(Axis::FORMAT);
    if side.manifest.plan.is_trace() && axis == Axis::Agent {
        let query = ErrorQuery { by: Some(ErrorAxis::Agent), ..ErrorQuery::default() };
        let request = ErrorsRequest { query, ..ErrorsRequest::default() };
        outputs::write(&args.output, ComparisonForm::Terminal, terminal, |form, printed| {
            let form = match form {
                ComparisonForm::Json => ErrorForm::Json,
                ComparisonForm::Csv => ErrorForm::Csv,
                ComparisonForm::Markdown => ErrorForm::Markdown,
                ComparisonForm::Html => return run_page(run, side.manifest, side.name, false),
                ComparisonForm::Terminal => ErrorForm::Terminal,
            };
            errors::render(run, side.manifest, &request, form, printed, terminal)
        })?;
        name_pages(&args.output, ComparisonForm::Html, terminal);
        return Ok(ExitStatus::Success);
    }
    let found = of_one_state(run, side.manifest, || Ok(matrix(side, axis, args.reference.as_deref())?))?;
    outputs::write(&args.output, ComparisonForm::Terminal, terminal, |form, printed| {
        Ok(match form {
            ComparisonForm::Json => json(&found)?,
            ComparisonForm::Csv => return Err(no_csv()),
            ComparisonForm::Markdown => matrix_markdown(&found),
            ComparisonForm::Html => html::matrix_page(&found),
            ComparisonForm::Terminal => render_matrix(&found, terminal.width(), printed && terminal.colors_results()),
        })
    })?;
    name_pages(&args.output, ComparisonForm::Html, terminal);
    Ok(ExitStatus::Success)
}
