//! Every number of a report, held against a slow and plain second computation from the transcripts of its episodes.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use healbench_agents::scripted::{Profile, ScriptedAgent, scripted, shipped};
use healbench_protocol::{Agent, EpisodeStart, ErrorFormat, Guardrails, Seed, ToolCall, Turn, canonical_json};
use healbench_record::{Outcome, Plan, Records, RunDir, RunManifest, RunStatus};
use healbench_reports::{FrameWriter, Rate, Report, ReportRow, summarise};
use healbench_runner::{Axes, EpisodeEvent, Job, RunEvent, TokenCounter, build_plan, replay, run};
use healbench_scenarios::{Scenario, load_suite};
use proptest::prelude::*;

/// One call of a transcript.
struct Said {
    call: ToolCall,
    text: String,
    is_error: bool,
    class: Option<String>,
    named: Option<Vec<String>>,
    leaked: u64,
    changed_world: bool,
    /// What a raw server would have said of the failure.
    bare: Option<String>,
    /// The block that teaches how to narrow a list.
    lesson: Option<String>,
}

impl Said {
    /// Tokens that guardrails added to the response.
    fn added(&self, counter: &mut TokenCounter) -> u64 {
        match (&self.bare, &self.lesson) {
            (Some(bare), _) => u64::from(counter.count(&self.text).saturating_sub(counter.count(bare))),
            (None, Some(lesson)) => u64::from(counter.count(lesson)),
            (None, None) => 0,
        }
    }
}

/// What was said and done in one episode.
struct Transcript {
    calls: Vec<Said>,
    prose: Vec<String>,
    claims_done: bool,
    outcome: Outcome,
    scheduled: bool,
    perfect_calls: u64,
}

fn transcript(job: &Job<'_>, episode: u64) -> Transcript {
    let mut calls = Vec::new();
    let (mut prose, mut claims_done, mut outcome) = (Vec::new(), false, None);
    let row = replay(job, episode, &mut |event| match event {
        EpisodeEvent::Turn(Turn::Message { text }, _) => prose.push(text.clone()),
        EpisodeEvent::Turn(Turn::Done { answer }, _) => {
            prose.push(answer.clone());
            claims_done = true;
        }
        EpisodeEvent::Turn(Turn::GiveUp { reason }, _) => prose.push(reason.clone()),
        EpisodeEvent::Call(call, answer, _) => calls.push(Said {
            call: call.clone(),
            text: answer.response.text().into_owned(),
            is_error: answer.response.is_error,
            class: answer.failure.as_ref().map(|failure| failure.class().to_owned()),
            named: answer.failure.as_ref().filter(|_| answer.names_fields).map(|failure| failure.fields()),
            leaked: u64::from(answer.leaked_fields),
            changed_world: answer.state_changed,
            bare: answer.bare_line(),
            lesson: answer.truncation_notice.map(|block| answer.response.content[block].clone()),
        }),
        EpisodeEvent::End(ending, _) => outcome = Some(ending),
        _ => {}
    });
    let (row, _) = row.unwrap().unwrap();
    Transcript {
        calls,
        prose,
        claims_done,
        outcome: outcome.unwrap(),
        scheduled: row.scheduled,
        perfect_calls: u64::from(row.perfect_calls),
    }
}

fn same(a: &Said, b: &Said) -> bool {
    a.call.tool == b.call.tool && canonical_json(&a.call.arguments) == canonical_json(&b.call.arguments)
}

/// The top-level arguments that differ between two calls.
fn changed(before: &ToolCall, after: &ToolCall) -> Vec<String> {
    let side = |call: &ToolCall| call.object().cloned().unwrap_or_default();
    let (before, after) = (side(before), side(after));
    let mut names: Vec<String> = before.keys().chain(after.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| before.get(name) != after.get(name));
    names
}

/// The chains of an episode: how many calls each has, and whether it was fixed.
fn chains(transcript: &Transcript, scenario: &Scenario) -> Vec<(u64, bool)> {
    struct Chain {
        tool: String,
        action: Option<String>,
        calls: u64,
        fixed: bool,
    }
    let mut chains: Vec<Chain> = Vec::new();
    for said in &transcript.calls {
        let tool = scenario.tools.iter().find(|tool| tool.name == said.call.tool);
        let field = tool.and_then(|tool| tool.discriminator.as_deref());
        let action = field.and_then(|field| said.call.object()?.get(field)?.as_str().map(str::to_owned));
        let lost = ["MISSING_DISCRIMINATOR", "UNKNOWN_ACTION", "UNKNOWN_TOOL"];
        let lost = said.class.as_deref().is_some_and(|class| lost.contains(&class));
        let mut open = chains.iter_mut().rev().filter(|chain| !chain.fixed && chain.tool == said.call.tool);
        match open.find(|chain| lost || chain.action.is_none() || chain.action == action) {
            Some(chain) => {
                chain.calls += 1;
                chain.fixed = !said.is_error;
                if !lost && said.is_error && chain.action.is_none() {
                    chain.action = action;
                }
            }
            None if said.is_error => chains.push(Chain {
                tool: said.call.tool.clone(),
                action: action.filter(|_| !lost),
                calls: 1,
                fixed: false,
            }),
            None => {}
        }
    }
    chains.into_iter().map(|chain| (chain.calls, chain.fixed)).collect()
}

