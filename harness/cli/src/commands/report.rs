use healbench_record::{RunDir, RunManifest, RunStatus};
use healbench_reports::render::{Detail, TerminalOptions};
use healbench_reports::{Scope, render, summarise};

use crate::args::ReportArgs;
use crate::error::{CliError, ExitStatus};
use crate::terminal::Terminal;

/// Prints the report of a run.
pub(crate) fn report(args: &ReportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let (run, manifest) = RunDir::open(&args.run)?;
    if args.json {
        terminal.result(&render::json(&summarise(&run, &manifest, Scope::Whole)?)?)?;
        return Ok(ExitStatus::Fine);
    }
    let detail = if args.by_scenario { Detail::Scenarios } else { Detail::Metrics };
    print(&run, &manifest, detail, terminal)?;
    Ok(ExitStatus::Fine)
}

/// Prints the report to the terminal, and says so when it is not of the whole plan.
pub(super) fn print(run: &RunDir, manifest: &RunManifest, detail: Detail, terminal: &Terminal) -> Result<(), CliError> {
    let report = summarise(run, manifest, Scope::Tables)?;
    let options = TerminalOptions { width: terminal.width(), color: terminal.colors_results(), detail };
    terminal.result(&render::terminal(&report, options))?;
    if manifest.status == RunStatus::Interrupted {
        let (done, all) = (manifest.episodes_done, manifest.episodes());
        terminal.note(&format!("the run was interrupted: this is {done} of {} episodes", all.end - all.start));
    }
    if let Some(shard) = manifest.shard {
        terminal.note(&format!("this is shard {shard} of a run; put them together with `healbench merge`"));
    }
    Ok(())
}
