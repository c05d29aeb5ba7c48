use std::path::Path;

use healbench_record::{RunDir, RunManifest, RunStatus};
use healbench_reports::render::html::{self, RunPage, Transcripts};
use healbench_reports::render::{Detail, TerminalOptions, shell_quote};
use healbench_reports::{Report, Scope, render, summarize};

use super::transcript::each_transcript;
use crate::args::ReportArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::run_spec_of;
use crate::output::write_atomically;
use crate::terminal::Terminal;

/// Prints the report of a run, or writes it as a page.
pub(crate) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let full_report = || summarize(&run, &manifest, Scope::Full);
    if let Some(file) = &args.html {
        let name = args.run.to_string_lossy();
        let (report, transcripts) = page_data(&run, &manifest)?;
        let page =
            RunPage { name: &name, manifest: &manifest, report: &report, transcripts: &transcripts, served: false };
        let page = html::run(&page)?;
        return write_page(file, &page, terminal);
    }
    if args.json {
        terminal.result(&render::json(&full_report()?)?)?;
    } else if args.markdown {
        terminal.result(&render::markdown(&full_report()?))?;
    } else if args.csv {
        terminal.result(&render::csv(&full_report()?, args.by_scenario)?)?;
    } else {
        let detail = if args.by_scenario { Detail::Scenarios } else { Detail::Metrics };
        print(&run, &manifest, detail, terminal)?;
        if manifest.status == RunStatus::Interrupted {
            let quoted_path = shell_quote(&args.run.to_string_lossy());
            terminal.note(&format!("continue with: healbench run --resume {quoted_path}"));
        }
    }
    Ok(ExitStatus::Success)
}

/// Computes the content of a run's page: its full report and the transcripts of its examples.
pub(super) fn page_data(run: &RunDir, manifest: &RunManifest) -> Result<(Report, Transcripts), CliError> {
    let report = summarize(run, manifest, Scope::Full)?;
    let episodes = Transcripts::episodes_to_show(&report);
    let mut transcripts = Transcripts::default();
    let run_spec = match run_spec_of(run, manifest.plan.clone()) {
        Ok(run_spec) => run_spec,
        // The page is written without transcripts if they cannot be replayed.
        Err(error) => {
            episodes.into_iter().for_each(|episode| transcripts.add_failure(episode, &error.to_string()));
            return Ok((report, transcripts));
        }
    };
    each_transcript(run, &run_spec, &episodes, &mut |episode, transcript| {
        match transcript {
            Ok(transcript) => transcripts.add(episode, &transcript),
            Err(error) => transcripts.add_failure(episode, &error.to_string()),
        }
        transcripts.has_room()
    })?;
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

pub(super) fn print(run: &RunDir, manifest: &RunManifest, detail: Detail, terminal: &Terminal) -> Result<(), CliError> {
    let report = summarize(run, manifest, Scope::Tables)?;
    let options = TerminalOptions { width: terminal.width(), color: terminal.colors_results(), detail };
    terminal.result(&render::terminal(&report, options))
}