fn spirals(calls: &[Said]) -> bool {
    let fails = |at: usize| calls[at].is_error;
    let row = (0..calls.len())
        .any(|at| at + 3 <= calls.len() && (at..at + 3).all(|next| fails(next) && same(&calls[next], &calls[at])));
    let turns = (0..calls.len()).any(|at| {
        at + 8 <= calls.len()
            && !same(&calls[at], &calls[at + 1])
            && (at..at + 8).all(|next| same(&calls[next], &calls[at + (next - at) % 2]))
            && (0..4).all(|pair| fails(at + 2 * pair) || fails(at + 2 * pair + 1))
    });
    let stuck = (0..calls.len()).any(|from| {
        let still = (from..calls.len()).take_while(|at| *at == from || !calls[*at].changed_world);
        fails(from) && still.filter(|at| fails(*at) && calls[*at].class == calls[from].class).count() >= 5
    });
    row || turns || stuck
}

/// The numbers of a row, by their names in the report.
fn slow(transcripts: &[(Transcript, &Scenario)]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut counter = TokenCounter::new();
    let mut sums: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    let mut add = |name, numerator: u64, denominator: u64| {
        let sum = sums.entry(name).or_insert((0, 0));
        *sum = (sum.0 + numerator, sum.1 + denominator);
    };
    for (transcript, scenario) in transcripts {
        let ok = u64::from(transcript.outcome == Outcome::Success);
        let calls = &transcript.calls;
        let count = calls.len() as u64;
        add("success", ok, 1);
        add("calls_per_episode", count, 1);
        add("calls_per_success", count, ok);
        add("first_call_success", u64::from(calls.first().is_some_and(|said| !said.is_error)), 1);
        add("false_success", u64::from(transcript.claims_done && transcript.outcome == Outcome::TaskFail), 1);
        add("stuck", u64::from(spirals(calls)), 1);
        add("call_efficiency", transcript.perfect_calls, count);
        add("call_efficiency_of_successes", ok * transcript.perfect_calls, ok * count);
        if transcript.scheduled {
            add("episode_recovery", ok, 1);
        }
        let (mut all, mut wasted) = (0, 0);
        for said in calls {
            let tokens = counter.count(&said.call.wire_text()) + counter.count(&said.text);
            all += u64::from(tokens);
            wasted += if said.is_error { u64::from(tokens) } else { 0 };
        }
        let prose: u64 = transcript.prose.iter().map(|text| u64::from(counter.count(text))).sum();
        add("prose_tokens", prose, 0);
        add("guardrail_tokens", calls.iter().map(|said| said.added(&mut counter)).sum(), 0);
        all += prose;
        add("tokens_per_episode", all, 1);
        add("tokens_per_success", all, ok);
        add("wasted_tokens", wasted, all);
        add("leaked_fields", calls.iter().map(|said| said.leaked).sum(), 0);
        let first_error = calls.iter().position(|said| said.is_error).unwrap_or(calls.len());
        for at in 0..calls.len() {
            let repeats = calls[..at].iter().any(|before| before.is_error && same(before, &calls[at]));
            add("repeated_calls", u64::from(repeats), u64::from(at > first_error));
            let named = if at == 0 { None } else { calls[at - 1].named.as_ref() };
            if let Some(named) = named.filter(|named| !named.is_empty() && calls[at - 1].is_error) {
                let took = calls[at].call.tool == calls[at - 1].call.tool
                    && &changed(&calls[at - 1].call, &calls[at].call) == named;
                add("hints_followed", u64::from(took), 1);
            }
        }
        for (length, fixed) in chains(transcript, scenario) {
            add("errors_fixed", u64::from(fixed), 1);
            add("fixed", u64::from(fixed), 0);
            add("censored", u64::from(!fixed), 0);
            for (name, k) in [("repair@1", 1), ("repair@2", 2), ("repair@3", 3)] {
                add(name, u64::from(fixed && length - 1 <= k), 1);
            }
        }
    }
    sums
}

