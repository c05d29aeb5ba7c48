use healbench_analysis::{ErrorAxis, ErrorQuery, Report, Scope, error_texts, summarize};
use healbench_core::EpisodeRecord;
use healbench_frames::Rows;
use healbench_render as render;
use healbench_render::html::{self, RunPage, TracePage, Transcripts};
use healbench_render::{Detail, TerminalOptions};
use healbench_store::{RunDir, RunManifest, RunStatus};
use healbench_text::shell_quote;

use super::errors::{self, ErrorsRequest};
use super::inspect::{check_folder, write_logs};
use super::one_state::{of_one_state, until_one_state};
use super::outputs;
use super::transcript::each_transcript;
use crate::args::{ErrorForm, Output, ReportArgs, ReportForm};
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::load::run_spec_of;
use crate::terminal::Terminal;

/// Prints the report of a run, or writes it in the forms that are asked for.
pub(crate) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    outputs::check_with_folders(&args.output, std::iter::empty(), |form| *form == ReportForm::Inspect)?;
    for output in args.output.iter().filter(|output| output.renderer == ReportForm::Inspect) {
        check_folder(output.file.as_deref().ok_or_else(|| {
            CliError::new("logs for Inspect need a folder")
                .kind(ErrorKind::Invalid)
                .help("write `--output inspect=FOLDER`")
        })?)?;
    }
    let has = |form| args.output.iter().any(|output| output.renderer == form);
    let is_used = args.output.is_empty() || has(ReportForm::Terminal) || args.by_scenario && has(ReportForm::Csv);
    if (args.all || args.by_scenario) && !is_used {
        return Err(CliError::new("`--all` and `--by-scenario` do not apply to these forms")
            .kind(ErrorKind::Invalid)
            .help("`--all` is for the form `terminal`, and `--by-scenario` for `terminal` and `csv`"));
    }
    until_one_state(|| report_once(args, terminal))
}

fn report_once(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let (logs, texts): (Vec<&Output<ReportForm>>, Vec<&Output<ReportForm>>) =
        args.output.iter().partition(|output| output.renderer == ReportForm::Inspect);
    let texts: Vec<Output<ReportForm>> = texts.into_iter().cloned().collect();
    let computed = [ReportForm::Json, ReportForm::Markdown, ReportForm::Csv];
    let is_trace = manifest.plan.is_trace();
    let full = match texts.iter().any(|output| computed.contains(&output.renderer)) && !is_trace {
        true => Some(of_one_state(&run, &manifest, || Ok(summarize(&Rows(&run), &manifest, Scope::Full)?))?),
        false => None,
    };
    let render = |form, printed| match (form, &full) {
        (ReportForm::Html, _) => run_page(&run, &manifest, &args.run.to_string_lossy(), false),
        // A trace has no schedules, intended calls or conditions: its report is about its errors.
        _ if is_trace => {
            let form = match form {
                ReportForm::Json => ErrorForm::Json,
                ReportForm::Csv => ErrorForm::Csv,
                ReportForm::Markdown => ErrorForm::Markdown,
                ReportForm::Terminal | ReportForm::Html | ReportForm::Inspect => ErrorForm::Terminal,
            };
            errors::render(&run, &manifest, &ErrorsRequest::default(), form, printed, terminal)
        }
        (ReportForm::Json, Some(full)) => Ok(render::json(full)?),
        (ReportForm::Markdown, Some(full)) => Ok(render::markdown(full)),
        (ReportForm::Csv, Some(full)) => Ok(render::csv(full, args.by_scenario)?),
        _ => {
            let detail = match (args.by_scenario, args.all) {
                (true, _) => Detail::Scenarios,
                (false, true) => Detail::Metrics,
                (false, false) => Detail::Summary,
            };
            let report = of_one_state(&run, &manifest, || Ok(summarize(&Rows(&run), &manifest, Scope::Tables)?))?;
            Ok(render_report(&report, detail, printed, 0, terminal))
        }
    };
    if !texts.is_empty() || logs.is_empty() {
        outputs::write(&texts, ReportForm::Terminal, terminal, render)?;
        name_pages(&texts, ReportForm::Html, terminal);
    }
    for folder in logs.into_iter().filter_map(|log| log.file.as_deref()) {
        write_logs(&run, &manifest, &args.run, folder, terminal)?;
    }
    if !is_trace && manifest.status == RunStatus::Interrupted {
        let quoted_path = shell_quote(&args.run.to_string_lossy());
        terminal.note(&format!("continue with: healbench run --resume {quoted_path}"));
    }
    Ok(ExitStatus::Success)
}

