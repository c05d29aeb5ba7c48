//! The audit of a tool: its base call, and the calls that are wrong.

use healbench_core::{Object, ToolCall, ToolSpec};
use healbench_mcp::ToolDefinition;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::audit::{AuditError, Auditor, Called};
use crate::base;
use crate::contract;
use crate::findings;
use crate::kinds::ProbeKind;
use crate::likeness::{names_value, without_values};
use crate::mend::{Refused, records};
use crate::outage::{Outages, Reach, may_be_lost};
use crate::places::differing_field;
use crate::probes::{Draft, MAX_PROBES, from_schema};
use crate::readers::{finds_field, finds_remedy, narrows, notice, repairs, reports_error, statements};
use crate::report::{AnswerKind, Base, BaseSource, BaseState, Probe, ToolAudit};
use crate::score;
use crate::subject::{Subject, lacks_field};

/// The number of times that a refused base call is changed, and the number of calls that are tried each time.
const MAX_MENDS: usize = 3;

/// A tool with its schema, and as agents know it.
type Known<'d> = (&'d ToolDefinition, Value, ToolSpec);

impl Auditor<'_, '_> {
    pub(crate) fn tool(
        &mut self,
        definition: &ToolDefinition,
        schema: &Value,
        spec: &ToolSpec,
        known: &[Known<'_>],
    ) -> Result<ToolAudit, AuditError> {
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
        let tried = match definition.definition["execution"]["taskSupport"] == json!("required") {
            true => Tried { arguments, source, state: BaseState::TaskOnly, answers: Vec::new() },
            false => {
                let tried = self.base(definition, spec, arguments, source)?;
                if source == BaseSource::CallsFile { tried } else { self.mend(definition, schema, spec, tried, known)? }
            }
        };
        let Tried { arguments, source, state, answers } = tried;
        let first = answers.iter().find(|answer| !answer.is_refusal()).or(answers.first());
        let is_refused = matches!(state, BaseState::Refused | BaseState::RefusedSoftly);
        let refusal = answers.iter().find(|answer| answer.is_refusal()).or(first).filter(|_| is_refused);
        tool.base = Some(Base {
            source,
            state,
            tokens: first.map(|answer| answer.tokens),
            bytes: first.map(|answer| answer.text.len()),
            hash: first.map(|answer| answer.hash.clone()),
            text: refusal.map(|answer| answer.text.clone()),
            arguments: arguments.clone(),
        });
        let accepted = matches!(state, BaseState::Accepted | BaseState::Volatile);
        if self.options.base_only || !accepted && !is_refused {
            return Ok(tool);
        }
        let tools = self.tool_and_others(spec);
        let found = first.map_or_else(Vec::new, |answer| statements(&answer.text, &tools[..1], &arguments, &arguments));
        if let Some(large) = first.filter(|answer| findings::is_oversize(answer.tokens) && !narrows(&found)) {
            let example = format!("{arguments}: {} tokens", large.tokens);
            self.findings.push(findings::of_tool("oversize", &definition.name, example));
        }
        let wrong: Vec<Draft> = calls.map_or_else(Vec::new, |calls| {
            calls.wrong.iter().take(MAX_PROBES).map(|object| declared_draft(schema, &arguments, object)).collect()
        });
        let (mut drafts, left_out) = from_schema(schema, &arguments, accepted, MAX_PROBES - wrong.len());
        tool.left_out = left_out;
        drafts.extend(wrong);
        let mut outages = Outages::new(&answers, &arguments);
        let again = answers.iter().filter(|answer| !is_refused && answer.is_refusal());
        let mut subject = Subject {
            again: again.map(|answer| without_values(&answer.text, &arguments)).collect(),
            definition,
            spec,
            schema,
            base: &arguments,
            first: refusal.or(first),
            state,
            statements: found,
            tools,
        };
        self.send_probes(&mut subject, &mut outages, drafts, accepted, &mut tool)?;
        outages.lose(&mut tool.probes);
        score::without_lone_undeclared(&mut tool.probes);
        tool.score = score::of_tool(&tool.probes);
        Ok(tool)
    }

    /// Sends wrong calls until one has no answer, and adds the probes to those of the tool.
    fn send_probes(
        &mut self,
        subject: &mut Subject<'_>,
        outages: &mut Outages,
        drafts: Vec<Draft>,
        accepted: bool,
        tool: &mut ToolAudit,
    ) -> Result<(), AuditError> {
        let planned = drafts.len();
        for draft in drafts {
            let probe = self.probe(subject, outages, draft)?;
            let ended = matches!(probe.answer, AnswerKind::Slow | AnswerKind::Died);
            // A call without a required field was not read as the right one: the server says this of all that it refuses, unless it names
            // what was sent.
            if let Some(text) = probe.text.as_ref().filter(|_| lacks_field(probe.kind) && probe.answer.is_refusal()) {
                let text = without_values(text, &probe.arguments);
                subject.again.retain(|again| *again != text || names_value(again));
            }
            // A mistake that was accepted may have changed what the right call needs.
            if accepted && !tool.read_only && subject.again.is_empty() && probe.answer.is_accepted() {
                subject.again.extend(self.refusal_now(&tool.name, subject.base)?);
            }
            tool.probes.push(probe);
            if ended {
                // It is likely to happen again, and each time costs seconds.
                tool.left_out += planned - tool.probes.len();
                break;
            }
        }
        Ok(())
    }

    /// Sends the base call twice.
    fn base(
        &mut self,
        definition: &ToolDefinition,
        spec: &ToolSpec,
        arguments: Value,
        source: BaseSource,
    ) -> Result<Tried, AuditError> {
        let tool = &definition.name;
        let mut answers: Vec<Answer> = Vec::new();
        let mut end = None;
        while end.is_none() && answers.len() < 2 {
            match self.call(tool, &arguments)? {
                Called::Died(reason) => {
                    self.findings.push(findings::of_tool("base-dies", tool, format!("{arguments}: {reason}")));
                    end = Some(BaseState::Died);
                }
                Called::Answered(answer) if answer.slow => {
                    let words = self.server.as_ref().map_or_else(String::new, |server| server.session.last_words());
                    let words = if words.is_empty() { words } else { format!("; its last words: {words}") };
                    let stray = self.stray_line().map_or_else(String::new, |line| format!("; {line}"));
                    let seconds = self.options.call_timeout.as_secs_f64();
                    let example = format!("{arguments}: no answer within {seconds} s{stray}{words}");
                    self.findings.push(findings::of_tool("base-hangs", tool, example));
                    end = Some(BaseState::Slow);
                }
                Called::Answered(answer) if answer.asked => end = Some(BaseState::Asks),
                Called::Answered(answer) if answer.is_task => end = Some(BaseState::TaskOnly),
                Called::Answered(answer) => {
                    self.check_answer(definition, &answer);
                    answers.push(*answer);
                }
            }
        }
        let is_soft = |answer: &Answer| reports_error(answer, spec, &arguments);
        let state = end.unwrap_or_else(|| match answers.as_slice() {
            [first, second] if first.is_refusal() && second.is_refusal() => BaseState::Refused,
            // What a call creates exists when it comes again.
            [first, second] if first.is_refusal() != second.is_refusal() => BaseState::Volatile,
            // A switch says something else each time.
            [first, second] if is_soft(first) && is_soft(second) => BaseState::RefusedSoftly,
            [first, second] if first.hash != second.hash => BaseState::Volatile,
            _ => BaseState::Accepted,
        });
        Ok(Tried { arguments, source, state, answers })
    }

    /// Returns the text with which the base call is refused now, without what was sent.
    fn refusal_now(&mut self, tool: &str, arguments: &Value) -> Result<Option<String>, AuditError> {
        Ok(match self.call(tool, arguments)? {
            Called::Answered(answer) if answer.is_refusal() => Some(without_values(&answer.text, arguments)),
            _ => None,
        })
    }

    /// Changes a refused base call as the text says, until it is accepted or the text says nothing more.
    fn mend(
        &mut self,
        definition: &ToolDefinition,
        schema: &Value,
        spec: &ToolSpec,
        tried: Tried,
        known: &[Known<'_>],
    ) -> Result<Tried, AuditError> {
        let mut best = tried;
        let mut seen: Vec<String> = Vec::new();
        let tools = self.tool_and_others(spec);
        for _ in 0..MAX_MENDS {
            let Some(text) = best.refusal() else { break };
            seen.push(without_values(&text, &best.arguments));
            let found = statements(&text, &tools, &best.arguments, &best.arguments);
            let paths = self.paths();
            let refused =
                Refused { text: &text, statements: &found, schema, arguments: &best.arguments, paths: &paths };
            let mut next = None;
            let calls = refused.mended(&mut |name| self.listed(name, known));
            for arguments in calls.into_iter().take(MAX_MENDS) {
                let before = self.findings.len();
                let again = self.base(definition, spec, arguments, BaseSource::Mended)?;
                match again.refusal() {
                    None if matches!(again.state, BaseState::Accepted | BaseState::Volatile) => {
                        let example = format!("{}: {text}", best.arguments);
                        self.findings.push(findings::of_tool("base-mended", &definition.name, example));
                        return Ok(again);
                    }
                    // Nobody asked for this call.
                    None => self.findings.truncate(before),
                    Some(text) if !seen.contains(&without_values(&text, &again.arguments)) => next = Some(again),
                    Some(_) => {}
                }
            }
            match next {
                Some(again) => best = again,
                None => break,
            }
        }
        Ok(best)
    }

    /// Returns the tool, and then all others of the server.
    fn tool_and_others(&self, spec: &ToolSpec) -> Vec<ToolSpec> {
        let others = self.vocabulary.iter().filter(|other| other.name != spec.name);
        std::iter::once(spec).chain(others).cloned().collect()
    }

    /// Returns paths that exist for the server.
    fn paths(&self) -> Vec<String> {
        let folder = self.server.as_ref().map(|server| server.folder.path());
        let entries = folder.and_then(|folder| folder.read_dir().ok()).into_iter().flatten().flatten();
        let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut names: Vec<String> = files.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        let first = names.into_iter().next().unwrap_or_else(|| "example".to_owned());
        vec![format!("{{dir}}/{first}"), "{dir}".to_owned()]
    }

    /// Returns what another tool that may be called answers.
    fn listed(&mut self, name: &str, known: &[Known<'_>]) -> Option<Value> {
        let (definition, schema, _) = known.iter().find(|(tool, ..)| tool.name == name)?;
        let declared = self.options.calls.tools.get(name).and_then(|calls| calls.right.clone()).map(Value::Object);
        let (arguments, _) = base::arguments(declared.as_ref(), schema)?;
        match self.call(&definition.name, &arguments) {
            Ok(Called::Answered(answer)) if !answer.slow && !answer.is_refusal() => {
                Some(answer.result.structured.clone().unwrap_or_else(|| records(&answer.text)))
            }
            _ => None,
        }
    }

    /// Counts what clients make of an answer.
    fn check_answer(&mut self, definition: &ToolDefinition, answer: &Answer) {
        for (id, example) in contract::of_answer(&definition.definition, answer) {
            let is_known = |finding: &&mut crate::report::Finding| {
                finding.id == id && finding.tool.as_ref() == Some(&definition.name)
            };
            match self.findings.iter_mut().find(is_known) {
                Some(finding) => finding.count += 1,
                None => self.findings.push(findings::of_tool(id, &definition.name, example)),
            }
        }
    }

    fn probe(&mut self, subject: &Subject<'_>, outages: &mut Outages, draft: Draft) -> Result<Probe, AuditError> {
        let Subject { definition, spec, schema, base, tools, .. } = subject;
        let mut probe = unanswered(&draft, base);
        match self.call(&spec.name, &draft.arguments)? {
            Called::Died(reason) => probe.text = Some(reason),
            Called::Answered(mut answer) => {
                // Any tool may be the way out of what the schema does not tell.
                let named = if draft.kind.is_domain() { &tools[..] } else { &tools[..1] };
                let judge = |answer: &Answer| {
                    let found = statements(&answer.text, named, base, &draft.arguments);
                    (subject.judge(&draft, answer, &found), found)
                };
                let (kind, mut found) = judge(&answer);
                probe.answer = kind;
                let reach = match may_be_lost(kind) {
                    true => self.reach(subject, outages, &draft, &draft.arguments, &answer, &found)?,
                    false => Reach::Tool,
                };
                match reach {
                    Reach::Tool => {}
                    Reach::Nothing => {
                        probe.answer = AnswerKind::Environment;
                        probe.text = Some(answer.text.clone());
                    }
                    Reach::Later(second) => {
                        answer = second;
                        (probe.answer, found) = judge(&answer);
                    }
                }
                self.check_answer(definition, &answer);
                if answer.slow {
                    probe.text = self.stray_line();
                } else {
                    probe.tokens = Some(answer.tokens);
                    probe.bytes = Some(answer.text.len());
                    probe.hash = Some(answer.hash.clone());
                }
                let is_notice = matches!(probe.answer, AnswerKind::SoftError | AnswerKind::Warned);
                if probe.answer.is_refusal() || is_notice {
                    let base_text = subject.first.map(|answer| answer.text.as_str());
                    probe.text = Some(match probe.answer {
                        AnswerKind::Warned => notice(&answer.text, base_text),
                        _ => answer.text.clone(),
                    });
                }
                let is_judged = probe.answer.is_refusal() || probe.answer == AnswerKind::Warned;
                if is_judged && score::is_scored(&draft, probe.answer) {
                    probe.field = finds_field(&draft, &answer.text, &found);
                    probe.remedy = finds_remedy(&draft, &found, schema, tools);
                }
                if probe.remedy.is_some() && probe.answer.is_refusal() && !draft.kind.is_domain() {
                    self.repair(subject, outages, &draft, &answer, &mut probe)?;
                }
            }
        }
        if score::is_scored(&draft, probe.answer) {
            probe.points = Some(score::points(probe.answer, [probe.field, probe.remedy, probe.repaired]));
        }
        Ok(probe)
    }

    /// Finds out whether a reader of the refusal arrives at the right call.
    fn repair(
        &mut self,
        subject: &Subject<'_>,
        outages: &mut Outages,
        draft: &Draft,
        refused: &Answer,
        probe: &mut Probe,
    ) -> Result<(), AuditError> {
        let Subject { spec, schema, base, tools, .. } = subject;
        let mut last = None;
        let mut call = |next: &ToolCall| match self.call(&next.tool, &next.arguments) {
            Ok(Called::Answered(answer)) if !answer.slow && !answer.asked => {
                last = Some((answer.clone(), next.arguments.clone()));
                Some(*answer)
            }
            _ => None,
        };
        let refusal = subject.refusal();
        let is_base_refusal = |text: &str, sent: &Value| {
            let text = without_values(text, sent);
            refusal.as_ref() == Some(&text) || subject.again.contains(&text)
        };
        let (intended, sent) = (&draft.intended, &draft.arguments);
        let answers = repairs(spec, schema, intended, sent, refused, is_base_refusal, &mut call);
        probe.repaired = Some(answers.is_some());
        if let Some((answer, sent)) = last.filter(|(answer, _)| answers.is_none() && answer.is_refusal()) {
            let found = statements(&answer.text, &tools[..1], base, &sent);
            let reach = self.reach(subject, outages, draft, &sent, &answer, &found)?;
            // Whether the text helps was not found out.
            probe.repaired = probe.repaired.filter(|_| matches!(reach, Reach::Tool));
        }
        // A text with which alone a reader arrives at the right call said what is right.
        probe.remedy = probe.remedy.map(|found| found || answers == Some(1));
        Ok(())
    }
}

/// Returns the wrong call that a calls file declares.
fn declared_draft(schema: &Value, right: &Value, object: &Object) -> Draft {
    let wrong = Value::Object(object.clone());
    Draft {
        kind: ProbeKind::Declared,
        path: differing_field(right, &wrong),
        invalid: healbench_engine::accepts(schema, &wrong) == Ok(false),
        optional: false,
        arguments: wrong,
        intended: right.clone(),
    }
}

/// Returns the probe of a call that was not answered.
fn unanswered(draft: &Draft, base: &Value) -> Probe {
    Probe {
        kind: draft.kind,
        path: draft.path.clone(),
        arguments: draft.arguments.clone(),
        intended: (draft.intended != *base).then(|| draft.intended.clone()),
        invalid: draft.invalid,
        optional: draft.optional,
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
    }
}

/// A base call that was sent.
struct Tried {
    arguments: Value,
    source: BaseSource,
    state: BaseState,
    answers: Vec<Answer>,
}

impl Tried {
    /// Returns the text of its refusal.
    fn refusal(&self) -> Option<String> {
        let is_refused = matches!(self.state, BaseState::Refused | BaseState::RefusedSoftly);
        let answer = self.answers.iter().find(|answer| answer.is_refusal()).or(self.answers.first());
        answer.filter(|_| is_refused).map(|answer| answer.text.clone())
    }
}
