//! What a scenario says that its author cannot mean: the script is played once without mistakes, with faults.

use healbench_core::{ErrorFormat, Guardrails, Object, Seed, Step, ToolCall, same_json};
use healbench_engine::definition::{Action, Code, FaultKind, Handler, ToolFailure};
use healbench_engine::{Engine, Failure, GuardedReply, IssueKind, StateChecks, World, WorldBase, contains_all};
use healbench_text::plain_text;
use serde_json::Value;

use crate::Diagnostic;
use crate::declared::declared;
use crate::expectation::{EpisodeState, Expectation};
use crate::locate::{Document, child};
use crate::misspelt::misspelt_values;
use crate::mistakes::{MutationPlan, identifiers};
use crate::oddities::oddities;
use crate::scenario::Scenario;
use crate::schedule::PlannedStep;
use crate::verification::VerifiedRows;

/// The findings of [`Scenario::findings`], each in the order of the file.
#[derive(Debug, Default)]
pub struct Findings {
    /// What makes the scenario unsolvable or solved from the start.
    pub problems: Vec<Diagnostic>,
    /// What may be meant.
    pub warnings: Vec<Diagnostic>,
}

/// The way to say that a warning is meant.
const SAYS_CONTROL: &str = "if nothing is to help, say so: `tags: [control]`";

/// The number of trials whose mistakes are tried.
const TRIALS: u32 = 8;

impl Scenario {
    /// Plays the script and returns what no author can mean. Empty for the scenario of a server.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        if self.server.is_some() {
            return findings;
        }
        // The text was parsed without errors before.
        let Some(document) = self.source.author_document() else { return findings };
        findings.warnings = oddities(self, &document);
        findings.warnings.extend(misspelt_values(self, &document));
        let mut play = Play::new(self);
        if play.unmet("", false).is_empty() {
            let help = "add what the task is to change, or what it is to find out".to_owned();
            let message = "all expectations hold before anything is done";
            findings.problems.push(document.at_value("/expect", message.to_owned(), Some(help)));
        }
        let needed = self.steps.iter().filter(|step| !step.step.optional).count();
        if needed > self.task.max_calls as usize {
            let message = format!("the script makes {needed} calls, and the task allows {}", self.task.max_calls);
            let help = "raise it, or mark steps `optional`".to_owned();
            findings.problems.push(document.at_value("/task/max_calls", message, Some(help)));
        }
        for (index, fault) in self.faults.iter().enumerate().filter(|(_, fault)| fault.from_call > self.task.max_calls)
        {
            let message = format!("the task allows {} calls, and this needs {}", self.task.max_calls, fault.from_call);
            let at = child(&child("/faults", index), "from_call");
            findings.problems.push(document.at_value(&at, message, None));
        }
        let mut refused = 0;
        for index in 0..self.steps.len() {
            let (more, warnings) = play.mistakes(index, &document);
            refused += more;
            findings.warnings.extend(warnings);
            findings.problems.extend(play.step(index, &document));
        }
        let all = needed as u32 + refused;
        if findings.problems.is_empty() && all > self.task.max_calls && !self.is_control() {
            let message =
                format!("with its mistakes, the script makes {all} calls, and the task allows {}", self.task.max_calls);
            let help = format!("raise it, so that mistakes can be repaired; {SAYS_CONTROL}");
            findings.warnings.push(document.at_value("/task/max_calls", message, Some(help)));
        }
        if findings.problems.is_empty() {
            let answer = self.answer.as_deref().unwrap_or_default();
            for (index, expectation) in play.unmet(answer, self.expects_stop()) {
                let is_answer = matches!(expectation, Expectation::Answer(_)) && self.answer.is_none();
                let help =
                    is_answer.then(|| "give the `answer` of a reader that has made all calls of the script".to_owned());
                let message = format!("the calls of the script do not lead to {expectation}");
                findings.problems.push(document.at_value(&child("/expect", index), message, help));
            }
        }
        if let Some(file) = &self.source.variant {
            for list in [&mut findings.problems, &mut findings.warnings] {
                *list = std::mem::take(list).into_iter().map(|one| one.of_variants(&[&*file.name])).collect();
            }
        }
        findings
    }
}

/// Returns the seconds to wait before the intended call of a step is made again; `None` if this reply is the last one. Nobody repeats a call
/// that seems to have succeeded, and a repetition of one that was executed is a second one.
pub fn delay_before_repetition(step: &Step, reply: &GuardedReply) -> Option<u32> {
    match &reply.failure {
        _ if !reply.response.is_error || reply.took_effect() => None,
        Some(Failure::Fault(_)) if reply.fault == Some(FaultKind::RateLimited) => Some(u16::MAX.into()),
        Some(Failure::Fault(failure)) => Some(failure.retry_after.unwrap_or_default()),
        Some(Failure::Tool(ToolFailure { retry_after, .. })) if step.fails.is_none() => *retry_after,
        _ => None,
    }
}