/// Prints the names of the pages that were written.
pub(super) fn name_pages<R: PartialEq>(outputs: &[Output<R>], page: R, terminal: &Terminal) {
    for file in outputs.iter().filter(|output| output.renderer == page).filter_map(|output| output.file.as_ref()) {
        terminal.note(&format!("page: {}", shell_quote(&file.to_string_lossy())));
    }
}

/// Renders the page of a run, which `view` serves or a file holds.
pub(crate) fn run_page(run: &RunDir, manifest: &RunManifest, name: &str, served: bool) -> Result<String, CliError> {
    if manifest.plan.is_trace() {
        let query = ErrorQuery { by: Some(ErrorAxis::Agent), ..ErrorQuery::default() };
        let accepts = |row: &EpisodeRecord| !row.is_attacked();
        let texts = of_one_state(run, manifest, || Ok(error_texts(&Rows(run), manifest, query, &accepts)?))?;
        return Ok(html::trace(&TracePage { name, manifest, texts: &texts, served }));
    }
    let (report, transcripts) = page_data(run, manifest)?;
    Ok(html::run(&RunPage { name, manifest, report: &report, transcripts: &transcripts, served })?)
}

/// Computes the content of a run's page: its full report and the transcripts of its examples.
pub(crate) fn page_data(run: &RunDir, manifest: &RunManifest) -> Result<(Report, Transcripts), CliError> {
    of_one_state(run, manifest, || read_page_data(run, manifest))
}

fn read_page_data(run: &RunDir, manifest: &RunManifest) -> Result<(Report, Transcripts), CliError> {
    let report = summarize(&Rows(run), manifest, Scope::Full)?;
    let mut transcripts = Transcripts::of(&report);
    let run_spec = match run_spec_of(run, manifest.plan.clone()) {
        Ok(run_spec) => run_spec,
        // The page is written without transcripts if they cannot be replayed.
        Err(error) => {
            let shown = report.examples.iter().flat_map(|example| [example.left, example.right]).flatten();
            shown.for_each(|episode| transcripts.add_failure(episode, &error.to_string()));
            return Ok((report, transcripts));
        }
    };
    while let Some(episodes) = transcripts.next_batch() {
        each_transcript(run, &run_spec, &episodes, &mut |episode, transcript| {
            match transcript {
                Ok(transcript) => transcripts.add(episode, &transcript),
                // An interrupted run and a shard lack episodes.
                Err(error) if error.kind == ErrorKind::UnknownEpisode => {}
                Err(error) => transcripts.add_failure(episode, &error.to_string()),
            }
            true
        })?;
    }
    Ok((report, transcripts))
}

/// The lines that a command prints below the report of its run.
const LINES_BELOW: usize = 3;

/// Prints the report of a run that a command has made: on one screen, with what the command prints below it, without more detail.
pub(super) fn print(run: &RunDir, manifest: &RunManifest, detail: Detail, terminal: &Terminal) -> Result<(), CliError> {
    let report = summarize(&Rows(run), manifest, Scope::Tables)?;
    terminal.result(&render_report(&report, detail, true, LINES_BELOW, terminal))
}

/// Renders the report for a terminal, whose colors and lines count only if it is `printed`.
fn render_report(report: &Report, detail: Detail, printed: bool, below: usize, terminal: &Terminal) -> String {
    let lines = (detail == Detail::Summary && printed).then(|| terminal.lines(below));
    let color = printed && terminal.colors_results();
    render::terminal(report, TerminalOptions { width: terminal.width(), color, detail, lines })
}
