//! Conversations as the rows of a run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use healbench_core::{
    ActionSpec, AgentKind, AgentSpec, AxisValues, Break, CallRecord, Condition, EndedBy, EnvironmentKind,
    EpisodeCounts, EpisodeRecord, ErrorFormat, Guardrails, ListedEpisode, Origin, Outcome, Plan, PlanOrder,
    PlannedEnvironment, PlannedScenario, RecordedTurn, RecordedTurns, ResponseRecord, Seed, Surroundings, ToolCall,
    ToolResponse, ToolSpec, TurnCost, Usage, canonical_json, changed_arguments, follow,
};
use healbench_reader::reading::{Vocabulary, read};
use healbench_store::EpisodeResult;
use healbench_tokens::{count_tokens, is_estimated};
use serde_json::{Map, Value, json};

use crate::redact::Redactor;
use crate::{Call, Conversation, Event, Turn};

/// The name of the condition of a trace.
pub const OBSERVED: &str = "observed";

/// The longest beginning of an error text that is read, in bytes.
const MAX_READ_BYTES: usize = 1 << 16;

/// The model of a conversation whose source names none.
const UNKNOWN_MODEL: &str = "unknown model";

/// Makes the rows of conversations, and the plan that lists them.
#[derive(Debug)]
pub struct Rows {
    plan: Plan,
    scenarios: HashMap<String, u32>,
    agents: HashMap<String, u32>,
    trials: HashMap<(u32, u32), u32>,
    shell_tools: BTreeSet<String>,
    redactor: Option<Redactor>,
}

impl Rows {
    /// Starts without a conversation. `redacts` masks all values.
    pub fn new(redacts: bool) -> Rows {
        let values = AxisValues::of(Guardrails::NONE, ErrorFormat::Bare);
        let plan = Plan {
            seed: Seed(0),
            trials: 0,
            order: PlanOrder::Listed(Vec::new()),
            environment: PlannedEnvironment { kind: EnvironmentKind::Observed, server: None },
            agents: Vec::new(),
            conditions: vec![Condition::named(OBSERVED, values)],
            scenarios: Vec::new(),
        };
        Rows {
            plan,
            scenarios: HashMap::new(),
            agents: HashMap::new(),
            trials: HashMap::new(),
            shell_tools: BTreeSet::new(),
            redactor: redacts.then(Redactor::default),
        }
    }

    /// Returns the plan of the conversations so far.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the tools whose calls are those of a shell.
    pub fn shell_tools(&self) -> &BTreeSet<String> {
        &self.shell_tools
    }

    /// Adds a conversation to the plan and returns its rows.
    pub fn add(&mut self, conversation: &Conversation) -> EpisodeResult {
        let episode = self.plan.len();
        self.list(conversation);
        let mut rows = EpisodeRows::new(episode);
        for event in &conversation.events {
            match event {
                Event::User { text } => rows.add_user(text),
                Event::Turn(turn) => rows.add_turn(turn),
            }
        }
        self.shell_tools.extend(rows.errors.shell_tools.iter().cloned());
        let mut result = rows.finish(conversation);
        if let Some(redactor) = &mut self.redactor {
            redactor.redact(&mut result, &self.shell_tools);
        }
        result
    }

    fn list(&mut self, conversation: &Conversation) {
        let parts = [Some(conversation.source), conversation.suite.as_deref(), Some(conversation.task.as_str())];
        let id = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
        let planned = |id: &str| PlannedScenario {
            id: id.to_owned(),
            cluster: id.to_owned(),
            path: String::new(),
            sha256: String::new(),
            claims: Vec::new(),
            waits_on_retry: false,
            worlds: 1,
            renamed_from: None,
        };
        let scenario = index_of(&mut self.scenarios, &mut self.plan.scenarios, &id, planned);
        let spec = |name: &str| AgentSpec {
            kind: AgentKind::Trace,
            name: name.to_owned(),
            opening: None,
            tools: None,
            settings: Value::Null,
        };
        let model = conversation.model.as_deref().unwrap_or(UNKNOWN_MODEL);
        let agent = index_of(&mut self.agents, &mut self.plan.agents, model, spec);
        let next = self.trials.entry((scenario, agent)).or_default();
        let listed = ListedEpisode { scenario, agent, trial: *next };
        *next += 1;
        self.plan.trials = self.plan.trials.max(*next);
        if let PlanOrder::Listed(episodes) = &mut self.plan.order {
            episodes.push(listed);
        }
    }
}

