//! Tests of baselines and of gate decisions.

use crate::sample::{manifest, plan, records, run_with};
use healbench_analysis::gate::{
    GateReport, GateRow, IncompatibleRuns, NamedBaseline, Policy, Subject, Tier, Verdict, gate,
};
use healbench_analysis::statistics::{GATE_CONFIDENCE, paired_non_inferiority, pairs_to_settle, tango};
use healbench_analysis::{Baseline, BaselineError, BlessError, Metric};
use healbench_core::{AgentKind, Outcome, Plan, Records};
use healbench_frames::Rows;
use healbench_store::RunStatus;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a plan with two scripted agents, whose rows are reproducible.
pub(crate) fn deterministic_plan(trials: u32) -> Plan {
    let mut plan = plan(trials);
    plan.agents[1].kind = AgentKind::Replay;
    plan
}

pub(crate) fn complete_records(plan: &Plan) -> Records {
    let mut records = records(plan);
    for row in &mut records.episodes {
        if !row.outcome.is_scored() {
            row.outcome = Outcome::Limit;
        }
    }
    records
}

pub(crate) fn baseline(plan: &Plan, records: &Records) -> Baseline {
    let (_folder, run) = run_with(plan, records);
    Baseline::from_run(&Rows(&run), &manifest(plan), 0.0).unwrap()
}

pub(crate) fn run_gate(base: &Baseline, candidate: &Baseline, policy: &Policy) -> Result<GateReport, IncompatibleRuns> {
    let side = NamedBaseline::summary;
    gate(side("base", base), side("candidate", candidate), policy)
}

fn run_default_gate(base: &Baseline, candidate: &Baseline) -> GateReport {
    run_gate(base, candidate, &Policy::default()).unwrap()
}

/// Returns the rows that do not pass: agent and condition, metric, verdict, and changed scenarios.
pub(crate) fn failing_rows(report: &GateReport) -> BTreeSet<String> {
    let format_row = |row: &GateRow| {
        let subject = match &row.subject {
            Subject::Cell { agent, guardrails, format, .. } => format!("{agent} {guardrails} {format}"),
            Subject::Variants { pair } => pair.clone(),
            Subject::Run { run } => run.clone(),
        };
        let scenarios: Vec<&str> = row.changes.iter().map(|change| change.scenario.as_str()).collect();
        format!("{} {subject}: {} [{}]", row.verdict.name(), row.metric, scenarios.join(" "))
    };
    report.rows.iter().filter(|row| row.verdict != Verdict::Pass).map(format_row).collect()
}

#[test]
fn a_baseline_reads_back() {
    let plan = deterministic_plan(7);
    let kept = baseline(&plan, &complete_records(&plan));
    let text = kept.to_text();
    assert_eq!(Baseline::parse(&text), Ok(kept.clone()));
    assert_eq!(kept.cells.len(), 6);
    let lines: usize = kept.cells.values().map(BTreeMap::len).sum();
    assert_eq!(lines, 18);
    // The lines are sorted, one per scenario and cell.
    assert_eq!(text.lines().filter(|line| line.contains("outcomes = ")).count(), lines);
    insta::assert_snapshot!(text);
}

#[test]
fn a_baseline_adds_up_what_the_rows_say() {
    let plan = deterministic_plan(7);
    let records = complete_records(&plan);
    let kept = baseline(&plan, &records);
    for (cell, lines) in &kept.cells {
        for (scenario, line) in lines {
            let mine = |row: &&healbench_core::EpisodeRecord| {
                let place = plan.cell(row.episode).unwrap();
                let condition = &plan.conditions[place.condition];
                plan.scenarios[place.scenario].id == *scenario
                    && cell.agent == plan.agents[place.agent].id()
                    && (condition.guardrails(), condition.format().to_string())
                        == (cell.guardrails, cell.format.clone())
            };
            let rows: Vec<_> = records.episodes.iter().filter(mine).collect();
            assert_eq!(rows.len(), 7);
            let outcomes: Vec<Outcome> = line.outcomes.iter().map(|ending| ending.outcome).collect();
            assert_eq!(outcomes, rows.iter().map(|row| row.outcome).collect::<Vec<_>>());
            let calls: u32 = rows.iter().map(|row| row.calls).sum();
            let tokens: u64 =
                rows.iter().map(|row| row.counts.call_tokens + u64::from(row.prose_tokens.unwrap())).sum();
            assert_eq!(line.sum(Metric::Calls).total, f64::from(calls));
            assert_eq!((line.sum(Metric::Tokens).total, line.sum(Metric::Tokens).count), (tokens as f64, 7));
            let successes = rows.iter().filter(|row| row.outcome == Outcome::Success).count();
            assert_eq!(line.sum(Metric::Success).total, successes as f64);
        }
    }
}

