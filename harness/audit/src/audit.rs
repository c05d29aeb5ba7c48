//! Audits a server: for each tool a call that should be right, twice, and calls that are wrong in one respect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use healbench_core::{ToolCall, ToolSpec};
use healbench_engine::check_schema;
use healbench_mcp::{McpError, McpSession, ToolDefinition};
use healbench_reader::reading::Statement;
use healbench_scenarios::load_tools_str;
use healbench_text::times;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answer::Answer;
use crate::base;
use crate::calls::{CallsError, CallsFile, nearest_name, replace_dir};
use crate::findings;
use crate::probes::{Draft, MAX_PROBES, ProbeKind, differing_field, from_schema};
use crate::readers::{finds_field, finds_remedy, narrows, repairs, statements};
use crate::report::{AnswerKind, AuditReport, Base, BaseState, Counts, FORMAT, Finding, Probe, ServerSeen, ToolAudit};
use crate::score;
use crate::templates;

/// The most tools that are audited.
const MAX_TOOLS: usize = 500;

/// What to audit, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The calls of the user.
    pub calls: CallsFile,
    /// The tools to audit whatever they may do; if empty, those that are read-only by their annotations.
    pub tools: Vec<String>,
    /// True if all tools may be called.
    pub allow_writes: bool,
    /// The time for a call.
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

/// Audits a server. `start` starts it anew, in a fresh folder: at the beginning, after it has ended, and for each tool if
/// tools may write.
///
/// # Errors
/// [`AuditError`] if the server does not start, or if the options do not fit it. What it does wrong later is a finding.
pub fn audit(
    options: &Options,
    start: &mut dyn FnMut() -> Result<Server, AuditError>,
) -> Result<AuditReport, AuditError> {
    let server = start()?;
    let info = server.session.server_info().clone();
    let seen = ServerSeen {
        name: info["name"].as_str().map(str::to_owned),
        version: info["version"].as_str().map(str::to_owned),
        revision: server.session.revision().to_owned(),
    };
    let definitions = server.session.tools().to_vec();
    let names = || definitions.iter().map(|tool| tool.name.as_str());
    options.calls.check(names())?;
    if let Some(name) = options.tools.iter().find(|name| !names().any(|known| known == name.as_str())) {
        return Err(AuditError::UnknownTool { name: name.clone(), suggestion: nearest_name(name, names()) });
    }
    let mut auditor =
        Auditor { options, start, server: Some(server), ending: Vec::new(), findings: Vec::new(), notes: Vec::new() };
    let (chosen, mut counts) = auditor.choose(&definitions);
    let (mut tools, mut specs) = (Vec::new(), Vec::new());
    for definition in chosen {
        let Some(spec) = auditor.spec(definition) else { continue };
        if options.allow_writes && !tools.is_empty() {
            auditor.let_go();
        }
        tools.push(auditor.tool(definition, &spec)?);
        specs.push(spec);
    }
    counts.audited = tools.len();
    counts.base_refused = tools.iter().filter(|tool| state(tool) == Some(BaseState::Refused)).count();
    auditor.unknown_tool(&names().collect::<Vec<_>>())?;
    auditor.note_defects();
    let templates = templates::group(&mut tools, &specs);
    let mut found: Vec<Finding> =
        tools.iter().flat_map(findings::of_probes).chain(std::mem::take(&mut auditor.findings)).collect();
    let position = |id: &str| findings::FINDINGS.iter().position(|entry| entry.id == id);
    found.sort_by_key(|finding| (finding.severity, position(&finding.id)));
    let (score, scored) = score::of_server(&tools);
    Ok(AuditReport {
        format: FORMAT.to_owned(),
        server: seen,
        call_timeout_s: options.call_timeout.as_secs_f64(),
        writes_allowed: options.allow_writes,
        counts,
        score,
        scored,
        answer: Some(score::repairs(&tools)),
        kinds: score::of_kinds(tools.iter().flat_map(|tool| &tool.probes)),
        tools,
        templates,
        findings: found,
        notes: std::mem::take(&mut auditor.notes),
    })
}

fn state(tool: &ToolAudit) -> Option<BaseState> {
    tool.base.as_ref().map(|base| base.state)
}

struct Auditor<'a> {
    options: &'a Options,
    start: &'a mut dyn FnMut() -> Result<Server, AuditError>,
    /// `None` after it ended.
    server: Option<Server>,
    /// Servers that are being ended, which takes some of them a while.
    ending: Vec<JoinHandle<()>>,
    findings: Vec<Finding>,
    notes: Vec<String>,
}

impl Drop for Auditor<'_> {
    fn drop(&mut self) {
        self.let_go();
        for thread in self.ending.drain(..) {
            // It does nothing but end processes.
            let _ = thread.join();
        }
    }
}

