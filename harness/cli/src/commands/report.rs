use std::path::Path;

use healbench_record::{RunDir, RunManifest, RunStatus};
use healbench_reports::render::html::{self, RunPage, Transcripts};
use healbench_reports::render::{Detail, TerminalOptions, shell_quote};
use healbench_reports::{Report, Scope, render, summarise};

use super::playback::each_playback;
use crate::args::ReportArgs;
use crate::error::{CliError, ExitStatus};
use crate::load::cast_of_run;
use crate::output::replace;
use crate::terminal::Terminal;

/// Prints the report of a run, or writes it as a page.
pub(crate) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    let whole = || summarise(&run, &manifest, Scope::Whole);
    if let Some(file) = &args.html {
        let name = args.run.to_string_lossy();
        let (report, transcripts) = page_of(&run, &manifest)?;
        let page =
            RunPage { name: &name, manifest: &manifest, report: &report, transcripts: &transcripts, served: false };
        let page = html::run(&page)?;
        return write_page(file, &page, terminal);
    }
    if args.json {
        terminal.result(&render::json(&whole()?)?)?;
    } else if args.markdown {
        terminal.result(&render::markdown(&whole()?))?;
    } else if args.csv {
        terminal.result(&render::csv(&whole()?, args.by_scenario)?)?;
    } else {
        let detail = if args.by_scenario { Detail::Scenarios } else { Detail::Metrics };
        print(&run, &manifest, detail, terminal)?;
        if manifest.status == RunStatus::Interrupted {
            let shown = shell_quote(&args.run.to_string_lossy());
            terminal.note(&format!("go on with: healbench run --resume {shown}"));
        }
    }
    Ok(ExitStatus::Fine)
}

/// What the page of a run is made from: its whole report, and the episodes that are worth reading, played again.
pub(super) fn page_of(run: &RunDir, manifest: &RunManifest) -> Result<(Report, Transcripts), CliError> {
    let report = summarise(run, manifest, Scope::Whole)?;
    let wanted = Transcripts::episodes_to_show(&report);
    let mut made = Transcripts::default();
    let cast = match cast_of_run(run, manifest.plan.clone()) {
        Ok(cast) => cast,
        // The numbers are worth a page without transcripts.
        Err(error) => {
            wanted.into_iter().for_each(|episode| made.add_failure(episode, &error.to_string()));
            return Ok((report, made));
        }
    };
    each_playback(run, &cast, &wanted, &mut |episode, playback| {
        match playback {
            Ok(playback) => made.add(episode, &playback),
            Err(error) => made.add_failure(episode, &error.to_string()),
        }
        made.has_room()
    })?;
    Ok((report, made))
}

/// Writes a page, or prints it.
pub(super) fn write_page(file: &Path, page: &str, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    if file == Path::new("-") {
        terminal.result(page)?;
    } else {
        replace(file, page)?;
        terminal.note(&format!("page: {}", shell_quote(&file.to_string_lossy())));
    }
    Ok(ExitStatus::Fine)
}

/// Prints the report to the terminal.
pub(super) fn print(run: &RunDir, manifest: &RunManifest, detail: Detail, terminal: &Terminal) -> Result<(), CliError> {
    let report = summarise(run, manifest, Scope::Tables)?;
    let options = TerminalOptions { width: terminal.width(), color: terminal.colors_results(), detail };
    terminal.result(&render::terminal(&report, options))
}