#[test]
fn an_edited_baseline_is_refused() {
    let plan = deterministic_plan(3);
    let text = baseline(&plan, &complete_records(&plan)).to_text();
    let cut = &text[..text.len() / 2];
    assert!(matches!(Baseline::parse(cut), Err(BaselineError::Edited { .. })));
    let edited = text.replacen("calls = ", "calls = 1", 1);
    assert!(matches!(Baseline::parse(&edited), Err(BaselineError::Edited { .. })));
    for version in [1, 3] {
        let other = text.replacen("version = 2", &format!("version = {version}"), 1);
        assert_eq!(Baseline::parse(&other), Err(BaselineError::Version { found: version }));
    }
    for foreign in ["", "version = 2\n", "{}"] {
        assert_eq!(Baseline::parse(foreign), Err(BaselineError::NotABaseline), "{foreign}");
    }
    // Texts with a correct hash that are not baselines.
    for body in ["version = 2\n", "version = 2\nluck = 2\n", "[[["] {
        let text = format!("# healbench baseline {}\n{body}", healbench_core::fingerprint(body.as_bytes()));
        assert!(matches!(Baseline::parse(&text), Err(BaselineError::Shape(_))), "{body}");
    }
}

#[test]
fn only_a_complete_run_is_blessed() {
    let plan = deterministic_plan(3);
    let (_folder, run) = run_with(&plan, &complete_records(&plan));
    let mut interrupted = manifest(&plan);
    interrupted.status = RunStatus::Interrupted;
    assert!(matches!(Baseline::from_run(&Rows(&run), &interrupted, 1.0), Err(BlessError::Incomplete { .. })));
    let mut shard = manifest(&plan);
    shard.shards = Some("1/2".parse().unwrap());
    assert!(matches!(Baseline::from_run(&Rows(&run), &shard, 1.0), Err(BlessError::Shard(_))));
    // A manifest with more episodes than the frames.
    let mut fewer = complete_records(&plan);
    let removed = fewer.episodes.pop().unwrap().episode;
    fewer.calls.retain(|call| call.episode != removed);
    let (_folder, run) = run_with(&plan, &fewer);
    assert!(matches!(Baseline::from_run(&Rows(&run), &manifest(&plan), 1.0), Err(BlessError::Incomplete { .. })));
    // One of 54 episodes is lost: within 2% but not within 1%.
    let mut lost = complete_records(&plan);
    lost.episodes[4].outcome = Outcome::Infra;
    let (_folder, run) = run_with(&plan, &lost);
    assert!(Baseline::from_run(&Rows(&run), &manifest(&plan), 0.02).is_ok());
    assert!(matches!(Baseline::from_run(&Rows(&run), &manifest(&plan), 0.01), Err(BlessError::Lost { lost: 1, .. })));
    lost.episodes[4].outcome = Outcome::Config;
    let (_folder, run) = run_with(&plan, &lost);
    assert!(matches!(Baseline::from_run(&Rows(&run), &manifest(&plan), 1.0), Err(BlessError::Config { lost: 1, .. })));
}

#[test]
fn the_same_again_passes() {
    let plan = deterministic_plan(5);
    let kept = baseline(&plan, &complete_records(&plan));
    let report = run_default_gate(&kept, &kept);
    assert_eq!((report.verdict, failing_rows(&report)), (Verdict::Pass, BTreeSet::new()));
    // Two rows about lost episodes; in each cell one row per metric and one for the rest. Cells of a scripted agent have
    // no row for the cost.
    assert_eq!(report.rows.len(), 2 + 3 * 13 + 3 * 14);
}

