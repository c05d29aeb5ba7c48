//! Checks every number of a report against a second computation from the transcripts of its episodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use healbench_analysis::{Rate, Report, ReportRow, RowMetric, summarize};
use healbench_core::{
    Agent, Condition, Deadline, Environment, EpisodeStart, ErrorFormat, Guardrails, Outcome, Plan, Records,
    ReplyOutcome, Script, Seed, Session, ToolCall, Turn, canonical_json, default_preamble,
};
use healbench_engine::WorldBase;
use healbench_frames::{FrameWriter, Rows};
use healbench_reader::{Profile, ScriptedAgent, shipped_profile, shipped_profiles};
use healbench_runner::{Axes, EpisodeEvent, Job, RunEvent, WorkerPool, build_plan, execute, replay};
use healbench_scenarios::{EpisodeState, Scenario, load_suite};
use healbench_store::{RunDir, RunManifest, RunStatus};
use healbench_tokens::TokenCounter;
use proptest::prelude::*;
use serde_json::json;

struct CallTrace {
    call: ToolCall,
    text: String,
    is_error: bool,
    class: Option<String>,
    named_fields: Option<Vec<String>>,
    leaked_fields: u64,
    state_changed: bool,
    is_intended: bool,
    told_answer: Option<bool>,
    /// The number of unmet expectations before and after the call.
    unmet: [usize; 2],
    /// The text of the failure without guardrails.
    bare_line: Option<String>,
    /// The notice that explains how to narrow a list.
    truncation_notice: Option<String>,
}

impl CallTrace {
    fn guardrail_tokens(&self, counter: &mut TokenCounter) -> u64 {
        match (&self.bare_line, &self.truncation_notice) {
            (Some(bare_line), _) => u64::from(counter.count(&self.text).saturating_sub(counter.count(bare_line))),
            (None, Some(truncation_notice)) => u64::from(counter.count(truncation_notice)),
            (None, None) => 0,
        }
    }
}

/// Everything that was said in an episode, in order.
enum Said {
    /// The agent took a turn, and received what fits into its context window.
    Turn,
    ByAgent(String),
    /// A call beyond the limit.
    Unmade(String),
    Response(String),
}

/// The messages and calls of one episode.
struct EpisodeTrace {
    prompt: String,
    preamble: String,
    context_window: u64,
    said: Vec<Said>,
    calls: Vec<CallTrace>,
    prose: Vec<String>,
    claims_done: bool,
    outcome: Outcome,
    scheduled: bool,
    perfect_calls: u64,
}

/// The calls that succeeded, made again in a session of their own.
struct Repetition<'a> {
    scenario: &'a Scenario,
    script: Script,
    session: Box<dyn Session + 'a>,
    succeeded: Vec<ToolCall>,
}

impl Repetition<'_> {
    fn count_unmet(&mut self) -> usize {
        let state = self.session.check(Deadline::NONE).unwrap();
        let episode =
            EpisodeState { state: &state, gave_up: false, succeeded: &self.succeeded, ..EpisodeState::default() };
        self.scenario.unmet(&episode).len()
    }

    /// Returns true if all arguments of an intended call are among those of the call.
    fn is_intended(&self, call: &ToolCall) -> bool {
        let contains = |intended: &ToolCall| {
            let given = call.object().map(|object| json!(object)).unwrap_or_default();
            let names = intended.object().unwrap();
            intended.tool == call.tool
                && names.iter().all(|(name, value)| canonical_json(&given[name]) == canonical_json(value))
        };
        self.script.steps.iter().any(|step| contains(&step.intended))
    }

    /// Makes the call if it succeeded, and returns the unmet expectations before and after it.
    fn repeat(&mut self, call: &ToolCall, is_error: bool) -> [usize; 2] {
        let before = self.count_unmet();
        if !is_error {
            let reply = self.session.call(call, Deadline::NONE).unwrap();
            assert!(!matches!(reply.outcome, ReplyOutcome::Failed(_)), "{call:?}");
            self.succeeded.push(call.clone());
        }
        [before, self.count_unmet()]
    }
}

