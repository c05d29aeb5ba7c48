//! Audits a server: for each tool a call that should be right, twice, and calls that are wrong in one respect.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle};
use std::time::Duration;

use healbench_core::ToolSpec;
use healbench_engine::{check_schema, upgrade_schema};
use healbench_mcp::{McpError, McpSession, ToolDefinition};
use healbench_reader::soft_errors;
use healbench_scenarios::load_tools_str;
use healbench_text::{secrets, times};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answer::Answer;
use crate::base;
use crate::calls::{CallsError, CallsFile, nearest_name, replace_dir};
use crate::contract;
use crate::findings;
use crate::likeness::without_values;
use crate::report::{
    AnswerKind, AuditReport, BaseState, Counts, Environment, FORMAT, Finding, ServerSeen, ToolAudit, Uncalled,
};
use crate::score;
use crate::templates;

/// The most tools that are audited.
const MAX_TOOLS: usize = 500;
/// The most servers that start while a tool is audited, which takes less than a start.
const MAX_AHEAD: usize = 2;

/// What to audit, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The calls of the user.
    pub calls: CallsFile,
    /// The tools to audit whatever they may do; if empty, those that are read-only by their annotations.
    pub tools: Vec<String>,
    /// True if all tools may be called.
    pub allow_writes: bool,
    /// True if no wrong call is made: only the base calls are found.
    pub base_only: bool,
    /// The time for a call. That of a tool that only reads is sent again after half of it.
    pub call_timeout: Duration,
    /// Set to true from elsewhere, it ends the audit before its next call.
    pub stop: Arc<AtomicBool>,
}

/// A server that runs, and the folder that it was given.
pub struct Server {
    pub session: McpSession,
    /// The folder of `{dir}`, which is deleted with this value.
    pub folder: TempDir,
}

/// The reason why a server cannot be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The server cannot be started, or started again.
    #[error(transparent)]
    Server(McpError),
    /// The folder of a server cannot be made.
    #[error("the folder of the server cannot be made: {0}")]
    Folder(String),
    #[error("interrupted")]
    Interrupted,
    /// The calls file does not fit the server.
    #[error(transparent)]
    Calls(#[from] CallsError),
    /// A tool that was asked for does not exist.
    #[error("the server has no tool `{name}`{}", suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?")))]
    UnknownTool {
        name: String,
        /// The tool of the server with the nearest name.
        suggestion: Option<String>,
    },
}

impl From<McpError> for AuditError {
    fn from(error: McpError) -> AuditError {
        if matches!(error, McpError::Stopped) { AuditError::Interrupted } else { AuditError::Server(error) }
    }
}

/// Audits a server. `start` starts it anew, in a fresh folder: at the beginning, after it has ended, and after each tool that
/// may write.
///
/// # Errors
/// [`AuditError`] if the server does not start, or if the options do not fit it. What it does wrong later is a finding.
pub fn audit(
    options: &Options,
    start: &(dyn Fn() -> Result<Server, AuditError> + Sync),
) -> Result<AuditReport, AuditError> {
    thread::scope(|scope| audit_in(scope, options, start))
}

fn audit_in<'s, 'e>(
    scope: &'s Scope<'s, 'e>,
    options: &'e Options,
    start: &'e (dyn Fn() -> Result<Server, AuditError> + Sync),
) -> Result<AuditReport, AuditError> {
    let server = start()?;
    let seen = server_seen(&server);
    let definitions = server.session.tools().to_vec();
    let names = || definitions.iter().map(|tool| tool.name.as_str());
    options.calls.check(names())?;
    if let Some(name) = options.tools.iter().find(|name| !names().any(|known| known == name.as_str())) {
        return Err(AuditError::UnknownTool { name: name.clone(), suggestion: nearest_name(name, names()) });
    }
    let mut auditor = Auditor {
        options,
        scope,
        start,
        server: Some(server),
        only_reads: true,
        stray_lines: 0,
        next: VecDeque::new(),
        ending: Vec::new(),
        findings: Vec::new(),
        notes: Vec::new(),
        vocabulary: Vec::new(),
    };
    let (chosen, mut counts) = auditor.choose(&definitions);
    let known: Vec<(&ToolDefinition, Value, ToolSpec)> =
        chosen.into_iter().filter_map(|tool| auditor.spec(tool)).collect();
    let specs: Vec<ToolSpec> = known.iter().map(|(.., spec)| spec.clone()).collect();
    auditor.vocabulary = definitions.iter().take(MAX_TOOLS).filter_map(|tool| Some(loaded(tool).ok()?.1)).collect();
    let mut tools = auditor.tools(&known)?;
    counts.audited = tools.len();
    let is_refused = |tool: &&ToolAudit| matches!(state(tool), Some(BaseState::Refused | BaseState::RefusedSoftly));
    counts.base_refused = tools.iter().filter(is_refused).count();
    let uncalled = definitions.iter().filter(|tool| !known.iter().any(|(known, ..)| known.name == tool.name));
    let uncalled: Vec<Uncalled> = uncalled.map(uncalled_tool).collect();
    auditor.unknown_tool(&names().collect::<Vec<_>>())?;
    auditor.note_defects();
    let templates = templates::group(&mut tools, &specs);
    let found = sorted_findings(&tools, std::mem::take(&mut auditor.findings));
    let (score, scored) = score::of_server(&tools);
    let mut report = AuditReport {
        format: FORMAT.to_owned(),
        server: seen,
        call_timeout_s: options.call_timeout.as_secs_f64(),
        writes_allowed: options.allow_writes,
        counts,
        score,
        scored,
        environment: environment(&tools),
        answer: score::repairs(&tools),
        kinds: score::of_kinds(tools.iter().flat_map(|tool| &tool.probes)),
        tools,
        uncalled,
        templates,
        findings: found,
        notes: std::mem::take(&mut auditor.notes),
    };
    report.mask(&secrets());
    Ok(report)
}