#[test]
fn one_token_more_fails_its_row_and_no_other() {
    let plan = deterministic_plan(5);
    let mut after = complete_records(&plan);
    *after.episodes[5].prose_tokens.as_mut().unwrap() += 1;
    let report = run_default_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after));
    assert_eq!(report.verdict, Verdict::Fail);
    let place = plan.cell(5).unwrap();
    assert_eq!((place.agent, place.condition, place.scenario), (0, 1, 0));
    assert_eq!(
        failing_rows(&report),
        BTreeSet::from(["FAIL scripted:typical all fusion-xml: tokens [billing/new-currency]".into()])
    );
}

#[test]
fn a_difference_that_no_sum_shows_is_a_change() {
    let plan = deterministic_plan(5);
    let mut after = complete_records(&plan);
    // The largest response of an episode is not a metric of the gate.
    after.episodes[5].counts.largest_response += 1;
    let report = run_default_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after));
    assert_eq!(
        failing_rows(&report),
        BTreeSet::from(["FAIL scripted:typical all fusion-xml: rows [billing/new-currency]".into()])
    );
    // Neither are the arguments of a call.
    let mut after = complete_records(&plan);
    let call = after.calls.iter_mut().find(|call| call.episode >= 15).unwrap();
    call.arguments = "{}".into();
    let report = run_default_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after));
    assert_eq!((report.verdict, failing_rows(&report).len()), (Verdict::Fail, 1));
    // Neither is a response with the same number of tokens.
    let mut after = complete_records(&plan);
    let call = after.calls.iter_mut().find(|call| call.episode >= 15).unwrap();
    call.response_hash ^= 1;
    let report = run_default_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after));
    assert_eq!(
        failing_rows(&report),
        BTreeSet::from(["FAIL openai:gpt-5-mini · seeded · prompt none bare: rows [billing/new-currency]".into()])
    );
    // A policy may make these rows advisory.
    let policy = Policy::parse("gate.toml", "[deterministic]\nadvisory = [\"rows\"]\n").unwrap();
    let report = run_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after), &policy).unwrap();
    assert_eq!((report.verdict, failing_rows(&report).len()), (Verdict::Pass, 1));
}

#[test]
fn an_ending_that_is_another_one_is_a_change_of_success() {
    let plan = deterministic_plan(5);
    let mut after = complete_records(&plan);
    let row = after.episodes.iter_mut().find(|row| row.outcome == Outcome::Limit).unwrap();
    row.outcome = Outcome::GaveUp;
    let report = run_default_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after));
    let metrics: Vec<&str> =
        report.rows.iter().filter(|row| row.verdict == Verdict::Fail).map(|row| row.metric.as_str()).collect();
    assert_eq!(metrics, ["success"]);
}

#[test]
fn cells_that_are_not_on_both_sides_are_missing() {
    let plan = deterministic_plan(4);
    let mut small = plan.clone();
    small.conditions.remove(2);
    let (big, small) = (baseline(&plan, &complete_records(&plan)), baseline(&small, &complete_records(&small)));
    let missing = |report: &GateReport| report.counts.get("MISSING").copied();
    assert_eq!(missing(&run_default_gate(&big, &small)), Some(2));
    assert_eq!(missing(&run_default_gate(&small, &big)), Some(2));
    // Requirements of a custom policy.
    let text = "[[require]]\nagent = \"scripted:perfect\"\nguardrails = \"all\"\nformat = \"serde\"\n";
    let policy = Policy::parse("gate.toml", text).unwrap();
    let report = run_gate(&big, &big, &policy).unwrap();
    assert_eq!((report.verdict, failing_rows(&report).len()), (Verdict::Missing, 1));
}