fn trace_episode(job: &Job<'_>, episode: u64, profiles: &[Profile]) -> EpisodeTrace {
    let mut calls = Vec::new();
    let mut said = Vec::new();
    let (mut prose, mut claims_done, mut outcome) = (Vec::new(), false, None);
    let cell = job.plan.cell(episode).unwrap();
    let scenario = &job.scenarios[cell.scenario];
    let world = Arc::new(WorldBase::new(scenario.world(job.plan.seed, 0)));
    let simulator = scenario.simulator(Arc::clone(&world));
    let script = scenario.schedule(job.plan.seed, cell.trial, world.def()).script;
    let mut repetition = Repetition { scenario, script, session: simulator.open().unwrap(), succeeded: Vec::new() };
    let row = replay(job, episode, &mut |event| {
        said.extend(match &event {
            EpisodeEvent::Turn(
                Turn::Message { text } | Turn::Done { answer: text } | Turn::GiveUp { reason: text },
                _,
            ) => {
                vec![Said::Turn, Said::ByAgent(text.clone())]
            }
            // The calls beyond the limit are not made, and were said all the same.
            EpisodeEvent::Turn(Turn::Calls { calls: wanted, .. }, _) => {
                let left = scenario.task.max_calls as usize - calls.len();
                let unmade = wanted.iter().skip(left).map(|call| Said::Unmade(call.wire_text()));
                std::iter::once(Said::Turn).chain(unmade).collect()
            }
            EpisodeEvent::Turn(..) => vec![Said::Turn],
            EpisodeEvent::Call(call, answer, _) => {
                vec![Said::ByAgent(call.wire_text()), Said::Response(answer.response.text().into_owned())]
            }
            _ => Vec::new(),
        });
        match event {
            EpisodeEvent::Turn(Turn::Message { text }, _) => prose.push(text.clone()),
            EpisodeEvent::Turn(Turn::Done { answer }, _) => {
                prose.push(answer.clone());
                claims_done = true;
            }
            EpisodeEvent::Turn(Turn::GiveUp { reason }, _) => prose.push(reason.clone()),
            EpisodeEvent::Call(call, answer, row) => calls.push(CallTrace {
                call: call.clone(),
                text: answer.response.text().into_owned(),
                is_error: answer.response.is_error,
                class: answer.failure.as_ref().map(|failure| failure.class().to_string()),
                named_fields: answer.failure.as_ref().filter(|_| answer.names_fields).map(|failure| failure.fields()),
                leaked_fields: u64::from(answer.leaked_fields.unwrap()),
                state_changed: answer.state_changed.unwrap(),
                is_intended: repetition.is_intended(call),
                told_answer: row.told_answer,
                unmet: repetition.repeat(call, answer.response.is_error),
                bare_line: answer.unguarded_text(),
                truncation_notice: answer.truncation_notice.map(|block| answer.response.content[block].clone()),
            }),
            EpisodeEvent::End(ending, _) => outcome = Some(ending),
            _ => {}
        }
    });
    let (row, _) = row.unwrap().unwrap();
    EpisodeTrace {
        prompt: scenario.task.prompt.clone(),
        preamble: default_preamble(simulator.tools()),
        context_window: profiles[cell.agent].context_window,
        said,
        calls,
        prose,
        claims_done,
        outcome: outcome.unwrap(),
        scheduled: row.scheduled,
        perfect_calls: u64::from(row.perfect_calls),
    }
}

