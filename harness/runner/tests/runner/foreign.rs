//! A server in memory: an environment with its own error texts, `structuredContent`, no telemetry, and no determinism.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use healbench_agents::scripted::{ScriptedAgent, shipped_profile, shipped_profiles};
use healbench_protocol::{
    AgentError, CallResult, Capabilities, ContentBlock, Deadline, Environment, EnvironmentError, EnvironmentKind,
    ErrorClass, Origin, ProtocolError, Reply, ReplyOutcome, Session, ToolCall, ToolSpec, TurnCost,
};
use healbench_record::{CallRecord, ChainEnd};
use healbench_scenarios::{Syntax, load_str};
use serde_json::{Value, json};

use super::*;

const SCENARIO: &str = r#"
id: lab/server
title: A server in memory
task: {prompt: "Invite Ada as an editor.", max_calls: 6}
tools:
  list_people:
    description: A tool of the server.
    discriminator: null
    actions:
      list_people:
        description: List all people.
        read_only: true
        input: {properties: {role: {enum: [viewer, editor]}, limit: {type: integer}}}
        handler: {select: people}
  invite:
    description: A tool of the server.
    discriminator: null
    actions:
      invite:
        description: Invite a person.
        input:
          properties:
            name: {type: string}
            role: {enum: [viewer, editor]}
          required: [name, role]
        handler: {insert: people}
world:
  people:
    rows: [{id: "1", name: Grace, role: viewer}]
expect:
  - row: {in: people, where: {name: Ada, role: editor}}
script:
  - call: {tool: invite, arguments: {name: Ada, role: editor}}
    mistakes: [missing]
"#;

/// The way in which the server fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Works,
    /// It cannot be started.
    Missing,
    /// It ends at the first call.
    Dies,
    /// Arguments are refused with a JSON-RPC error.
    ProtocolErrors,
}

struct Server {
    mode: Mode,
    tools: Vec<ToolSpec>,
    sessions: AtomicU64,
}

impl Server {
    fn new(scenario: &Scenario, mode: Mode) -> Server {
        Server { mode, tools: scenario.advertised(), sessions: AtomicU64::new(0) }
    }
}

impl Environment for Server {
    fn kind(&self) -> EnvironmentKind {
        EnvironmentKind::Mcp
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { deterministic: false, state_is_cheap: false }
    }

    fn tools(&self) -> &[ToolSpec] {
        &self.tools
    }

    fn open(&self) -> Result<Box<dyn Session + '_>, EnvironmentError> {
        if self.mode == Mode::Missing {
            return Err(EnvironmentError::Unavailable("no such program".into()));
        }
        let session = self.sessions.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(ServerSession {
            mode: self.mode,
            session,
            calls: 0,
            people: vec![("Grace".into(), "viewer".into())],
        }))
    }
}

struct ServerSession {
    mode: Mode,
    /// Part of every text, so that no two sessions answer alike.
    session: u64,
    calls: u64,
    people: Vec<(String, String)>,
}

impl ServerSession {
    fn refusal(&self, message: &str) -> CallResult {
        match self.mode {
            Mode::ProtocolErrors => CallResult {
                protocol_error: Some(ProtocolError { code: -32602, message: message.to_owned() }),
                ..CallResult::default()
            },
            _ => CallResult {
                content: vec![ContentBlock::Text(format!("{message} (request {}-{})", self.session, self.calls))],
                is_error: true,
                ..CallResult::default()
            },
        }
    }

    fn answer(&mut self, call: &ToolCall) -> CallResult {
        let text = |name: &str| call.arguments.get(name).and_then(Value::as_str);
        match call.tool.as_str() {
            "list_people" => {
                let people: Vec<Value> =
                    self.people.iter().map(|(name, role)| json!({"name": name, "role": role})).collect();
                CallResult { structured: Some(json!({"people": people})), ..CallResult::default() }
            }
            "invite" => match (text("name"), text("role")) {
                (Some(name), Some(role @ ("viewer" | "editor"))) => {
                    self.people.push((name.to_owned(), role.to_owned()));
                    let shown = format!("Invited {name} ({}-{})", self.session, self.calls);
                    CallResult { content: vec![ContentBlock::Text(shown)], ..CallResult::default() }
                }
                (None, _) => self.refusal("<b>name</b> is needed; retry with \"name\""),
                (_, None) => self.refusal("the role is needed, one of viewer, editor"),
                (_, Some(role)) => self.refusal(&format!("`{role}` is no role")),
            },
            other => self.refusal(&format!("tool {other} not found")),
        }
    }
}

