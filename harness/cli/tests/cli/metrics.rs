//! Checks every number of a report against a second computation from the transcripts of its episodes.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use healbench_analysis::{Rate, Report, ReportRow, RowMetric, summarize};
use healbench_core::{Agent, Condition, EpisodeStart, ErrorFormat, Guardrails, Outcome, Plan, Records, Script, Seed};
use healbench_frames::{FrameWriter, Rows};
use healbench_reader::{Profile, ScriptedAgent, shipped_profile, shipped_profiles};
use healbench_runner::{Axes, Job, RunEvent, WorkerPool, build_plan, execute};
use healbench_scenarios::{Scenario, load_suite};
use healbench_store::{RunDir, RunManifest, RunStatus};
use healbench_tokens::TokenCounter;
use proptest::prelude::*;

use super::metrics_trace::{
    ChainState, EpisodeTrace, billed_and_unsent, chains, changed_arguments, is_stuck, same_call, trace_episode,
};

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