#[test]
fn incompatible_runs_are_refused_with_the_first_difference() {
    let plan = deterministic_plan(4);
    let base = baseline(&plan, &complete_records(&plan));
    let refused = |change: &dyn Fn(&mut Baseline)| {
        let mut other = base.clone();
        change(&mut other);
        run_gate(&base, &other, &Policy::default()).unwrap_err()
    };
    let property = |change: &dyn Fn(&mut Baseline)| refused(change).property;
    assert_eq!(property(&|other| other.seed = 8), "the seed");
    assert_eq!(property(&|other| other.trials = 9), "the number of trials");
    assert_eq!(property(&|other| other.run_format += 1), "the run format");
    assert_eq!(property(&|other| other.tokenizer = "cl100k_base".to_owned()), "the tokenizer");
    assert_eq!(property(&|other| other.prices = Some("2026-01-01 ab".to_owned())), "the price table");
    let scripted = plan.agents[0].id();
    let set = |other: &mut Baseline, settings: &str, all: &str| {
        let agent = other.agents.get_mut(&scripted).unwrap();
        (agent.settings, agent.all_settings) = (settings.to_owned(), all.to_owned());
    };
    assert_eq!(property(&|other| set(other, "x", "y")), "the settings of agent `scripted:typical`");
    // A baseline of an earlier version has the hash of all settings.
    let mut earlier = base.clone();
    set(&mut earlier, "all", "all");
    let mut run = base.clone();
    set(&mut run, "some", "all");
    assert!(run_gate(&earlier, &run, &Policy::default()).is_ok());
    // Nothing is left to compare.
    let texts = |other: &mut Baseline| other.scenarios.values_mut().for_each(|scenario| scenario.text = "x".to_owned());
    assert_eq!(property(&texts), "no scenario is the same: `billing/new-currency`");
}

/// Returns the baseline of a run with a live model agent whose episodes succeed according to `succeeds`.
pub(crate) fn stochastic_baseline(trials: u32, succeeds: impl Fn(u32, usize) -> bool) -> Baseline {
    let mut plan = plan(trials);
    plan.agents.remove(0);
    plan.conditions.truncate(1);
    let mut records = complete_records(&plan);
    for row in &mut records.episodes {
        let place = plan.cell(row.episode).unwrap();
        row.claimed_done = true;
        row.outcome = if succeeds(place.trial, place.scenario) { Outcome::Success } else { Outcome::GaveUp };
    }
    baseline(&plan, &records)
}

fn success_row(report: &GateReport) -> &GateRow {
    report.rows.iter().find(|row| row.metric == "success").unwrap()
}

#[test]
fn a_stochastic_model_is_held_to_a_margin() {
    let base = stochastic_baseline(60, |trial, _| trial % 4 != 0);
    // Identical rows: 180 pairs, none discordant.
    let report = run_default_gate(&base, &base);
    assert_eq!((success_row(&report).verdict, success_row(&report).pairs), (Verdict::Pass, Some(180)));
    // Half of the successes are lost.
    let worse = stochastic_baseline(60, |trial, _| trial % 4 == 1);
    let report = run_default_gate(&base, &worse);
    assert_eq!((report.verdict, success_row(&report).verdict), (Verdict::Fail, Verdict::Fail));
    // A small difference among few pairs is inconclusive.
    let (few, fewer) = (
        stochastic_baseline(5, |trial, _| trial != 0),
        stochastic_baseline(5, |trial, scenario| trial != 0 && (trial, scenario) != (1, 1)),
    );
    let report = run_default_gate(&few, &fewer);
    let row = success_row(&report);
    assert_eq!((report.verdict, row.verdict, row.pairs), (Verdict::Inconclusive, Verdict::Inconclusive, Some(15)));
    assert_eq!(row.interval, tango(0, 1, 15, GATE_CONFIDENCE));
    assert_eq!(row.needed_pairs, pairs_to_settle(0, 1, 15, 0.05, GATE_CONFIDENCE, 0.8));
    let needed_pairs = row.needed_pairs.unwrap();
    assert!(needed_pairs > 15, "{needed_pairs}");
    assert!(row.reason.contains(&format!("about {needed_pairs} pairs would settle it")), "{}", row.reason);
    // An improvement passes.
    assert_eq!(success_row(&run_default_gate(&worse, &base)).verdict, Verdict::Pass);
}