impl Session for ServerSession {
    fn call<'s>(&'s mut self, call: &ToolCall, deadline: Deadline) -> Result<Reply<'s>, EnvironmentError> {
        assert!(deadline.0.is_some(), "a server has a deadline");
        if self.mode == Mode::Dies {
            return Err(EnvironmentError::Unavailable("it ended with status 1".into()));
        }
        self.calls += 1;
        Ok(Reply { outcome: ReplyOutcome::Foreign(self.answer(call)), state_changed: None })
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(vec![self.people.contains(&("Ada".to_owned(), "editor".to_owned()))])
    }
}

/// A stub of a model: it leaves the role out, and adds it once a response names it as a word.
struct StubModel {
    repaired: bool,
}

impl Agent for StubModel {
    fn next_turn(&mut self, seen: &[&ToolResponse]) -> Result<Turn, AgentError> {
        let arguments = match seen.first() {
            None => json!({"name": "Ada"}),
            Some(response) if response.is_error && response.text().contains("role") => {
                self.repaired = true;
                json!({"name": "Ada", "role": "editor"})
            }
            Some(_) => return Ok(Turn::Answer { text: "Done.".to_owned() }),
        };
        let call = ToolCall { tool: "invite".to_owned(), arguments };
        Ok(Turn::Calls { calls: vec![call], waited_s: 0, text: String::new() })
    }

    fn origin(&self) -> Origin {
        Origin::Model(TurnCost::default())
    }
}

fn scenario(text: &str) -> Scenario {
    load_str("server.yaml", text, Syntax::Yaml).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Gives a closure the type of an agent factory.
pub(super) fn agent_factory<F>(make: F) -> F
where
    F: for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync,
{
    make
}

/// Gives a closure the type of an environment factory.
fn environment_factory<F>(make: F) -> F
where
    F: for<'s> Fn(&'s Scenario, Seed) -> Result<Box<dyn Environment + 's>, EnvironmentError> + Sync,
{
    make
}

/// Runs the scenario on a server with all profiles and a stub model, under all sets of guardrails.
fn run_on_server(mode: Mode, trials: u32) -> (Plan, Records) {
    run_scenario(SCENARIO, mode, trials)
}

fn run_scenario(text: &str, mode: Mode, trials: u32) -> (Plan, Records) {
    let scenarios = vec![scenario(text)];
    let mut agents: Vec<AgentSpec> = shipped_profiles().map(|name| shipped_profile(name).unwrap().spec(name)).collect();
    let model = AgentSpec { kind: AgentKind::Llm, name: "stub".to_owned(), ..agents[0].clone() };
    agents.push(AgentSpec { opening: Some(healbench_protocol::Opening::Natural), ..model });
    let axes = Axes {
        agents,
        guardrails: Guardrails::sweep("full").unwrap(),
        formats: vec![ErrorFormat::FusionXml],
        trials,
        seed: Seed(1),
    };
    let plan = build_plan(&axes, &scenarios);
    let profiles: Vec<_> = shipped_profiles().map(|name| shipped_profile(name).unwrap()).collect();
    let make_agent = agent_factory(move |index, start, script| match (profiles.get(index), script) {
        (Some(profile), Some(script)) => Box::new(ScriptedAgent::new(profile, start, script)),
        (None, None) => Box::new(StubModel { repaired: false }),
        (_, script) => panic!("agent {index} got {script:?}: only scripted agents get the intended calls"),
    });
    let make_environment = environment_factory(move |scenario, _| Ok(Box::new(Server::new(scenario, mode))));
    let job = Job {
        plan: &plan,
        scenarios: &scenarios,
        episodes: 0..plan.len(),
        pools: &[WorkerPool::of_all_agents(&plan, 2)],
        make_agent: &make_agent,
        make_environment: Some(&make_environment),
    };
    let (all, _) = run_job(&job).unwrap();
    (plan, all)
}

#[test]
fn a_server_is_played_by_all_agents_under_all_guardrails() {
    let (plan, records) = run_on_server(Mode::Works, 3);
    assert_eq!(records.episodes.len() as u64, plan.len());
    let mut successes: BTreeMap<String, u32> = BTreeMap::new();
    for row in &records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let agent = &plan.agents[cell.agent].name;
        assert!(row.outcome.is_scored(), "{row:?}");
        let mut calls = records.calls.iter().filter(|call| call.episode == row.episode);
        let reached_the_server = calls.any(|call| call.error_class != Some(ErrorClass::Validation));
        assert_eq!(row.counts.leaked_fields.is_none(), reached_the_server, "unknown is null: {row:?}");
        if agent == "stub" {
            // The server's text and that of a format name the role; the line of a bare refusal does not.
            let guardrails = plan.conditions[cell.condition].guardrails;
            let is_bare = guardrails.strict && !guardrails.healing;
            assert_eq!(row.outcome == Outcome::Success, !is_bare, "{guardrails}: {row:?}");
        }
        *successes.entry(agent.clone()).or_default() += u32::from(row.outcome == Outcome::Success);
    }
    assert_eq!(successes["blind"], 0, "{successes:?}");
    assert!(successes["perfect"] > 0, "{successes:?}");
    for call in &records.calls {
        let cell = plan.cell(call.episode).unwrap();
        let guardrails = plan.conditions[cell.condition].guardrails;
        check_row(call, guardrails);
    }
}