/// Returns the tokens that a model is billed for in the place of the agent, and those of responses that were never sent.
/// Every turn sends the preamble and the first texts of the conversation, as many tokens as fit into the window.
fn billed_and_unsent(episode: &EpisodeTrace, counter: &mut TokenCounter) -> (u64, u64) {
    let preamble = u64::from(counter.count(&episode.preamble));
    let room = episode.context_window.saturating_sub(preamble);
    // For each text where it begins and its tokens, and for each turn how much of the conversation it received.
    let mut conversation = vec![(0, u64::from(counter.count(&episode.prompt)), false)];
    let (mut received, mut output) = (Vec::new(), 0);
    for said in &episode.said {
        let (start, tokens, _) = conversation[conversation.len() - 1];
        let end = start + tokens;
        match said {
            Said::Turn => received.push(room.min(end)),
            Said::ByAgent(text) => {
                conversation.push((end, u64::from(counter.count(text)), false));
                output += u64::from(counter.count(text));
            }
            Said::Unmade(text) => output += u64::from(counter.count(text)),
            Said::Response(text) => conversation.push((end, u64::from(counter.count(text)), true)),
        }
    }
    let most = received.iter().copied().max().unwrap_or(0);
    let responses = conversation.iter().filter(|(.., is_response)| *is_response);
    let unsent = responses.map(|(start, tokens, _)| tokens - most.saturating_sub(*start).min(*tokens)).sum();
    let preamble = preamble.min(episode.context_window);
    (received.iter().map(|tokens| preamble + tokens).sum::<u64>() + output, unsent)
}

fn same_call(a: &CallTrace, b: &CallTrace) -> bool {
    a.call.tool == b.call.tool && canonical_json(&a.call.arguments) == canonical_json(&b.call.arguments)
}

/// Returns the top-level arguments that differ between two calls.
fn changed_arguments(before: &ToolCall, after: &ToolCall) -> Vec<String> {
    let side = |call: &ToolCall| call.object().cloned().unwrap_or_default();
    let (before, after) = (side(before), side(after));
    let mut names: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(name) != after.get(name));
    names
}

/// The state of an error chain.
#[derive(Clone, Copy, PartialEq)]
enum ChainState {
    Open,
    Fixed,
    WrongRepair,
}

/// Returns the chains of an episode: the number of calls of each, and its state at the end.
fn chains(episode_trace: &EpisodeTrace, scenario: &Scenario) -> Vec<(u64, ChainState)> {
    struct Chain {
        tool: String,
        action: Option<String>,
        calls: u64,
        state: ChainState,
    }
    let mut chains: Vec<Chain> = Vec::new();
    for trace in &episode_trace.calls {
        let tool = scenario.tools.iter().find(|tool| tool.name == trace.call.tool);
        let field = tool.and_then(|tool| tool.discriminator.as_deref());
        let action = field.and_then(|field| trace.call.object()?.get(field)?.as_str().map(str::to_owned));
        let lost = ["MISSING_DISCRIMINATOR", "UNKNOWN_ACTION", "UNKNOWN_TOOL"];
        let lost = trace.class.as_deref().is_some_and(|class| lost.contains(&class));
        let is_own =
            |chain: &Chain| chain.tool == trace.call.tool && (lost || chain.action.is_none() || chain.action == action);
        let open: Vec<usize> = (0..chains.len()).rev().filter(|at| chains[*at].state == ChainState::Open).collect();
        let own = open.iter().copied().find(|at| is_own(&chains[*at]));
        if trace.is_error {
            let at = own.unwrap_or(chains.len());
            if own.is_none() {
                let tool = trace.call.tool.clone();
                chains.push(Chain { tool, action: None, calls: 0, state: ChainState::Open });
            }
            chains[at].calls += 1;
            if !lost && chains[at].action.is_none() {
                chains[at].action = action;
            }
            continue;
        }
        let fixes = trace.unmet[1] < trace.unmet[0] || trace.is_intended && own.is_some();
        let is_wrong = trace.state_changed && !trace.is_intended;
        if let Some(at) = own.or(open.first().copied())
            && (fixes || is_wrong)
        {
            chains[at].calls += 1;
            // A call of the same action that only met an expectation is no repair of an episode that failed.
            let is_same = chains[at].tool == trace.call.tool && chains[at].action == action;
            let is_partial = is_same && !trace.is_intended && episode_trace.outcome != Outcome::Success;
            let is_fixed = fixes && !is_partial;
            chains[at].state = if is_fixed { ChainState::Fixed } else { ChainState::WrongRepair };
        }
    }
    chains.into_iter().map(|chain| (chain.calls, chain.state)).collect()
}