#[test]
fn a_scenario_that_breaks_fails_though_the_mean_is_within_the_margin() {
    let policy = Policy::parse("gate.toml", "[[check]]\nmetric = \"success\"\nmargin = \"50 points\"\n").unwrap();
    let decide = |trials: u32, is_broken: bool| {
        let base = stochastic_baseline(trials, |_, _| true);
        let candidate = stochastic_baseline(trials, move |_, scenario| scenario != 1 || !is_broken);
        let report = run_gate(&base, &candidate, &policy).unwrap();
        let row = success_row(&report);
        (row.verdict, row.reason.clone())
    };
    let (verdict, reason) = decide(20, true);
    assert!(verdict == Verdict::Fail && reason.contains("is worse beyond chance"), "{verdict:?} {reason}");
    assert_eq!(decide(20, false).0, Verdict::Pass);
    // With few trials it looks like chance.
    let (verdict, reason) = decide(3, true);
    assert!(verdict != Verdict::Fail && reason.contains("every scenario has too few trials"), "{verdict:?} {reason}");
}

#[test]
fn a_policy_may_ask_about_other_scenarios() {
    let base = stochastic_baseline(60, |trial, _| trial % 4 != 0);
    let decide = |text: &str| {
        let report = run_gate(&base, &base, &Policy::parse("gate.toml", text).unwrap()).unwrap();
        let row = success_row(&report);
        let others = row.other_scenarios.unwrap();
        // Two of the three scenarios are of one cluster.
        assert_eq!((others.verdict, others.scenarios), (Verdict::Inconclusive, 2));
        (row.verdict, others.missing_scenarios, row.reason.clone())
    };
    let check = |margin| format!("[[check]]\nmetric = \"success\"\nmargin = \"{margin} points\"\n");
    let (verdict, missing, reason) = decide(&check(5));
    assert!(
        reason.ends_with("on other scenarios, advisory: INCONCLUSIVE (a PASS needs 57 more scenarios)"),
        "{reason}"
    );
    assert_eq!((verdict, missing), (Verdict::Pass, 57));
    let (verdict, missing, _) = decide(&format!("generalize = true\n{}", check(15)));
    assert_eq!((verdict, missing), (Verdict::Inconclusive, 17));
}

#[test]
fn a_check_may_look_the_other_way_or_both() {
    let (base, better) =
        (stochastic_baseline(60, |trial, _| trial % 4 == 0), stochastic_baseline(60, |trial, _| trial % 4 != 3));
    let verdict = |direction: &str| {
        let text = format!("[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\ndirection = \"{direction}\"\n");
        let policy = Policy::parse("gate.toml", &text).unwrap();
        success_row(&run_gate(&base, &better, &policy).unwrap()).verdict
    };
    assert_eq!((verdict("higher"), verdict("lower"), verdict("same")), (Verdict::Pass, Verdict::Fail, Verdict::Fail));
    assert!(paired_non_inferiority(90, 0, 180, 0.05, GATE_CONFIDENCE).is_some());
}

#[test]
fn lost_episodes_past_the_limit_decide_nothing() {
    let mut plan = plan(20);
    plan.agents.remove(0);
    let mut records = complete_records(&plan);
    let base = baseline(&plan, &records);
    for row in records.episodes.iter_mut().take(10) {
        row.outcome = Outcome::Infra;
    }
    let (_folder, run) = run_with(&plan, &records);
    let candidate = Baseline::from_run(&Rows(&run), &manifest(&plan), 1.0).unwrap();
    let report = run_default_gate(&base, &candidate);
    assert_eq!(report.verdict, Verdict::Missing);
    assert_eq!((report.rows[1].metric.as_str(), report.rows[1].verdict), ("infra", Verdict::Missing));
    // The same with base and candidate exchanged.
    let turned = run_default_gate(&candidate, &base);
    assert_eq!((turned.verdict, turned.rows[0].verdict), (Verdict::Missing, Verdict::Missing));
    let policy = Policy::parse("gate.toml", "infra_share = \"10%\"\n").unwrap();
    let report = run_gate(&base, &candidate, &policy).unwrap();
    assert_eq!(report.rows[1].verdict, Verdict::Pass);
    // Half of the trials of a cell's first scenario are unpaired, and the row says so.
    let row = success_row(&report);
    assert_eq!(row.pairs, Some(50));
    assert!(row.reason.ends_with("excluded because one side was lost: 10"), "{}", row.reason);
}

