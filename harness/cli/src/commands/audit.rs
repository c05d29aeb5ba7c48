use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use healbench_audit::{
    AuditError, AuditReport, CallsFile, Change, Options, Server, SourceFile, badge, changes, first_calls_file, junit,
    markdown, sarif, svg, terminal as render_terminal,
};
use healbench_mcp::{Limits, McpSession, Supervisor};
use healbench_render::json;
use healbench_runner::copy_folder;

use super::outputs;
use crate::args::{AuditArgs, AuditRenderer, FixtureArgs, ServerArgs};
use crate::error::{CliError, ExitStatus};
use crate::output::write_atomically;
use crate::signals::{status_of, supervise};
use crate::terminal::Terminal;

/// The folders of installed packages.
const INSTALLED: [&str; 3] = ["node_modules", "venv", ".venv"];

/// Audits a server.
pub(crate) fn audit(args: &AuditArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let supervisor = supervise()?;
    let inputs = [&args.calls, &args.baseline].into_iter().flatten();
    outputs::check(&args.output, inputs.map(PathBuf::as_path))?;
    if let Some(path) = args.write_calls.as_deref().filter(|path| path.exists()) {
        return Err(CliError::new(format_args!("`{}` exists, and may have been edited", path.display()))
            .help("name another file for `--write-calls`, or remove this one"));
    }
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let calls = match &args.calls {
        Some(path) => {
            let text = healbench_files::read_text_file(path, healbench_files::MAX_WRITTEN_BYTES);
            let text = text.map_err(|source| CliError::read(path, &source))?;
            CallsFile::parse(&text).map_err(|error| CliError::from(AuditError::from(error)).within(path.display()))?
        }
        None => CallsFile::default(),
    };
    let options = Options {
        calls,
        tools: args.tool.clone(),
        allow_writes: args.allow_writes,
        base_only: false,
        call_timeout: Duration::from_secs(args.call_timeout.into()),
        stop: Arc::clone(supervisor.stop()),
    };
    let report = healbench_audit::audit(&options, &|| start_server(&supervisor, &args.server, &args.fixture))?;
    let changes = baseline.as_ref().map(|baseline| changes(baseline, &report));
    if let Some(path) = &args.write_calls {
        write_atomically(path, &first_calls_file(&report))?;
        terminal.note(&format!("calls: {}", path.display()));
    }
    outputs::write(&args.output, AuditRenderer::Terminal, terminal, |renderer, _| {
        render(args, &report, changes.as_deref(), renderer)
    })?;
    Ok(status_of(&supervisor, status(args, &report, changes.as_deref())))
}

/// Starts a server in a folder of its own, with the files of `fixture`.
pub(crate) fn start_server(
    supervisor: &Supervisor,
    args: &ServerArgs,
    fixture: &FixtureArgs,
) -> Result<Server, AuditError> {
    let failed = |error: std::io::Error| AuditError::Folder(error.to_string());
    let folder = supervisor.folder().map_err(failed)?;
    if let Some(fixture) = &fixture.fixture {
        copy_folder(fixture, folder.path())
            .map_err(|error| AuditError::Folder(format!("`{}`: {error}", fixture.display())))?;
    }
    let session = McpSession::start(supervisor, &args.endpoint(folder.path())?, &Limits::default())?;
    Ok(Server { session, folder })
}

fn read_baseline(path: &Path) -> Result<AuditReport, CliError> {
    let help = "write one with `healbench audit --output json=FILE`";
    let text = healbench_files::read_text_file(path, healbench_files::MAX_LIST_BYTES);
    let text = text.map_err(|source| CliError::read(path, &source).help(help))?;
    AuditReport::parse(&text).map_err(|error| CliError::new(error).within(path.display()).help(help))
}

fn render(
    args: &AuditArgs,
    report: &AuditReport,
    changes: Option<&[Change]>,
    renderer: AuditRenderer,
) -> Result<String, CliError> {
    Ok(match renderer {
        AuditRenderer::Terminal => render_terminal(report, changes),
        AuditRenderer::Json => json(report)?,
        AuditRenderer::Junit => junit(report, changes),
        AuditRenderer::Markdown => markdown(report, changes),
        AuditRenderer::Sarif => json(&sarif(report, source_file(args).as_ref()))?,
        AuditRenderer::Badge => json(&badge(report))?,
        AuditRenderer::Svg => svg(report),
    })
}

/// Returns the file in which findings are shown: the first one that the command names, else the calls file. Both are looked for
/// below the working directory, which is taken for the root of the repository.
fn source_file(args: &AuditArgs) -> Option<SourceFile> {
    let root = Path::new(".").canonicalize().ok()?;
    let of_command = args.server.files(args.fixture.fixture.as_deref());
    of_command.into_iter().chain(args.calls.clone()).find_map(|path| {
        // Code scanning finds no file behind a link.
        let resolved = path.canonicalize().ok()?;
        let parts: Option<Vec<&str>> = resolved.strip_prefix(&root).ok()?.iter().map(|part| part.to_str()).collect();
        // What starts the server may have been installed here, and is in no repository.
        let parts = parts.filter(|parts| !parts.iter().any(|part| INSTALLED.contains(part)))?;
        // A program is no text.
        let text = healbench_files::read_text_file(&resolved, healbench_files::MAX_WRITTEN_BYTES).ok()?;
        Some(SourceFile { path: parts.join("/"), text })
    })
}

/// Exit 1 for a score below the limit, a tool with a broken schema, or a change for the worse, and 2 if nothing was scored.
fn status(args: &AuditArgs, report: &AuditReport, changes: Option<&[Change]>) -> ExitStatus {
    let is_broken = report.findings.iter().any(|finding| finding.id == "schema-broken");
    let is_below = args.fail_under.is_some_and(|limit| is_broken || report.score.is_none_or(|score| score < limit));
    let is_worse = changes.into_iter().flatten().any(|change| change.is_worse);
    match report.score {
        _ if is_below || is_worse => ExitStatus::Regression,
        Some(_) => ExitStatus::Success,
        None => ExitStatus::Usage,
    }
}
