//! Reads the logs of agents into a run.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use healbench_frames::FrameWriter;
use healbench_import::{Conversation, Counts, ImportError, Options, Problem, Rows, Summary, import as read_logs};
use healbench_store::{FileDigest, ImportedFile, RecordedTurnsWriter, RunDir, RunManifest, RunStatus};
use healbench_text::{count, percent, plain_text, pluralize, shell_quote};

use super::run::manifest_of;
use crate::args::ImportArgs;
use crate::error::{CliError, ErrorKind, ExitStatus};
use crate::signals::supervise;
use crate::terminal::Terminal;

/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(5);

/// The number of problems that are printed one by one.
const SHOWN_PROBLEMS: usize = 10;

/// Reads logs, writes the run, and prints what was read. The run appears under its name when it is complete.
pub(crate) fn import(args: &ImportArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let supervisor = supervise()?;
    let mut rows = Rows::new(args.redact);
    let mut manifest = manifest_of(rows.plan().clone());
    let new = RunDir::create(&args.out, &mut manifest, &[], None)?;
    let mut files =
        Files { frames: FrameWriter::create(new.run(), rows.plan())?, turns: RecordedTurnsWriter::create(new.run())? };
    let mut failed: Option<CliError> = None;
    let mut progress = Progress { last: Instant::now(), terminal };
    let summary = read_logs(
        &args.paths,
        &options(args),
        &mut |mut conversation| {
            conversation.model = conversation.model.or_else(|| args.model.clone());
            failed = files.write(&mut rows, &conversation).err();
            if failed.is_some() || supervisor.stop().load(Ordering::Acquire) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        },
        &mut |read, total| progress.tell(read, total),
    )?;
    if let Some(error) = failed {
        return Err(error);
    }
    if summary.is_stopped {
        return Err(CliError::new("interrupted: nothing was written").status(ExitStatus::Interrupted));
    }
    if rows.plan().is_empty() {
        let problems = problems_text(&summary);
        if !problems.is_empty() {
            terminal.warn(problems.trim_end());
        }
        let message = "the logs have no conversation, so there is nothing to write";
        return Err(CliError::new(message).kind(ErrorKind::Invalid));
    }
    files.close()?;
    complete(&mut manifest, &rows, &summary);
    new.run().add_result_files(&mut manifest)?;
    new.run().write_manifest(&manifest)?;
    let (run, _lock) = new.publish()?;
    terminal.result(&summary_text(&summary))?;
    let quoted = shell_quote(&run.path().to_string_lossy());
    terminal.note(&format!("run: {quoted}\nthe costliest error texts: healbench errors {quoted}"));
    Ok(ExitStatus::Success)
}

fn options(args: &ImportArgs) -> Options {
    Options {
        source: args.source.clone(),
        tools: args.tools.clone(),
        skip_tools: args.skip_tools.clone(),
        shell: args.shell.clone(),
        routers: args.router.clone(),
        strict: args.strict,
    }
}

/// The files of the rows.
struct Files {
    frames: FrameWriter,
    turns: RecordedTurnsWriter,
}

impl Files {
    fn write(&mut self, rows: &mut Rows, conversation: &Conversation) -> Result<(), CliError> {
        let result = rows.add(conversation);
        self.frames.extend_plan(rows.plan());
        self.frames.write_result(&result)?;
        if let Some(recorded) = &result.recorded_turns {
            self.turns.write(recorded)?;
        }
        Ok(())
    }

    fn close(self) -> Result<(), CliError> {
        let (frames, turns) = (self.frames.close()?, self.turns.close()?);
        frames.rename()?;
        Ok(turns.rename()?)
    }
}

/// Lines of progress.
struct Progress<'t> {
    last: Instant,
    terminal: &'t Terminal,
}