/// Checks what a row says about its call by the table of guardrails in front of a server.
fn check_row(call: &CallRecord, guardrails: Guardrails) {
    let class = call.error_class.as_ref();
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
    let is_valid = call.tool.as_ref() == "list_people" || arguments == json!({"name": "Ada", "role": "editor"});
    match (call.is_error, guardrails.strict) {
        (false, _) => assert_eq!(class, None),
        // What does not fit the schema is refused before it reaches the server.
        (true, true) => assert_eq!(class, Some(&ErrorClass::Validation), "{call:?}"),
        (true, false) => assert_eq!(class, Some(&ErrorClass::ServerError), "{call:?}"),
    }
    if is_valid {
        assert!(!call.is_error, "{call:?}");
    }
    if class == Some(&ErrorClass::ServerError) {
        assert_eq!(call.state_changed, None);
        assert_eq!(call.leaked_fields, None);
        let names: Vec<String> = call.named_fields.as_deref().unwrap_or_default().to_vec();
        assert!(names == ["role"] || names == ["name"], "{names:?}: {call:?}");
    }
    if guardrails == Guardrails::NONE {
        assert_eq!(call.guardrail_tokens, 0, "nothing is added without guardrails: {call:?}");
    }
    assert_eq!((call.injected, call.omitted_rows, call.contract_deltas), (false, 0, 0));
}

#[test]
fn no_two_sessions_answer_alike_and_nothing_is_cached() {
    let (plan, records) = run_on_server(Mode::Works, 3);
    let mut hashes: Vec<u64> = Vec::new();
    for call in &records.calls {
        let cell = plan.cell(call.episode).unwrap();
        let reached_the_server = call.error_class != Some(ErrorClass::Validation) && call.tool.as_ref() == "invite";
        if reached_the_server && plan.conditions[cell.condition].guardrails == Guardrails::NONE {
            hashes.push(call.response_hash);
        }
    }
    let distinct: BTreeSet<u64> = hashes.iter().copied().collect();
    assert!(hashes.len() > 10);
    assert_eq!(distinct.len(), hashes.len());
}

#[test]
fn protocol_errors_have_their_own_class() {
    let (_, records) = run_on_server(Mode::ProtocolErrors, 1);
    let classes: BTreeSet<&str> =
        records.calls.iter().filter_map(|call| Some(call.error_class.as_ref()?.name())).collect();
    assert_eq!(classes, BTreeSet::from(["PROTOCOL_ERROR", "VALIDATION"]));
}

#[test]
fn an_episode_without_its_server_is_lost_and_not_scored() {
    for mode in [Mode::Missing, Mode::Dies] {
        let (plan, records) = run_on_server(mode, 1);
        assert_eq!(records.episodes.len() as u64, plan.len());
        for row in &records.episodes {
            let cell = plan.cell(row.episode).unwrap();
            let refused = records.calls.iter().any(|call| call.episode == row.episode);
            // Only what the guardrails refuse needs no server.
            assert!(!refused || plan.conditions[cell.condition].guardrails.strict, "{row:?}");
            if !refused {
                assert_eq!(row.outcome, Outcome::Infra, "{row:?}");
            }
        }
    }
}

/// The state of a server is checked only at the end, which decides about the last write.
#[test]
fn the_last_write_is_no_wrong_repair_if_the_expectations_hold_at_the_end() {
    let with_note = SCENARIO
        .replace("name: {type: string}", "name: {type: string}\n            note: {type: string}")
        .replace("arguments: {name: Ada, role: editor}", "arguments: {name: Ada, role: editor, note: hi}");
    let never_met = with_note.replace("\nexpect:\n", "\nexpect:\n  - called: {tool: list_people}\n");
    for (text, end, outcome) in
        [(&with_note, ChainEnd::Fixed, Outcome::Success), (&never_met, ChainEnd::WrongRepair, Outcome::TaskFail)]
    {
        let (plan, records) = run_scenario(text, Mode::Works, 1);
        let mut ends = Vec::new();
        for row in &records.episodes {
            let calls = || records.calls.iter().filter(|call| call.episode == row.episode);
            let is_stub = plan.agents[plan.cell(row.episode).unwrap().agent].name == "stub";
            if is_stub && calls().count() == 2 {
                assert!(calls().all(|call| call.intended == Some(false)));
                assert_eq!(row.outcome, outcome);
                ends.extend(calls().map(|call| call.chain_end));
            }
        }
        assert!(!ends.is_empty() && ends.chunks(2).all(|pair| *pair == [None, Some(end)]), "{ends:?}");
    }
}