/// Returns the value of a column in the first object of a result that has all of these values.
fn value_beside<'v>(shown: &'v Value, column: &str, matching: &Object) -> Option<&'v Value> {
    match shown {
        Value::Object(object) => {
            let own = object.get(column).filter(|_| contains_all(object, matching));
            own.or_else(|| object.values().find_map(|one| value_beside(one, column, matching)))
        }
        Value::Array(items) => items.iter().find_map(|one| value_beside(one, column, matching)),
        _ => None,
    }
}

/// One episode of the script.
struct Play<'a> {
    scenario: &'a Scenario,
    engine: Engine,
    world: World,
    succeeded: Vec<ToolCall>,
    verified: VerifiedRows,
    /// The results that were shown, as far as they are JSON.
    shown: Vec<Value>,
}

impl<'a> Play<'a> {
    fn new(scenario: &'a Scenario) -> Play<'a> {
        let engine = Engine::new(&scenario.tools, Guardrails::ALL, &ErrorFormat::Bare);
        let base = WorldBase::new(scenario.world(Seed(1), 0));
        Play {
            scenario,
            // The tools compiled when the scenario was loaded; without any, every call fails.
            engine: engine.unwrap_or_else(|_| unreachable!("the schemas of a loaded scenario compile")),
            world: World::new(base.into()),
            succeeded: Vec::new(),
            verified: VerifiedRows::none_of(scenario),
            shown: Vec::new(),
        }
    }

    fn call(&mut self, call: &ToolCall) -> GuardedReply {
        let reply = self.engine.call(&mut self.world, call);
        if reply.took_effect() {
            self.succeeded.push(call.clone());
            self.shown.extend(reply.response.content.iter().filter_map(|text| serde_json::from_str(text).ok()));
        }
        self.verified.note(&self.scenario.verifications(call, &reply));
        reply
    }

    /// Returns the expectations that do not hold now, with their places.
    fn unmet(&self, answer: &str, gave_up: bool) -> Vec<(usize, &'a Expectation)> {
        let tables = self.world.tables();
        let checks = StateChecks::new(self.scenario.state_checks().cloned(), tables.base().def());
        let episode = EpisodeState {
            state: &checks.results(tables),
            gave_up,
            succeeded: &self.succeeded,
            verified: Some(&self.verified),
            answer: Some(answer),
        };
        let unmet = self.scenario.unmet(&episode);
        let place = |one: &'a Expectation| self.scenario.expect.iter().position(|known| std::ptr::eq(known, one));
        unmet.into_iter().filter_map(|one| Some((place(one)?, one))).collect()
    }

    /// Makes the call of a step, again as long as it meets a fault.
    fn step(&mut self, index: usize, document: &Document<'_>) -> Option<Diagnostic> {
        let step = &self.scenario.steps[index].step;
        let at = child(&child("/script", index), "call");
        for (argument, query) in &step.find {
            let here = child(&child(&child("/script", index), "find"), argument);
            let sent = step.intended.arguments.get(argument);
            let part = |value: &'a Value, part: &str| match value {
                Value::Array(items) => items.get(part.parse::<usize>().ok()?),
                other => other.get(part),
            };
            let sent = sent.or_else(|| argument.split('.').try_fold(&step.intended.arguments, part));
            if let Some(message) = self.find_problem(&query.column, &query.matching, sent) {
                return Some(document.at_value(&here, message, None));
            }
        }
        let mut reply = self.call(&step.intended);
        for _ in 0..self.scenario.task.max_calls {
            let Some(delay) = delay_before_repetition(step, &reply) else { break };
            self.world.wait(delay);
            reply = self.call(&step.intended);
        }
        let text = reply.response.text().into_owned();
        let class = reply.failure.as_ref().map(|failure| failure.class().name().to_owned());
        match &step.fails {
            Some(code) if class.as_ref() == Some(code) => None,
            Some(code) => {
                let result = class.unwrap_or_else(|| "success".to_owned());
                Some(document.at_value(
                    &at,
                    format!("this call is to fail with {code}, and the result is {result}"),
                    None,
                ))
            }
            None if !reply.response.is_error
                || reply.took_effect()
                || step.optional
                || self.scenario.expects_stop() =>
            {
                None
            }
            None => {
                let help = "correct the call, the rows or the rule that refuses it; a call that fails by design says so: `fails: CODE`";
                let help = help.to_owned();
                Some(document.at_value(&at, format!("this call of the script fails: {text}"), Some(help)))
            }
        }
    }