/// Returns the index of a name on an axis, to which it is added if it is new.
fn index_of<T>(known: &mut HashMap<String, u32>, axis: &mut Vec<T>, name: &str, make: impl Fn(&str) -> T) -> u32 {
    *known.entry(name.to_owned()).or_insert_with(|| {
        axis.push(make(name));
        axis.len() as u32 - 1
    })
}

/// The rows of a conversation so far.
struct EpisodeRows {
    episode: u64,
    prompt: Option<String>,
    prompt_tokens: u32,
    prose_tokens: u32,
    /// The tokens of the conversation so far.
    context_tokens: u64,
    turns: u32,
    recorded: Vec<RecordedTurn>,
    breaks: Vec<Break>,
    /// The turns with calls that were left out.
    left_out: Vec<u32>,
    sent: Vec<ToolCall>,
    /// Tools and arguments of calls that failed.
    failed: HashSet<(String, Arc<str>)>,
    calls: Vec<CallRecord>,
    responses: Vec<ResponseRecord>,
    errors: Errors,
}

/// The errors of a conversation, to be read when all of its calls are known. Those of shells are not.
#[derive(Default)]
struct Errors {
    /// The index of each call that failed, and its text.
    texts: Vec<(usize, String)>,
    shell_tools: BTreeSet<String>,
}

impl EpisodeRows {
    fn new(episode: u64) -> EpisodeRows {
        EpisodeRows {
            episode,
            prompt: None,
            prompt_tokens: 0,
            prose_tokens: 0,
            context_tokens: 0,
            turns: 0,
            recorded: Vec::new(),
            breaks: Vec::new(),
            left_out: Vec::new(),
            sent: Vec::new(),
            failed: HashSet::new(),
            calls: Vec::new(),
            responses: Vec::new(),
            errors: Errors::default(),
        }
    }

    fn add_user(&mut self, text: &str) {
        let tokens = count_tokens(text);
        self.context_tokens += u64::from(tokens);
        if self.turns == 0 && self.prompt.is_none() {
            self.prompt = Some(text.to_owned());
            self.prompt_tokens = tokens;
            return;
        }
        if self.turns > 0 {
            self.breaks.push(Break { turn: self.turns + 1, by_user: true });
        }
        let turn = healbench_core::Turn::Message { text: text.to_owned() };
        self.recorded.push(RecordedTurn { turn, origin: Origin::User });
    }

    fn add_turn(&mut self, turn: &Turn) {
        self.turns += 1;
        let prose = count_tokens(&turn.text);
        self.prose_tokens += prose;
        self.context_tokens += u64::from(prose);
        let usage = turn.usage.map(|(input, output)| Usage { input, output, ..Usage::default() });
        let origin = Origin::Model(TurnCost { usage, ..TurnCost::default() });
        match (turn.calls.len(), turn.left_out) {
            (0, 0) => self.breaks.push(Break { turn: self.turns, by_user: false }),
            (_, 0) => {}
            _ => self.left_out.push(self.turns),
        }
        let calls: Vec<ToolCall> =
            turn.calls.iter().map(|call| ToolCall::new(&call.tool, call.arguments.clone())).collect();
        // The user ended what a refused call tried, which has neither failed nor succeeded.
        if turn.calls.iter().any(|call| call.result.as_ref().is_some_and(|result| result.is_refused)) {
            self.breaks.push(Break { turn: self.turns, by_user: true });
        }
        for (call, sent) in turn.calls.iter().zip(&calls) {
            self.add_call(call, sent);
        }
        let text = turn.text.clone();
        let turn = match calls.is_empty() {
            true => healbench_core::Turn::Message { text },
            false => healbench_core::Turn::Calls { calls, waited_s: 0, text },
        };
        self.recorded.push(RecordedTurn { turn, origin });
    }

    fn add_call(&mut self, call: &Call, sent: &ToolCall) {
        let wire_text = sent.wire_text();
        let request_tokens = count_tokens(&wire_text);
        let arguments: Arc<str> = canonical_json(&sent.arguments).into();
        let error = call.result.as_ref().and_then(|result| result.error);
        let key = (sent.tool.clone(), Arc::clone(&arguments));
        let repeated = self.failed.contains(&key);
        if error.is_some() {
            self.failed.insert(key);
        }
        let (mut response_hash, mut response_tokens, mut response_estimated) = (0, 0, false);
        if let Some(result) = &call.result {
            let response = ToolResponse { content: result.blocks.clone(), is_error: error.is_some() };
            let text = response.text();
            (response_tokens, response_estimated) = (count_tokens(&text), is_estimated(&text));
            response_hash = response.hash();
            let unguarded_text = error.map(|_| result.text.clone());
            let (is_error, tokens) = (response.is_error, response_tokens);
            self.responses.push(ResponseRecord {
                response_hash,
                is_error,
                unguarded_text,
                tokens,
                content: response.content,
            });
            if is_error && !call.is_shell {
                let end = result.text.floor_char_boundary(MAX_READ_BYTES);
                self.errors.texts.push((self.calls.len(), result.text[..end].to_owned()));
            }
        }
        if call.is_shell {
            self.errors.shell_tools.insert(call.tool.clone());
        }
        self.calls.push(CallRecord {
            episode: self.episode,
            call: self.calls.len() as u32 + 1,
            turn: Some(self.turns),
            tool: call.tool.as_str().into(),
            arguments,
            is_error: error.is_some(),
            error_source: error,
            repeated,
            request_tokens,
            response_tokens,
            tokens_estimated: is_estimated(&wire_text) || response_estimated,
            response_hash,
            context_tokens: Some(self.context_tokens),
            ..CallRecord::default()
        });
        self.context_tokens += u64::from(request_tokens) + u64::from(response_tokens);
        self.sent.push(sent.clone());
    }