impl Progress<'_> {
    fn tell(&mut self, read: u64, total: Option<u64>) {
        if self.last.elapsed() < PROGRESS {
            return;
        }
        self.last = Instant::now();
        let megabytes = |bytes: u64| count(bytes >> 20);
        let share =
            total.map(|total| format!(" of {} MiB ({})", megabytes(total), percent(read as f64 / total.max(1) as f64)));
        self.terminal.note(&format!("read {}{}", megabytes(read), share.unwrap_or_else(|| " MiB".to_owned())));
    }
}

fn complete(manifest: &mut RunManifest, rows: &Rows, summary: &Summary) {
    manifest.plan = rows.plan().clone();
    manifest.episodes_done = manifest.plan.len();
    manifest.shell_tools = rows.shell_tools().iter().cloned().collect();
    let imported = summary.files.iter().map(|file| ImportedFile {
        name: file.name.clone(),
        digest: FileDigest { bytes: file.bytes, sha256: file.sha256.clone() },
    });
    manifest.imported = imported.collect();
    manifest.status = RunStatus::Complete;
    manifest.finished = Some(crate::clock::timestamp(super::run::MANIFEST_TIME));
}

/// Describes what was read: the counts of each source, the problems, and routers that the logs suggest.
fn summary_text(summary: &Summary) -> String {
    let mut out = String::new();
    for (source, counts) in &summary.sources {
        let _ = writeln!(out, "{source}: {}", counts_text(counts));
    }
    out += &problems_text(summary);
    for router in &summary.routers {
        let _ = writeln!(
            out,
            "most calls are of `{}`, which calls other tools: unwrap them with --router {}",
            plain_text(&router.tool),
            plain_text(&shell_quote(&router.to_string()))
        );
    }
    out
}

/// Lists the problems, the same one of many files once.
fn problems_text(summary: &Summary) -> String {
    let mut out = String::new();
    let listed = &summary.problems.listed;
    let mut distinct: Vec<(&Problem, u64)> = Vec::new();
    for problem in listed {
        let is_same =
            |(other, _): &&mut (&Problem, u64)| (other.kind, &other.detail) == (problem.kind, &problem.detail);
        match distinct.iter_mut().find(is_same) {
            Some((_, number)) => *number += 1,
            None => distinct.push((problem, 1)),
        }
    }
    let mut shown = 0;
    for (problem, number) in distinct.into_iter().take(SHOWN_PROBLEMS) {
        shown += number;
        let more = if number > 1 { format!(", {} times in all", count(number)) } else { String::new() };
        let _ = writeln!(out, "{}{more}", plain_text(&problem.to_string()));
    }
    let all: u64 = summary.problems.counts.values().sum();
    if all > shown {
        let kinds = summary.problems.counts.iter().map(|(kind, number)| format!("{} {}", count(*number), kind.text()));
        let kinds = kinds.collect::<Vec<_>>().join(", ");
        let _ = writeln!(out, "{}; in all {kinds}", pluralize(all - shown, "more problem"));
    }
    out
}

fn counts_text(counts: &Counts) -> String {
    let mut parts = vec![
        pluralize(counts.conversations, "conversation"),
        pluralize(counts.calls, "call"),
        pluralize(counts.results, "result"),
        pluralize(counts.flag_errors + counts.text_errors, "error"),
    ];
    let rest = [
        (counts.text_errors, "error", "recognized only by the text"),
        (counts.refused, "call", "refused by the user"),
        (counts.shell_calls, "call", "of shells, excluded from rankings"),
        (counts.shell_errors, "error", "of shells"),
        (counts.attacks, "conversation", "with an attack, excluded from rankings"),
        (counts.left_out, "call", "left out"),
    ];
    let rest = rest.iter().filter(|(number, ..)| *number > 0);
    parts.extend(rest.map(|(number, noun, of)| format!("{} {of}", pluralize(*number, noun))));
    parts.join(", ")
}

impl From<ImportError> for CliError {
    fn from(error: ImportError) -> CliError {
        CliError::new(error).kind(ErrorKind::Invalid)
    }
}