#[test]
fn an_advisory_row_decides_nothing() {
    let base = stochastic_baseline(60, |trial, _| trial % 4 != 0);
    let worse = stochastic_baseline(60, |_, _| false);
    let policy = "[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\ntier = \"advisory\"\n";
    let report = run_gate(&base, &worse, &Policy::parse("gate.toml", policy).unwrap()).unwrap();
    let row = success_row(&report);
    assert_eq!((report.verdict, row.verdict, row.tier), (Verdict::Pass, Verdict::Fail, Tier::Advisory));
}

#[test]
fn a_check_that_is_about_nothing_is_missing() {
    let base = stochastic_baseline(5, |_, _| true);
    let policy = |rest: &str| {
        let text = format!("[[check]]\nmetric = \"success\"\nmargin = \"90 points\"\n{rest}");
        run_gate(&base, &base, &Policy::parse("gate.toml", &text).unwrap()).unwrap()
    };
    assert_eq!(policy("agent = \"openai:gpt-5-mini · seeded · prompt\"\n").verdict, Verdict::Pass);
    assert_eq!(policy("agent = \"openai:gpt-5-mini\"\n").verdict, Verdict::Pass);
    let report = policy("agent = \"openai:gpt-5\"\nguardrails = \"none\"\n");
    assert_eq!(report.verdict, Verdict::Missing);
    let reason = &report.rows.last().unwrap().reason;
    assert!(reason.ends_with("about no cell of the base: agent openai:gpt-5, guardrails none"), "{reason}");
    // No check applies to the remaining cell.
    let reason: Vec<&str> = report.rows.iter().map(|row| row.reason.as_str()).collect();
    assert!(reason.contains(&"no check of the policy is about this cell"), "{reason:?}");
    let none = Policy { checks: Vec::new(), ..Policy::default() };
    assert_eq!(run_gate(&base, &base, &none).unwrap().verdict, Verdict::Missing);
}

#[test]
fn mistakes_in_a_policy_have_their_place() {
    let table = [
        (
            "luck = 1\n",
            1,
            "unknown key `luck`; known: `infra_share`, `may_differ`, `deterministic`, `generalize`, `check`, `require`, `perf`",
        ),
        ("infra_share = \"5 points\"\n", 1, "is no share"),
        ("infra_share = \"-5%\"\n", 1, "is no share"),
        (
            "\n[[check]]\nmetric = \"sucess\"\nmargin = \"5 points\"\n",
            3,
            "`check.metric` is `sucess`, which is not known; did you mean `success`? Known: `success`, `recovered`",
        ),
        ("[[check]]\nmetric = \"success\"\nmargin = \"5%\"\n", 3, "its margin is in points"),
        ("[[check]]\nmetric = \"tokens\"\nmargin = \"5 points\"\n", 3, "is no rate"),
        ("[[check]]\nmetric = \"success\"\nmargin = \"100 points\"\n", 3, "a rate has 100 points"),
        ("[[check]]\nmetric = \"success\"\n", 1, "`check.margin` is missing; it is the largest change that passes"),
        (
            "[deterministic]\nadvisory = [\n\"rows\",\n\"luck\"]\n",
            4,
            "`deterministic.advisory` is `luck`, which is not known; known: `success`",
        ),
        (
            "may_differ = [\"seed\"]\n",
            1,
            "`may_differ` is `seed`, which is not known; known: `scenarios`, `agents`, `prices`, `formats`",
        ),
        ("[perf]\nequal = 0.01\n", 2, "`perf.equal` is a number with a fraction, which has the wrong type"),
        ("[[perf.check]]\npair = \"a\"\n[[perf.check]]\npair = \"a\"\n", 3, "has a check already"),
        ("[[require]]\nagent = \"a\"\nguardrails = \"all\"\n", 1, "with `healing` a cell has a format"),
        ("[[require]]\nagent = \"a\"\nguardrails = \"all\"\nformat = \"bare\"\n", 4, "`bare` is the format of"),
        ("[[require]]\nagent = \"a\"\nguardrails = \"none\"\nformat = \"serde\"\n", 4, "without `healing`"),
    ];
    for (text, line, message) in table {
        let error = Policy::parse("gate.toml", text).unwrap_err();
        let shown = format!("{}; {}", error.message, error.help);
        assert!(shown.contains(message), "{text}: {shown}");
        assert!(!error.help.is_empty(), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}