fn server_seen(server: &Server) -> ServerSeen {
    let info = server.session.server_info();
    ServerSeen {
        name: info["name"].as_str().map(str::to_owned),
        version: info["version"].as_str().map(str::to_owned),
        revision: server.session.revision().to_owned(),
    }
}

fn uncalled_tool(tool: &ToolDefinition) -> Uncalled {
    Uncalled {
        name: tool.name.clone(),
        arguments: base::arguments(None, tool.input_schema()).map(|(arguments, _)| arguments),
    }
}

/// Returns the findings of the probes and others, the most severe first.
fn sorted_findings(tools: &[ToolAudit], others: Vec<Finding>) -> Vec<Finding> {
    let mut found: Vec<Finding> = tools.iter().flat_map(findings::of_probes).chain(others).collect();
    let position = |id: &str| findings::FINDINGS.iter().position(|entry| entry.id == id);
    found.sort_by_key(|finding| (finding.severity, position(&finding.id)));
    found
}

fn state(tool: &ToolAudit) -> Option<BaseState> {
    tool.base.as_ref().map(|base| base.state)
}

/// Returns the calls that reached no tool, with the most frequent reason.
fn environment(tools: &[ToolAudit]) -> Option<Environment> {
    // By what they say: the number of calls, and the text of one.
    let mut reasons: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for tool in tools {
        for probe in tool.probes.iter().filter(|probe| probe.answer == AnswerKind::Environment) {
            let base = tool.base.as_ref().and_then(|base| Some((base.text.as_deref()?, &base.arguments)));
            // Other calls of a tool whose base call was accepted once have reached it.
            if let Some((text, sent)) = probe.text.as_deref().map(|text| (text, &probe.arguments)).or(base) {
                let reason = without_values(&text.replace(&tool.name, ""), sent);
                reasons.entry(reason).or_insert((0, text)).0 += 1;
            }
        }
    }
    let (_, reason) = reasons.values().max_by_key(|(count, _)| *count)?;
    let calls = tools.iter().map(|tool| tool.probes.len()).sum();
    Some(Environment {
        reached: calls - reasons.values().map(|(count, _)| count).sum::<usize>(),
        calls,
        reason: (*reason).to_owned(),
        other_reasons: reasons.len() - 1,
    })
}

/// Returns the schema of a tool's arguments and the tool as agents know it.
fn loaded(definition: &ToolDefinition) -> Result<(Value, ToolSpec), String> {
    let mut definition = definition.definition.clone();
    let written = definition["inputSchema"].clone();
    // In draft 4, `exclusiveMinimum` is true or false.
    let is_draft_4 = written["$schema"].as_str().is_some_and(|draft| draft.contains("draft-04"));
    let schema = if is_draft_4 { upgrade_schema(&written) } else { written };
    check_schema(&schema).map_err(|error| error.to_string())?;
    definition["inputSchema"] = schema.clone();
    let listed = load_tools_str("tools/list", &json!({ "tools": [definition] }).to_string());
    let listed =
        listed.map_err(|problems| problems.first().map(|problem| problem.message.clone()).unwrap_or_default())?;
    let tool = listed.tools.first().ok_or("there is no tool")?;
    Ok((schema, tool.advertised()))
}