    fn finish(mut self, conversation: &Conversation) -> EpisodeResult {
        let around =
            Surroundings { breaks: &self.breaks, left_out: &self.left_out, is_cut_off: conversation.is_cut_off };
        follow(&mut self.calls, around);
        number_chains(&mut self.calls);
        self.read_errors(conversation);
        for at in 0..self.calls.len() {
            let Some(of) = self.calls[at].attempt_of else { continue };
            let changed = changed_arguments(&self.sent[of as usize - 1], &self.sent[at]);
            self.calls[at].changed_fields = Some(changed.into());
        }
        let outcome = match conversation.success {
            Some(true) => Outcome::Success,
            Some(false) => Outcome::TaskFail,
            None => Outcome::Unknown,
        };
        let counts = EpisodeCounts { told_answers: None, ..EpisodeCounts::from_calls(&self.calls) };
        let episode = EpisodeRecord {
            episode: self.episode,
            outcome,
            ended_by: EndedBy::Unknown,
            claimed_done: false,
            scheduled: false,
            schedule_hash: String::new(),
            tags: conversation.tags.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            turns: Some(self.turns),
            calls: self.calls.len() as u32,
            perfect_calls: 0,
            prompt_tokens: self.prompt_tokens,
            prose_tokens: Some(self.prose_tokens),
            counts,
            billed: None,
            model: None,
        };
        let recorded_turns = RecordedTurns {
            episode: self.episode,
            prompt: Some(self.prompt.unwrap_or_default()),
            turns: self.recorded,
            ..RecordedTurns::default()
        };
        EpisodeResult { episode, calls: self.calls, recorded_turns: Some(recorded_turns), responses: self.responses }
    }

    fn read_errors(&mut self, conversation: &Conversation) {
        if self.errors.texts.is_empty() {
            return;
        }
        let tools = tools_of(conversation, &self.sent);
        let vocabulary = Vocabulary::of_tools(&tools);
        for (at, text) in &self.errors.texts {
            self.calls[*at].reading = read(text, &vocabulary, &self.sent[*at].arguments, Some(true)).row();
        }
    }
}

/// Numbers the error chains: each begins with a failed call that is no attempt, and goes on with its next attempts.
fn number_chains(calls: &mut [CallRecord]) {
    let mut chains = 0;
    for at in 0..calls.len() {
        if !calls[at].is_error {
            continue;
        }
        let chain = *calls[at].chain.get_or_insert_with(|| {
            chains += 1;
            chains
        });
        let next = calls[at].aftermath.and_then(|aftermath| aftermath.next_attempt);
        if let Some(next) = next.and_then(|next| calls.get_mut(next as usize - 1)) {
            next.chain.get_or_insert(chain);
        }
    }
}

/// Returns the tools of a conversation: those that the source lists, else those that were called, with the names of all arguments
/// that were sent to each.
fn tools_of(conversation: &Conversation, sent: &[ToolCall]) -> Vec<ToolSpec> {
    let tool = |name: &str, description: &str, input_schema: Value| ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        discriminator: None,
        actions: vec![ActionSpec { name: name.to_owned(), description: String::new(), input_schema, read_only: false }],
    };
    if let Some(tools) = &conversation.tools {
        return tools.iter().map(|known| tool(&known.name, &known.description, known.schema.clone())).collect();
    }
    let mut called: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for call in sent {
        let fields = called.entry(&call.tool).or_default();
        let names = call.object().into_iter().flat_map(Map::keys);
        names.for_each(|name| _ = fields.entry(name.clone()).or_insert_with(|| json!({})));
    }
    called.into_iter().map(|(name, properties)| tool(name, "", json!({ "properties": properties }))).collect()
}