    /// Returns why a record cannot be found in the present state, if it is one of the tables, or is not what is sent.
    fn find_problem(&self, column: &str, matching: &Object, sent: Option<&Value>) -> Option<String> {
        let actions = || self.scenario.tools.iter().flat_map(|tool| &tool.actions);
        if actions().any(|action| matches!(action.handler, Handler::Return(_))) {
            return None;
        }
        let tables = self.world.tables();
        let mut values: Vec<&Value> = Vec::new();
        let mut is_shown = false;
        for table in &tables.base().def().tables {
            let found = tables.rows(&table.name).into_iter().filter(|row| contains_all(row, matching));
            for value in found.filter_map(|row| row.get(column)) {
                is_shown |= actions().any(|action| match &action.handler {
                    Handler::Select { table: read, .. } | Handler::Get { table: read, .. } => {
                        action.read_only && *read == table.name
                    }
                    _ => false,
                });
                is_shown |= self.shown.iter().any(|shown| value_beside(shown, column, matching) == Some(value));
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        match values.len() {
            0 => match self.shown.iter().rev().find_map(|shown| value_beside(shown, column, matching)) {
                None => Some(format!("no row that has `{column}` matches")),
                Some(value) => {
                    let sent = sent.filter(|sent| !same_json(sent, value))?;
                    Some(format!("the result of a call has {value} in `{column}`, and the call sends {sent}"))
                }
            },
            1 if is_shown => {
                let is_sent = |sent: &&Value| match sent {
                    Value::Array(items) => items.iter().any(|item| same_json(item, values[0])),
                    sent => same_json(sent, values[0]),
                };
                let sent = sent.filter(|sent| !is_sent(sent))?;
                Some(format!("the row has {} in `{column}`, and the call sends {sent}", values[0]))
            }
            1 => Some("no action with `read_only: true` shows the row, so that no reader can look it up".to_owned()),
            count => Some(format!("{count} rows with different values in `{column}` match")),
        }
    }

    /// Tries the mistakes of a step. Returns the number of calls that each trial needs for them, and warnings: for each of several that no error
    /// tells of, or that is accepted or cannot be repaired once the others are, unless this is a control; or else for all together.
    fn mistakes(&self, index: usize, document: &Document<'_>) -> (u32, Vec<Diagnostic>) {
        let planned = &self.scenario.steps[index];
        if !planned.has_mistakes() {
            return (0, Vec::new());
        }
        let start = self.world.tables().base().def();
        let (mut refused, mut all) = (1, None);
        for trial in 0..TRIALS {
            let step = self.scenario.schedule(Seed(1), trial, start).script.steps.swap_remove(index);
            let reply = self.try_draft(&step);
            refused = refused.min(u32::from(reply.response.is_error && !step.twice));
            all = all.or_else(|| self.complaint(planned, &step, &reply));
        }
        let at = child("/script", index);
        let (count, from) = planned.draw.as_ref().map_or((0, [].as_slice()), |(count, from)| (*count, from.as_slice()));
        let mut warnings = Vec::new();
        if planned.mistakes.len() + count as usize > 1 && !self.scenario.is_control() {
            let drawn = child(&child(&at, "draw"), "from");
            let places = [(child(&at, "mistakes"), planned.mistakes.as_slice()), (drawn, from)];
            for (list, plans) in places {
                for (place, plan) in plans.iter().enumerate() {
                    let alone = |trial| {
                        let step = self.scenario.step_with(index, vec![plan.clone()], (Seed(1), trial), start)?;
                        self.complaint(planned, &step, &self.try_draft(&step))
                    };
                    let complaint = self.untold(index, plan).or_else(|| (0..TRIALS).find_map(alone));
                    let at = child(&list, place);
                    warnings.extend(complaint.map(|(message, help)| {
                        document.at_value(&at, message, help.or_else(|| Some(SAYS_CONTROL.to_owned())))
                    }));
                }
            }
        }
        if let Some((message, help)) = all.filter(|_| warnings.is_empty()) {
            let key = if planned.mistakes.is_empty() { "draw" } else { "mistakes" };
            warnings.push(document.at_value(&child(&at, key), message, help));
        }
        (refused, warnings)
    }

    /// Makes the mistaken call of a step in a copy of the world without faults, which would hide that nothing refuses the call.
    fn try_draft(&self, step: &Step) -> GuardedReply {
        let mut world = self.world.clone().without_faults();
        if step.twice {
            self.engine.call(&mut world, &step.draft);
        }
        self.engine.call(&mut world, &step.draft)
    }

    /// Returns what is wrong with a mistake, with help: it is accepted although it is another call, or no reader can repair it. A read with other
    /// results is not refused by any server.
    fn complaint(&self, planned: &PlannedStep, step: &Step, reply: &GuardedReply) -> Option<(String, Option<String>)> {
        if reply.took_effect() && reply.state_changed == Some(true) {
            return Some((format!("nothing refuses this mistake: {}", step.draft.wire_text()), None));
        }
        let (message, help) = self.unrepairable(planned, step, reply)?;
        Some((message, Some(format!("{help}; {SAYS_CONTROL}"))))
    }

    /// Returns that the answer says nothing of a mistake beside the others of its step: they lead the call to another action, or to no tool, and
    /// that does not take the mistaken argument. Few simulated readers keep it when they turn to the right action.
    fn untold(&self, index: usize, plan: &MutationPlan) -> Option<(String, Option<String>)> {
        let start = self.world.tables().base().def();
        let others = self.scenario.steps[index].mistakes.iter().filter(|other| !std::ptr::eq(*other, plan)).cloned();
        let others: Vec<MutationPlan> = others.collect();
        let mut mistaken = None;
        for trial in 0..TRIALS {
            let with = |plans: &[MutationPlan]| {
                self.scenario.step_with(index, [&others, plans].concat(), (Seed(1), trial), start)
            };
            let (without, step) = (with(&[])?, with(std::slice::from_ref(plan))?);
            if self.taken(&without) != self.taken(&step) {
                return None;
            }
            mistaken = Some(step.draft);
        }
        let call = mistaken?;
        let tool = plain_text(&call.tool);
        let to = match self.scenario.action_of(&call) {
            Some(action) => format!("`{tool}.{}`, which does not take the argument", plain_text(&action.name)),
            None => format!("`{tool}`, which is no tool"),
        };
        let message = format!("no error of the mistaken call tells of this mistake: the call goes to {to}");
        let help = "all mistakes of a step are made in one call: leave one out, or use another step".to_owned();
        Some((message, Some(help)))
    }

    /// Returns the part of a mistaken call that its error can be about: the tool, the arguments that the action may take, and whether it is made
    /// twice. Arguments that no action has are part of it, as they may be refused.
    fn taken<'s>(&self, step: &'s Step) -> (&'s str, Vec<(&'s String, &'s Value)>, bool) {
        let is_declared = |action: &Action, name: &str| declared(&action.input).any(|(known, _)| known == name);
        let meant = self.scenario.action_of(&step.intended);
        let called = self.scenario.action_of(&step.draft);
        let is_tool = self.scenario.tools.iter().any(|tool| tool.name == step.draft.tool);
        let takes = |name: &str| match (called, meant) {
            (Some(called), Some(meant)) => {
                std::ptr::eq(called, meant) || is_declared(called, name) || !is_declared(meant, name)
            }
            _ => is_tool,
        };
        let arguments = step.draft.object().into_iter().flatten().filter(|(name, _)| takes(name)).collect();
        (&step.draft.tool, arguments, step.twice)
    }

    /// Returns why no simulated reader can repair a refused mistake, with help: the right value is neither told nor looked up, or another action
    /// asks for what the step does not have.
    fn unrepairable(&self, planned: &PlannedStep, step: &Step, reply: &GuardedReply) -> Option<(String, String)> {
        let (sent, meant) = (step.draft.object()?, step.intended.object()?);
        let action = self.scenario.action_of(&step.draft).filter(|_| !self.scenario.is_control())?;
        let is_meant = self.scenario.action_of(&step.intended).is_some_and(|meant| std::ptr::eq(meant, action));
        match &reply.failure {
            // Of several that are drawn, others can be repaired.
            Some(Failure::Validation { issues, .. }) if !is_meant && planned.draw.is_none() => {
                let missing = issues.iter().find(|issue| {
                    let argument = issue.path.split('.').next().unwrap_or_default();
                    matches!(issue.kind, IssueKind::Missing { .. }) && !meant.contains_key(argument)
                })?;
                let (argument, name) = (plain_text(&missing.path), plain_text(&action.name));
                let message =
                    format!("`{name}` asks for `{argument}`, which a simulated reader does not know in this step");
                let help = "give the mistaken call all of its arguments: `value: {tool: …, action: …, arguments: {…}}`";
                Some((message, help.to_owned()))
            }
            Some(Failure::Tool(failure))
                if is_meant
                    && failure.recovery_is_generated
                    && failure.code.as_deref() == Some(Code::NotFound.name()) =>
            {
                let is_mistaken = |name: &&str| meant.get(*name).is_some_and(|meant| Some(meant) != sent.get(*name));
                let mut unknown = identifiers(action, meant).into_keys().filter(is_mistaken);
                let argument = plain_text(unknown.find(|name| !step.find.contains_key(*name))?);
                let message = format!("no simulated reader finds the right `{argument}` after this mistake");
                let help = format!("say where it is looked up: `find: {{{argument}: {{column: …, matching: {{…}}}}}}`");
                Some((message, help))
            }
            _ => None,
        }
    }
}