pub(crate) struct Auditor<'s, 'e> {
    pub(crate) options: &'e Options,
    scope: &'s Scope<'s, 'e>,
    start: &'e (dyn Fn() -> Result<Server, AuditError> + Sync),
    /// `None` after it ended.
    pub(crate) server: Option<Server>,
    /// True while a tool is audited that only reads, so that a call may be made twice.
    only_reads: bool,
    /// The lines that are no messages, before the last call.
    stray_lines: usize,
    /// The servers for later tools, which start while this one is audited.
    next: VecDeque<ScopedJoinHandle<'s, Result<Server, AuditError>>>,
    /// Servers that are being ended, which takes some of them a while.
    ending: Vec<JoinHandle<()>>,
    pub(crate) findings: Vec<Finding>,
    notes: Vec<String>,
    /// All tools of the server that can be read.
    pub(crate) vocabulary: Vec<ToolSpec>,
}

impl Drop for Auditor<'_, '_> {
    fn drop(&mut self) {
        self.let_go();
        for thread in self.ending.drain(..) {
            // It does nothing but end processes.
            let _ = thread.join();
        }
    }
}

/// The end of a call.
pub(crate) enum Called {
    Answered(Box<Answer>),
    /// With the reason, and the last words of the server.
    Died(String),
}

impl Auditor<'_, '_> {
    /// Takes a server for the next tool, and starts some of those that later tools need.
    fn prepare(&mut self, later: usize) {
        if self.server.is_none() {
            self.server = self.next.pop_front().and_then(|next| next.join().ok()?.ok());
        }
        while self.next.len() < later.min(MAX_AHEAD) {
            self.next.push_back(self.scope.spawn(self.start));
        }
    }

    /// Ends the server while the audit goes on.
    fn let_go(&mut self) {
        if let Some(server) = self.server.take() {
            self.ending.push(thread::spawn(move || drop(server)));
        }
    }