/// What is known of a tool once its base call was sent.
#[derive(Clone, Copy)]
struct Tool<'t> {
    spec: &'t ToolSpec,
    schema: &'t Value,
    base: &'t Value,
    /// The hash of the answer to the base call; `None` if that was refused, or is not the same each time.
    hash: Option<&'t str>,
    base_statements: &'t [Statement],
}

/// The end of a call.
enum Called {
    Answered(Box<Answer>),
    /// With the reason, and the last words of the server.
    Died(String),
}

impl Auditor<'_> {
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

    /// Returns a tool as agents know it; `None` if its schema cannot be used, which is a finding.
    fn spec(&mut self, definition: &ToolDefinition) -> Option<ToolSpec> {
        let problem = match check_schema(definition.input_schema()) {
            Ok(()) => {
                let listed = load_tools_str("tools/list", &json!({ "tools": [definition.definition] }).to_string());
                match listed.map(|list| list.tools.first().map(healbench_engine::definition::Tool::advertised)) {
                    Ok(Some(spec)) => return Some(spec),
                    Ok(None) => "there is no tool".to_owned(),
                    Err(problems) => problems.first().map(|problem| problem.message.clone()).unwrap_or_default(),
                }
            }
            Err(error) => error.to_string(),
        };
        self.findings.push(findings::of_tool("schema-broken", &definition.name, problem));
        None
    }

    fn tool(&mut self, definition: &ToolDefinition, spec: &ToolSpec) -> Result<ToolAudit, AuditError> {
        let schema = definition.input_schema();
        let calls = self.options.calls.tools.get(&definition.name);
        let declared = calls.and_then(|calls| calls.right.clone()).map(Value::Object);
        let mut tool = ToolAudit {
            name: definition.name.clone(),
            read_only: definition.is_read_only(),
            base: None,
            score: None,
            probes: Vec::new(),
            left_out: 0,
        };
        let Some((arguments, source)) = base::arguments(declared.as_ref(), schema) else {
            let example = "no call could be made from the schema".to_owned();
            self.findings.push(findings::of_tool("base-refused", &definition.name, example));
            return Ok(tool);
        };
        let task_only = definition.definition["execution"]["taskSupport"] == json!("required");
        let (state, answers) = match task_only {
            true => (BaseState::TaskOnly, Vec::new()),
            false => self.base(&definition.name, &arguments)?,
        };
        let first = answers.first();
        tool.base = Some(Base {
            source,
            state,
            tokens: first.map(|answer| answer.tokens),
            bytes: first.map(|answer| answer.text.len()),
            hash: first.map(|answer| answer.hash.clone()),
            text: answers.iter().find(|answer| answer.is_refusal()).map(|answer| answer.text.clone()),
            arguments: arguments.clone(),
        });
        let accepted = matches!(state, BaseState::Accepted | BaseState::Volatile);
        if !accepted && state != BaseState::Refused {
            return Ok(tool);
        }
        let base_statements =
            first.map_or_else(Vec::new, |answer| statements(&answer.text, spec, &arguments, &arguments));
        if let Some(large) =
            first.filter(|answer| accepted && findings::is_oversize(answer.tokens) && !narrows(&base_statements))
        {
            let example = format!("{arguments}: {} tokens", large.tokens);
            self.findings.push(findings::of_tool("oversize", &definition.name, example));
        }
        let hash = first.filter(|_| state == BaseState::Accepted).map(|answer| answer.hash.clone());
        let wrong: Vec<Draft> = calls.map_or_else(Vec::new, |calls| {
            let draft = |object: &healbench_core::Object| {
                let wrong = Value::Object(object.clone());
                Draft {
                    kind: ProbeKind::Declared,
                    path: differing_field(&arguments, &wrong),
                    invalid: healbench_engine::accepts(schema, &wrong) == Ok(false),
                    arguments: wrong,
                    intended: arguments.clone(),
                }
            };
            calls.wrong.iter().take(MAX_PROBES).map(draft).collect()
        });
        let (mut drafts, left_out) = from_schema(schema, &arguments, accepted, MAX_PROBES - wrong.len());
        tool.left_out = left_out;
        drafts.extend(wrong);
        let planned = drafts.len();
        let subject = Tool { spec, schema, base: &arguments, hash: hash.as_deref(), base_statements: &base_statements };
        for draft in drafts {
            let probe = self.probe(&subject, draft)?;
            let ended = matches!(probe.answer, AnswerKind::Slow | AnswerKind::Died);
            tool.probes.push(probe);
            if ended {
                // It is likely to happen again, and each time costs seconds.
                tool.left_out += planned - tool.probes.len();
                break;
            }
        }
        tool.score = score::of_tool(&tool.probes);
        Ok(tool)
    }

    /// Sends the base call twice.
    fn base(&mut self, tool: &str, arguments: &Value) -> Result<(BaseState, Vec<Answer>), AuditError> {
        let mut answers: Vec<Answer> = Vec::new();
        for _ in 0..2 {
            match self.call(tool, arguments)? {
                Called::Died(reason) => {
                    self.findings.push(findings::of_tool("base-dies", tool, format!("{arguments}: {reason}")));
                    return Ok((BaseState::Died, answers));
                }
                Called::Answered(answer) if answer.slow => {
                    let words = self.server.as_ref().map_or_else(String::new, |server| server.session.last_words());
                    let words = if words.is_empty() { words } else { format!("; its last words: {words}") };
                    let seconds = self.options.call_timeout.as_secs_f64();
                    let example = format!("{arguments}: no answer within {seconds} s{words}");
                    self.findings.push(findings::of_tool("base-hangs", tool, example));
                    return Ok((BaseState::Slow, answers));
                }
                Called::Answered(answer) if answer.asked => return Ok((BaseState::Asks, answers)),
                Called::Answered(answer) if answer.is_task => return Ok((BaseState::TaskOnly, answers)),
                Called::Answered(answer) => answers.push(*answer),
            }
        }
        let state = match answers.as_slice() {
            [first, second] if first.is_refusal() || second.is_refusal() => BaseState::Refused,
            [first, second] if first.hash != second.hash => BaseState::Volatile,
            _ => BaseState::Accepted,
        };
        Ok((state, answers))
    }

    fn probe(&mut self, tool: &Tool<'_>, draft: Draft) -> Result<Probe, AuditError> {
        let Tool { spec, schema, base, hash, base_statements } = *tool;
        let mut probe = Probe {
            kind: draft.kind,
            path: draft.path.clone(),
            arguments: draft.arguments.clone(),
            intended: (draft.intended != *base).then(|| draft.intended.clone()),
            invalid: draft.invalid,
            answer: AnswerKind::Died,
            text: None,
            tokens: None,
            bytes: None,
            hash: None,
            field: None,
            remedy: None,
            repaired: None,
            points: None,
            template: None,
        };
        if let Called::Answered(answer) = self.call(&spec.name, &draft.arguments)? {
            probe.answer = answer.kind(hash);
            let found = statements(&answer.text, spec, base, &draft.arguments);
            let is_wrong = draft.invalid || draft.kind == ProbeKind::Declared;
            if probe.answer == AnswerKind::AcceptedOther
                && is_wrong
                && found.iter().any(|statement| !base_statements.contains(statement))
            {
                probe.answer = AnswerKind::SoftError;
            }
            if !answer.slow {
                probe.tokens = Some(answer.tokens);
                probe.bytes = Some(answer.text.len());
                probe.hash = Some(answer.hash.clone());
            }
            if probe.answer.is_refusal() || probe.answer == AnswerKind::SoftError {
                probe.text = Some(answer.text.clone());
            }
            if probe.answer.is_refusal() && score::is_scored(draft.kind, draft.invalid, probe.answer) {
                probe.field = finds_field(&draft, &answer.text, &found);
                probe.remedy = finds_remedy(&draft, &found);
                if draft.kind != ProbeKind::Declared {
                    let mut call = |next: &ToolCall| match self.call(&next.tool, &next.arguments) {
                        Ok(Called::Answered(answer)) if !answer.slow && !answer.asked => Some(*answer),
                        _ => None,
                    };
                    probe.repaired = Some(repairs(spec, schema, &draft.intended, &draft.arguments, &answer, &mut call));
                }
            }
        }
        if score::is_scored(draft.kind, draft.invalid, probe.answer) {
            probe.points = Some(score::points(probe.answer, [probe.field, probe.remedy, probe.repaired]));
        }
        Ok(probe)
    }

    /// Calls a tool that no server has.
    fn unknown_tool(&mut self, names: &[&str]) -> Result<(), AuditError> {
        let name = "hb_no_such_tool";
        if names.is_empty() || names.contains(&name) {
            return Ok(());
        }
        let answer = match self.call(name, &json!({}))? {
            Called::Died(reason) => format!("ends the server: {reason}"),
            Called::Answered(answer) => match answer.kind(None) {
                AnswerKind::ProtocolError | AnswerKind::IsError => {
                    format!("is answered with {}: {}", answer.kind(None).name(), answer.text)
                }
                kind => format!("is answered with {}", kind.name()),
            },
        };
        self.notes.push(format!("A call of a tool that does not exist {answer}"));
        Ok(())
    }

    /// Calls a tool. A server that has ended is started again for the next call.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Called, AuditError> {
        if self.options.stop.load(Ordering::Relaxed) {
            return Err(AuditError::Interrupted);
        }
        if self.server.is_none() {
            self.server = Some((self.start)()?);
        }
        let Some(server) = &mut self.server else { return Ok(Called::Died(String::new())) };
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
        match server.session.call(tool, &arguments, self.options.call_timeout) {
            Ok(answer) => Ok(Called::Answered(Box::new(Answer::new(&answer, &hide_folder)))),
            Err(error @ McpError::Stopped) => Err(error.into()),
            Err(error) => {
                let reason = hide_folder(&error.to_string());
                self.note_defects();
                self.let_go();
                Ok(Called::Died(reason))
            }
        }
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
