use std::path::Path;

use healbench_analysis::{ErrorAxis, ErrorQuery, Report, Scope, error_texts, summarize};
use healbench_core::EpisodeRecord;
use healbench_frames::Rows;
use healbench_render as render;
use healbench_render::html::{self, RunPage, TracePage, Transcripts};
use healbench_render::{Detail, TerminalOptions};
use healbench_store::{RunDir, RunDirError, RunManifest, RunStatus};
use healbench_text::shell_quote;

use super::errors::{ErrorsRequest, Form, print_errors};
use super::inspect::write_logs;
use super::transcript::each_transcript;
use crate::args::ReportArgs;
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::load::run_spec_of;
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// Prints the report of a run, or writes it as a page.
pub(crate) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    until_one_state(|| report_once(args, terminal))
}

fn report_once(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    // A trace has no schedules, intended calls or conditions: its report is about its errors.
    if manifest.plan.is_trace() && args.html.is_none() && args.inspect.is_none() {
        let form = Form::of(args.json, args.markdown, args.csv);
        return print_errors(&run, &manifest, &ErrorsRequest { form, ..ErrorsRequest::default() }, terminal);
    }
    let full_report = || of_one_state(&run, &manifest, || Ok(summarize(&Rows(&run), &manifest, Scope::Full)?));
    if let Some(file) = &args.html {
        let name = args.run.to_string_lossy();
        return write_page(file, &run_page(&run, &manifest, &name, false)?, terminal);
    }
    if let Some(folder) = &args.inspect {
        return write_logs(&run, &manifest, &args.run, folder, terminal);
    }
    if args.json {
        terminal.result(&render::json(&full_report()?)?)?;
    } else if args.markdown {
        terminal.result(&render::markdown(&full_report()?))?;
    } else if args.csv {
        terminal.result(&render::csv(&full_report()?, args.by_scenario)?)?;
    } else {
        let detail = match (args.by_scenario, args.all) {
            (true, _) => Detail::Scenarios,
            (false, true) => Detail::Metrics,
            (false, false) => Detail::Summary,
        };
        let report = of_one_state(&run, &manifest, || Ok(summarize(&Rows(&run), &manifest, Scope::Tables)?))?;
        print_report(&report, detail, terminal)?;
        if manifest.status == RunStatus::Interrupted {
            let quoted_path = shell_quote(&args.run.to_string_lossy());
            terminal.note(&format!("continue with: healbench run --resume {quoted_path}"));
        }
    }
    Ok(ExitStatus::Success)
}

/// Returns what is read of a run, or that it is being written if `run --resume` has replaced files meanwhile: rows of one file would
/// not be those of another.
pub(crate) fn of_one_state<T>(
    run: &RunDir,
    manifest: &RunManifest,
    read: impl FnOnce() -> Result<T, CliError>,
) -> Result<T, CliError> {
    let found = read();
    match run.was_replaced(manifest) {
        true => Err(CliError::from(RunDirError::Locked(run.path().to_owned())).kind(ErrorKind::Replaced)),
        false => found,
    }
}

/// The number of times that a run is read while another process replaces its files.
const READINGS: usize = 5;

/// Executes a command that reads runs, and again if one was of two states. It prints no result before it has read them.
pub(super) fn until_one_state<T>(mut command: impl FnMut() -> Result<T, CliError>) -> Result<T, CliError> {
    let mut done = command();
    for _ in 1..READINGS {
        match done {
            Err(error) if error.kind == ErrorKind::Replaced => done = command(),
            done => return done,
        }
    }
    done
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

/// Writes a page to a file, or prints it.
pub(super) fn write_page(file: &Path, page: &str, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    if file == Path::new("-") {
        terminal.result(page)?;
    } else {
        write_atomically(file, page)?;
        terminal.note(&format!("page: {}", shell_quote(&file.to_string_lossy())));
    }
    Ok(ExitStatus::Success)
}

/// Prints the report: on one screen without more detail.
pub(super) fn print(run: &RunDir, manifest: &RunManifest, detail: Detail, terminal: &Terminal) -> Result<(), CliError> {
    print_report(&summarize(&Rows(run), manifest, Scope::Tables)?, detail, terminal)
}

fn print_report(report: &Report, detail: Detail, terminal: &Terminal) -> Result<(), CliError> {
    let lines = (detail == Detail::Summary).then(|| terminal.lines());
    let options = TerminalOptions { width: terminal.width(), color: terminal.colors_results(), detail, lines };
    terminal.result(&render::terminal(report, options))
}