    /// Returns the tools to audit, and counts the others.
    fn choose<'d>(&mut self, definitions: &'d [ToolDefinition]) -> (Vec<&'d ToolDefinition>, Counts) {
        let mut counts = Counts { tools: definitions.len(), ..Counts::default() };
        let mut chosen: Vec<&ToolDefinition> = Vec::new();
        for definition in definitions {
            if chosen.iter().any(|other| other.name == definition.name) {
                self.notes.push(format!(
                    "The server lists two tools of the name `{}`; the first was audited.",
                    definition.name
                ));
                continue;
            }
            if definition.definition["annotations"].get("readOnlyHint").is_none() {
                let example = "`readOnlyHint` is missing".to_owned();
                self.findings.push(findings::of_tool("undeclared-hints", &definition.name, example));
            }
            if !self.options.tools.is_empty() && !self.options.tools.contains(&definition.name) {
                counts.not_asked_for += 1;
            } else if self.options.tools.is_empty() && !self.options.allow_writes && !definition.is_read_only() {
                counts.not_read_only += 1;
                // What its definition says is known without a call.
                if counts.not_read_only <= MAX_TOOLS && self.spec(definition).is_some() {
                    self.check_definition(definition);
                }
            } else if chosen.len() == MAX_TOOLS {
                counts.too_many += 1;
            } else {
                chosen.push(definition);
            }
        }
        if counts.too_many > 0 {
            self.notes.push(format!(
                "Of {} tools the first {MAX_TOOLS} were audited; `--tool` chooses others.",
                counts.tools
            ));
        }
        if chosen.is_empty() {
            self.notes.push(
                "No tool was audited: none is read-only by its annotations. `--tool NAME` names tools that may be called, \
                 `--allow-writes` allows all; a server says so itself by `annotations.readOnlyHint`."
                    .to_owned(),
            );
        } else if counts.not_read_only > 0 || !self.options.allow_writes && self.options.tools.is_empty() {
            self.notes.push("That a tool is read-only is the server's word.".to_owned());
        }
        (chosen, counts)
    }

    /// Returns a tool with its schema, and as agents know it; `None` if its schema cannot be used, which is a finding.
    fn spec<'d>(&mut self, definition: &'d ToolDefinition) -> Option<(&'d ToolDefinition, Value, ToolSpec)> {
        match loaded(definition) {
            Ok((schema, spec)) => Some((definition, schema, spec)),
            Err(problem) => {
                self.check_definition(definition);
                // One reason is enough.
                self.findings
                    .retain(|finding| finding.id != "schema-broken" || finding.tool.as_ref() != Some(&definition.name));
                self.findings.push(findings::of_tool("schema-broken", &definition.name, problem));
                None
            }
        }
    }

    fn check_definition(&mut self, definition: &ToolDefinition) {
        for (id, example) in contract::of_definition(&definition.definition) {
            self.findings.push(findings::of_tool(id, &definition.name, example));
        }
    }

    /// Audits tools, one after the other.
    fn tools(&mut self, known: &[(&ToolDefinition, Value, ToolSpec)]) -> Result<Vec<ToolAudit>, AuditError> {
        let mut tools = Vec::new();
        let mut is_fresh = true;
        for (at, (definition, schema, spec)) in known.iter().enumerate() {
            if !is_fresh {
                self.let_go();
            }
            is_fresh = definition.is_read_only();
            self.only_reads = is_fresh;
            // Each tool that may write is followed by another server, but for the last one.
            let later = known[at..known.len() - 1].iter().filter(|(tool, ..)| !tool.is_read_only()).count();
            self.prepare(later);
            self.check_definition(definition);
            tools.push(self.tool(definition, schema, spec, known)?);
        }
        Ok(tools)
    }

    /// Calls a tool that no server has.
    fn unknown_tool(&mut self, names: &[&str]) -> Result<(), AuditError> {
        let name = "hb_no_such_tool";
        if names.is_empty() || names.contains(&name) || self.options.base_only {
            return Ok(());
        }
        let answer = match self.call(name, &json!({}))? {
            Called::Died(reason) => format!("ends the server: {reason}"),
            Called::Answered(answer) => match answer.kind(None) {
                AnswerKind::Slow => "is not answered in time".to_owned(),
                AnswerKind::ProtocolError | AnswerKind::IsError => {
                    format!("is answered with {}: {}", answer.kind(None).name(), answer.text)
                }
                _ if soft_errors::unwrap(&answer.text).is_error_text => {
                    format!("is answered with an error that is sent as a success: {}", answer.text)
                }
                kind => format!("is answered with {}", kind.name()),
            },
        };
        self.notes.push(format!("A call of a tool that does not exist {answer}"));
        Ok(())
    }

    /// Calls a tool, and again while there is no answer after half of the time, unless it may write twice. A server that has ended is started
    /// again for the next call.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Called, AuditError> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Err(AuditError::Interrupted);
        }
        if self.server.is_none() {
            self.server = Some((self.start)()?);
        }
        let Some(server) = &mut self.server else { return Ok(Called::Died(String::new())) };
        self.stray_lines = server.session.defects().stray_lines;
        let dir = server.folder.path().to_string_lossy().into_owned();
        let real = server.folder.path().canonicalize().unwrap_or_default().to_string_lossy().into_owned();
        let mut arguments = arguments.clone();
        replace_dir(&mut arguments, &dir);
        let hide_folder = |text: &str| {
            let mut text = text.to_owned();
            for (from, to) in [(&real, "{dir}"), (&dir, "{dir}")] {
                if !from.is_empty() {
                    text = text.replace(from.as_str(), to);
                }
            }
            text
        };
        // It is read as it is, and masked in the report.
        let time = self.options.call_timeout;
        match server.session.call_unmasked(tool, &arguments, time, self.only_reads.then_some(time / 2)) {
            Ok(answer) => Ok(Called::Answered(Box::new(Answer::new(&answer, &hide_folder)))),
            Err(error @ McpError::Stopped) => Err(error.into()),
            Err(error) => {
                // Where the program is does not matter, and is not the same everywhere.
                let reason = error.to_string();
                let after = reason
                    .strip_prefix('`')
                    .and_then(|rest| rest.split_once("` "))
                    .map(|(_, rest)| format!("it {rest}"));
                let reason = hide_folder(&after.unwrap_or(reason));
                self.note_defects();
                self.let_go();
                Ok(Called::Died(reason))
            }
        }
    }

    /// Returns the line that came in place of the answer to the last call, such as one that is not UTF-8.
    pub(crate) fn stray_line(&self) -> Option<String> {
        let line = self.server.as_ref()?.session.defects().first_stray_lines.get(self.stray_lines)?;
        Some(format!("it wrote what is no message: {line}"))
    }

    /// Says what the server did besides answering, since its last start.
    fn note_defects(&mut self) {
        let Some(server) = &self.server else { return };
        let defects = server.session.defects();
        let mut notes = Vec::new();
        if let Some(first) = defects.first_stray_lines.first() {
            notes.push(format!(
                "It wrote to standard output what is no message, {}: {first}",
                times(defects.stray_lines as u64)
            ));
        }
        for (count, what) in [
            (defects.unknown_ids, "answered a request that was not made"),
            (defects.second_answers, "answered a request twice"),
            (defects.late_answers, "answered after the time limit"),
            (defects.batches, "sent a batch, which revisions since 2025-06-18 do not have"),
        ] {
            if count > 0 {
                notes.push(format!("It {what}, {}.", times(count as u64)));
            }
        }
        if defects.tools_changed {
            notes.push("It changed its tools during the audit.".to_owned());
        }
        notes.retain(|note| !self.notes.contains(note));
        self.notes.extend(notes);
    }
}