fn reported(row: &ReportRow) -> Vec<(&'static str, Rate)> {
    let mut rates = vec![
        ("success", row.success),
        ("calls_per_episode", row.calls_per_episode),
        ("calls_per_success", row.calls_per_success),
        ("first_call_success", row.first_call_success),
        ("false_success", row.false_success),
        ("stuck", row.stuck),
        ("call_efficiency", row.call_efficiency),
        ("call_efficiency_of_successes", row.call_efficiency_of_successes),
        ("prose_tokens", Rate::of(row.prose_tokens, 0)),
        ("guardrail_tokens", Rate::of(row.guardrail_tokens, 0)),
        ("fixed", Rate::of(row.retries.fixed, 0)),
        ("censored", Rate::of(row.retries.censored, 0)),
        ("episode_recovery", row.episode_recovery),
        ("tokens_per_episode", row.tokens_per_episode),
        ("tokens_per_success", row.tokens_per_success),
        ("wasted_tokens", row.wasted_tokens),
        ("leaked_fields", Rate::of(row.leaked_fields, 0)),
        ("repeated_calls", row.repeated_calls),
        ("hints_followed", row.hints_followed),
        ("errors_fixed", row.errors_fixed),
    ];
    rates
        .extend(["repair@1", "repair@2", "repair@3"].into_iter().zip(row.repair_at.iter().map(|repair| repair.chains)));
    rates
}

fn report(plan: &Plan, records: &Records) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let manifest = RunManifest {
        format_version: healbench_record::FORMAT_VERSION,
        healbench: String::new(),
        revision: None,
        command: String::new(),
        started: String::new(),
        tokenizer: healbench_runner::TOKENIZER.to_owned(),
        status: RunStatus::Complete,
        episodes_done: plan.len(),
        shard: None,
        cassettes: None,
        prices: None,
        plan: plan.clone(),
    };
    let run = RunDir::create(&folder.path().join("run"), &manifest, &[]).unwrap();
    let mut writer = FrameWriter::create(&run, plan).unwrap();
    writer.write(records).unwrap();
    writer.finish().unwrap();
    summarise(&run, &manifest, healbench_reports::Scope::Whole).unwrap()
}

fn maker(profiles: &[Profile]) -> impl for<'s> Fn(usize, EpisodeStart<'s>) -> Box<dyn Agent + 's> + Sync + '_ {
    |index, start| Box::new(ScriptedAgent::new(&profiles[index], start))
}

fn scenarios() -> Vec<Scenario> {
    // Suites without lists of thousands of rows, which would make this slow and tell nothing more.
    ["recovery", "validation", "routing", "controls", "hostile", "compound", "contract-drift"]
        .iter()
        .flat_map(|suite| load_suite(&[suite.into()]).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn every_metric_is_what_the_transcripts_say(
        seed in 0_u64..1000,
        trials in 1_u32..4,
        chosen in proptest::sample::subsequence(scenarios(), 1..5),
        names in proptest::sample::subsequence(shipped().collect::<Vec<_>>(), 2),
        bits in proptest::sample::subsequence((0_u8..16).collect::<Vec<_>>(), 2),
        format in proptest::sample::select(ErrorFormat::NAMED.to_vec()),
    ) {
        let profiles: Vec<Profile> = names.iter().map(|name| scripted(name).unwrap()).collect();
        let axes = Axes {
            agents: names.iter().zip(&profiles).map(|(name, profile)| profile.spec(name)).collect(),
            guardrails: bits.iter().map(|bits| Guardrails::from_bits(*bits)).collect(),
            formats: vec![format],
            trials,
            seed: Seed(seed),
        };
        let plan = build_plan(&axes, &chosen);
        let make_agent = maker(&profiles);
        let job =
            Job { plan: &plan, scenarios: &chosen, episodes: 0..plan.len(), jobs: 2, make_agent: &make_agent };
        let mut records = Records::default();
        run::<std::convert::Infallible>(&job, &AtomicBool::new(false), &mut |event| {
            if let RunEvent::Episodes { records: more, .. } = event {
                records.episodes.extend(more.episodes);
                records.calls.extend(more.calls);
            }
            Ok(())
        }).unwrap();
        let report = report(&plan, &records);
        for (agent, found) in report.agents.iter().enumerate() {
            for (condition, row) in found.rows.iter().enumerate() {
                let mine = (0..plan.len()).filter_map(|episode| {
                    let cell = plan.cell(episode)?;
                    let mine = (cell.agent, cell.condition) == (agent, condition);
                    mine.then(|| (transcript(&job, episode), &chosen[cell.scenario]))
                });
                let slow = slow(&mine.collect::<Vec<_>>());
                for (name, rate) in reported(row) {
                    let expected = slow.get(name).copied().unwrap_or_default();
                    prop_assert_eq!((rate.numerator, rate.denominator), expected, "{} of {}", name, found.agent);
                }
            }
        }
    }
}
