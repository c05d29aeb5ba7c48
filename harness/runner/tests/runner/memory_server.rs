//! A server in memory: an environment with its own error texts, `structuredContent`, no telemetry, and no determinism.
//! Tests of several crates run on it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use healbench_agents::llm::{PriceTable, resolve_model};
use healbench_core::{
    Agent, AgentError, AgentKind, AgentSpec, CallResult, Capabilities, Condition, ContentBlock, Deadline, Environment,
    EnvironmentError, EnvironmentKind, EpisodeStart, ErrorFormat, Guardrails, Opening, Origin, Plan, ProtocolError,
    Reply, ReplyOutcome, Script, Seed, Session, ToolCall, ToolResponse, ToolSpec, Turn, TurnCost,
};
use healbench_reader::{ScriptedAgent, shipped_profile, shipped_profiles};
use healbench_runner::{Axes, Job, RunEvent, WorkerPool, build_plan, execute};
use healbench_scenarios::{Scenario, Syntax, load_str};
use healbench_store::EpisodeResult;
use serde_json::{Value, json};

pub(crate) const SCENARIO: &str = r#"
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
#[allow(dead_code, reason = "each crate uses some of them")]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mode {
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
        Capabilities { deterministic: false, state_is_cheap: false, call_timeout: Some(Duration::from_secs(60)) }
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
                protocol_error: Some(ProtocolError { code: -32602, message: message.to_owned(), data: None }),
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
        Ok(Reply { outcome: ReplyOutcome::Foreign(self.answer(call)), state_changed: None, struck: false })
    }

    fn check(&mut self, _: Deadline) -> Result<Vec<bool>, EnvironmentError> {
        Ok(vec![self.people.contains(&("Ada".to_owned(), "editor".to_owned()))])
    }
}

/// The name of the stub of a model.
pub(crate) const STUB: &str = "openai:stub";

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
        let call = ToolCall::new("invite", arguments);
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
pub(crate) fn agent_factory<F>(make: F) -> F
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
pub(crate) fn run_on_server(mode: Mode, trials: u32) -> (Plan, Vec<EpisodeResult>) {
    run_scenario(SCENARIO, mode, trials)
}

/// Runs another scenario of the server like [`run_on_server`].
pub(crate) fn run_scenario(text: &str, mode: Mode, trials: u32) -> (Plan, Vec<EpisodeResult>) {
    let scenarios = vec![scenario(text)];
    let mut agents: Vec<AgentSpec> = shipped_profiles().map(|name| shipped_profile(name).unwrap().spec(name)).collect();
    let model = resolve_model(STUB, &BTreeMap::new(), &PriceTable::shipped()).unwrap();
    agents.push(model.spec(STUB, Opening::Natural, AgentKind::Llm));
    let axes = Axes {
        agents,
        conditions: Condition::of_parts(&Guardrails::sweep("full").unwrap(), &[ErrorFormat::FusionXml]),
        trials,
        seed: Seed(1),
    };
    let environment = healbench_core::PlannedEnvironment { kind: EnvironmentKind::Mcp, server: Some("lab".to_owned()) };
    let plan = Plan { environment, ..build_plan(&axes, &scenarios) };
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
        episodes: (0..plan.len()).into(),
        pools: &[WorkerPool { costly: true, ..WorkerPool::of_all_agents(&plan, 2) }],
        make_agent: &make_agent,
        make_environment: Some(&make_environment),
    };
    let mut results = Vec::new();
    let executed = execute::<Infallible>(&job, None, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Rows(rows) = event {
            results.extend(rows);
        }
        Ok(())
    });
    assert!(executed.unwrap().stopped.is_none());
    results.sort_by_key(|result| result.episode.episode);
    (plan, results)
}