fn is_stuck(calls: &[CallTrace]) -> bool {
    let fails = |at: usize| calls[at].is_error;
    let row = (0..calls.len())
        .any(|at| at + 3 <= calls.len() && (at..at + 3).all(|next| fails(next) && same_call(&calls[next], &calls[at])));
    let turns = (0..calls.len()).any(|at| {
        at + 8 <= calls.len()
            && !same_call(&calls[at], &calls[at + 1])
            && (at..at + 8).all(|next| same_call(&calls[next], &calls[at + (next - at) % 2]))
            && (0..4).all(|pair| fails(at + 2 * pair) || fails(at + 2 * pair + 1))
    });
    let stuck = (0..calls.len()).any(|from| {
        let still = (from..calls.len()).take_while(|at| *at == from || !calls[*at].state_changed);
        fails(from) && still.filter(|at| fails(*at) && calls[*at].class == calls[from].class).count() >= 5
    });
    row || turns || stuck
}

/// Returns the numbers of a row by their names in the report.
fn expected_rates(traces: &[(EpisodeTrace, &Scenario)]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut counter = TokenCounter::new();
    let mut sums: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    let mut add = |name, numerator: u64, denominator: u64| {
        let sum = sums.entry(name).or_insert((0, 0));
        *sum = (sum.0 + numerator, sum.1 + denominator);
    };
    for (episode_trace, scenario) in traces {
        let ok = u64::from(episode_trace.outcome == Outcome::Success);
        let calls = &episode_trace.calls;
        let count = calls.len() as u64;
        add("success", ok, 1);
        add("calls_per_episode", count, 1);
        add("calls_per_success", count, ok);
        add("first_call_success", u64::from(calls.first().is_some_and(|trace| !trace.is_error)), 1);
        add("false_success", u64::from(episode_trace.claims_done && episode_trace.outcome == Outcome::TaskFail), 1);
        add("stuck", u64::from(is_stuck(calls)), 1);
        add("call_efficiency", episode_trace.perfect_calls, count);
        add("call_efficiency_of_successes", ok * episode_trace.perfect_calls, ok * count);
        if episode_trace.scheduled {
            add("episode_recovery", ok, 1);
        }
        let (mut all, mut wasted) = (0, 0);
        for trace in calls {
            let tokens = counter.count(&trace.call.wire_text()) + counter.count(&trace.text);
            all += u64::from(tokens);
            wasted += if trace.is_error { u64::from(tokens) } else { 0 };
        }
        let prose: u64 = episode_trace.prose.iter().map(|text| u64::from(counter.count(text))).sum();
        add("prose_tokens", prose, 0);
        add("guardrail_tokens", calls.iter().map(|trace| trace.guardrail_tokens(&mut counter)).sum(), 0);
        all += prose;
        let (billed, unsent) = billed_and_unsent(episode_trace, &mut counter);
        add("billed_tokens_per_episode", billed, 1);
        add("billed_tokens_per_success", billed, ok);
        add("unsent_tokens", unsent, 0);
        add("tokens_per_episode", all, 1);
        add("tokens_per_success", all, ok);
        add("wasted_tokens", wasted, all);
        add("leaked_fields", calls.iter().map(|trace| trace.leaked_fields).sum(), 0);
        let told: Vec<bool> = calls.iter().filter_map(|trace| trace.told_answer).collect();
        let errors = calls.iter().filter(|trace| trace.is_error).count();
        assert_eq!(told.len(), errors, "all scenarios have scripts");
        let tells = told.iter().filter(|told| **told).count() as u64;
        add("told_answer", tells, errors as u64);
        add("success_if_told", ok * u64::from(tells > 0), u64::from(tells > 0));
        let none = u64::from(errors > 0 && tells == 0);
        add("success_if_not_told", ok * none, none);
        let first_error = calls.iter().position(|trace| trace.is_error).unwrap_or(calls.len());
        for at in 0..calls.len() {
            let repeats = calls[..at].iter().any(|before| before.is_error && same_call(before, &calls[at]));
            add("repeated_calls", u64::from(repeats), u64::from(at > first_error));
            let named_fields = if at == 0 { None } else { calls[at - 1].named_fields.as_ref() };
            if let Some(named_fields) =
                named_fields.filter(|named_fields| !named_fields.is_empty() && calls[at - 1].is_error)
            {
                let followed = calls[at].call.tool == calls[at - 1].call.tool
                    && &changed_arguments(&calls[at - 1].call, &calls[at].call) == named_fields;
                add("hints_followed", u64::from(followed), 1);
            }
        }
        for (length, state) in chains(episode_trace, scenario) {
            let fixed = state == ChainState::Fixed;
            add("errors_fixed", u64::from(fixed), 1);
            add("wrong_repairs", u64::from(state == ChainState::WrongRepair), 1);
            add("fixed", u64::from(fixed), 0);
            add("censored", u64::from(!fixed), 0);
            for (name, k) in [("repair@1", 1), ("repair@2", 2), ("repair@3", 3)] {
                add(name, u64::from(fixed && length - 1 <= k), 1);
            }
        }
    }
    sums
}

fn reported_rates(row: &ReportRow) -> Vec<(&'static str, Rate)> {
    let mut rates = vec![
        ("success", row.rate(RowMetric::Success)),
        ("calls_per_episode", row.rate(RowMetric::CallsPerEpisode)),
        ("calls_per_success", row.rate(RowMetric::CallsPerSuccess)),
        ("first_call_success", row.rate(RowMetric::FirstCallSuccess)),
        ("false_success", row.rate(RowMetric::FalseSuccess)),
        ("stuck", row.rate(RowMetric::Stuck)),
        ("call_efficiency", row.rate(RowMetric::CallEfficiency)),
        ("call_efficiency_of_successes", row.rate(RowMetric::CallEfficiencyOfSuccesses)),
        ("prose_tokens", Rate::of(row.rate(RowMetric::ProseTokens).numerator, 0)),
        ("guardrail_tokens", Rate::of(row.rate(RowMetric::GuardrailTokens).numerator, 0)),
        ("fixed", Rate::of(row.retries.fixed, 0)),
        ("censored", Rate::of(row.retries.censored, 0)),
        ("episode_recovery", row.rate(RowMetric::Recovered)),
        ("billed_tokens_per_episode", row.rate(RowMetric::BilledTokensPerEpisode)),
        ("billed_tokens_per_success", row.rate(RowMetric::BilledTokensPerSuccess)),
        ("unsent_tokens", Rate::of(row.rate(RowMetric::UnsentTokens).numerator, 0)),
        ("tokens_per_episode", row.rate(RowMetric::TokensPerEpisode)),
        ("tokens_per_success", row.rate(RowMetric::TokensPerSuccess)),
        ("wasted_tokens", row.rate(RowMetric::WastedTokens)),
        ("leaked_fields", Rate::of(row.rate(RowMetric::LeakedFields).numerator, 0)),
        ("repeated_calls", row.rate(RowMetric::RepeatedCalls)),
        ("hints_followed", row.rate(RowMetric::HintsFollowed)),
        ("told_answer", row.rate(RowMetric::ToldAnswer)),
        ("success_if_told", row.rate(RowMetric::SuccessIfTold)),
        ("success_if_not_told", row.rate(RowMetric::SuccessIfNotTold)),
        ("errors_fixed", row.rate(RowMetric::ErrorsFixed)),
        ("wrong_repairs", row.rate(RowMetric::WrongRepairs)),
    ];
    rates
        .extend(["repair@1", "repair@2", "repair@3"].into_iter().zip(row.repair_at.iter().map(|repair| repair.chains)));
    rates
}

fn report(plan: &Plan, records: &Records) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let mut manifest = RunManifest {
        format_version: healbench_store::FORMAT_VERSION,
        healbench: String::new(),
        revision: None,
        command: String::new(),
        started: String::new(),
        finished: None,
        tokenizer: healbench_tokens::TOKENIZER.to_owned(),
        reader: None,
        imported: Vec::new(),
        shell_tools: Vec::new(),
        status: RunStatus::Complete,
        episodes_done: plan.len(),
        shards: None,
        cassettes: None,
        prices: None,
        changes: Vec::new(),
        files: Default::default(),
        replacing: Default::default(),
        plan: plan.clone(),
    };
    let run = RunDir::create(&folder.path().join("run"), &mut manifest, &[], None).unwrap().publish().unwrap().0;
    let mut writer = FrameWriter::create(&run, plan).unwrap();
    writer.write(records).unwrap();
    writer.finish().unwrap();
    summarize(&Rows(&run), &manifest, healbench_analysis::Scope::Full).unwrap()
}

fn agent_factory(
    profiles: &[Profile],
) -> impl for<'s> Fn(usize, EpisodeStart<'s>, Option<&'s Script>) -> Box<dyn Agent + 's> + Sync + '_ {
    |index, start, script| Box::new(ScriptedAgent::new(&profiles[index], start, script.unwrap()))
}

fn scenarios() -> Vec<Scenario> {
    // Suites with long lists are left out: they are slow and add no cases. A call that fails by design is no error, which is not modelled here.
    ["fields", "values", "strictness", "hostile", "quickstart/rate-limit", "quickstart/new-required-field"]
        .iter()
        .flat_map(|suite| load_suite(&[suite.into()]).unwrap())
        .filter(|scenario| {
            let world = scenario.world(Seed(1), 0);
            scenario.schedule(Seed(1), 0, &world).script.steps.iter().all(|step| step.fails.is_none())
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_metric_matches_the_traces(
        seed in 0_u64..1000,
        trials in 1_u32..4,
        chosen in proptest::sample::subsequence(scenarios(), 1..5),
        names in proptest::sample::subsequence(shipped_profiles().collect::<Vec<_>>(), 2),
        bits in proptest::sample::subsequence((0_u8..16).collect::<Vec<_>>(), 2),
        format in proptest::sample::select(ErrorFormat::named().map(|entry| entry.format.clone()).collect::<Vec<_>>()),
        context_window in prop_oneof![Just(128_000), 2000_u64..4000],
    ) {
        let profile = |name: &&str| Profile { context_window, ..shipped_profile(name).unwrap() };
        let profiles: Vec<Profile> = names.iter().map(profile).collect();
        let axes = Axes {
            agents: names.iter().zip(&profiles).map(|(name, profile)| profile.spec(name)).collect(),
            conditions: Condition::of_parts(&bits.iter().map(|bits| Guardrails::from_bits(usize::from(*bits))).collect::<Vec<_>>(), &[format]),
            trials,
            seed: Seed(seed),
        };
        let plan = build_plan(&axes, &chosen);
        let make_agent = agent_factory(&profiles);
        let pools = [WorkerPool::of_all_agents(&plan, 2)];
        let episodes = (0..plan.len()).into();
        let job = Job { plan: &plan, scenarios: &chosen, episodes, pools: &pools, make_agent: &make_agent, make_environment: None };
        let mut records = Records::default();
        execute::<std::convert::Infallible>(&job, None, &AtomicBool::new(false), &mut |event| {
            if let RunEvent::Finished(results) = event {
                records.episodes.extend(results.iter().map(|result| result.episode.clone()));
                records.calls.extend(results.iter().flat_map(|result| result.calls.clone()));
            }
            Ok(())
        }).unwrap();
        let report = report(&plan, &records);
        for (agent, found) in report.agents.iter().enumerate() {
            for (condition, row) in found.rows.iter().enumerate() {
                let cell_traces = (0..plan.len()).filter_map(|episode| {
                    let cell = plan.cell(episode)?;
                    let in_cell = (cell.agent, cell.condition) == (agent, condition);
                    in_cell.then(|| (trace_episode(&job, episode, &profiles), &chosen[cell.scenario]))
                });
                let expected_rates = expected_rates(&cell_traces.collect::<Vec<_>>());
                for (name, rate) in reported_rates(row) {
                    let expected = expected_rates.get(name).copied().unwrap_or_default();
                    prop_assert_eq!((rate.numerator, rate.denominator), expected, "{} of {}", name, found.agent);
                }
            }
        }
    }
}
