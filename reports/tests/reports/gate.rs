//! Baselines, and what a gate decides on them.

use std::collections::{BTreeMap, BTreeSet};

use healbench_protocol::AgentKind;
use healbench_record::{Outcome, Plan, Records, RunStatus};
use healbench_reports::gate::{Candidate, GateReport, GateRow, IncompatibleRuns, Policy, Subject, Tier, Verdict, gate};
use healbench_reports::statistics::{GATE_CONFIDENCE, paired_non_inferiority, pairs_to_settle, tango};
use healbench_reports::{Baseline, BaselineError, BlessError, Metric};

use crate::sample::{manifest, plan, records, run_with};

/// Both agents of the plan come again bit by bit.
fn exact_plan(trials: u32) -> Plan {
    let mut plan = plan(trials);
    plan.agents[1].kind = AgentKind::Replay;
    plan
}

fn whole(plan: &Plan) -> Records {
    let mut records = records(plan);
    for row in &mut records.episodes {
        if !row.outcome.is_scored() {
            row.outcome = Outcome::Limit;
        }
    }
    records
}

fn baseline(plan: &Plan, records: &Records) -> Baseline {
    let (_folder, run) = run_with(plan, records);
    Baseline::of(&run, &manifest(plan), 0.0).unwrap()
}

fn gated(base: &Baseline, candidate: &Baseline, policy: &Policy) -> Result<GateReport, IncompatibleRuns> {
    let held = |name, baseline| Candidate { name, baseline };
    gate(held("base", base), held("candidate", candidate), policy, &BTreeMap::new())
}

fn decided(base: &Baseline, candidate: &Baseline) -> GateReport {
    gated(base, candidate, &Policy::default()).unwrap()
}

/// What does not pass: agent and setting, metric, verdict, and the scenarios that changed.
fn told(report: &GateReport) -> BTreeSet<String> {
    let told = |row: &GateRow| {
        let subject = match &row.subject {
            Subject::Cell { agent, guardrails, format } => format!("{agent} {guardrails} {format}"),
            Subject::Arms { pair } => pair.clone(),
            Subject::Run { run } => run.clone(),
        };
        let scenarios: Vec<&str> = row.changes.iter().map(|change| change.scenario.as_str()).collect();
        format!("{} {subject}: {} [{}]", row.verdict.name(), row.metric, scenarios.join(" "))
    };
    report.rows.iter().filter(|row| row.verdict != Verdict::Pass).map(told).collect()
}

#[test]
fn a_baseline_reads_back() {
    let plan = exact_plan(7);
    let kept = baseline(&plan, &whole(&plan));
    let text = kept.to_text();
    assert_eq!(Baseline::parse(&text), Ok(kept.clone()));
    assert_eq!(kept.cells.len(), 6);
    let lines: usize = kept.cells.values().map(BTreeMap::len).sum();
    assert_eq!(lines, 18);
    // Sorted, and one line a scenario and cell.
    assert_eq!(text.lines().filter(|line| line.contains("outcomes = ")).count(), lines);
    insta::assert_snapshot!(text);
}

#[test]
fn a_baseline_adds_up_what_the_rows_say() {
    let plan = exact_plan(7);
    let records = whole(&plan);
    let kept = baseline(&plan, &records);
    for (cell, lines) in &kept.cells {
        for (scenario, line) in lines {
            let mine = |row: &&healbench_record::EpisodeRecord| {
                let place = plan.cell(row.episode).unwrap();
                let condition = &plan.conditions[place.condition];
                plan.scenarios[place.scenario].id == *scenario
                    && cell.agent.starts_with(&plan.agents[place.agent].to_string())
                    && (condition.guardrails, condition.format.to_string()) == (cell.guardrails, cell.format.clone())
            };
            let rows: Vec<_> = records.episodes.iter().filter(mine).collect();
            assert_eq!(rows.len(), 7);
            let outcomes: Vec<Outcome> = line.outcomes.iter().map(|ending| ending.outcome).collect();
            assert_eq!(outcomes, rows.iter().map(|row| row.outcome).collect::<Vec<_>>());
            let calls: u32 = rows.iter().map(|row| row.calls).sum();
            let tokens: u64 = rows.iter().map(|row| row.counts.call_tokens + u64::from(row.prose_tokens)).sum();
            assert_eq!(line.sum(Metric::Calls).total, f64::from(calls));
            assert_eq!((line.sum(Metric::Tokens).total, line.sum(Metric::Tokens).of), (tokens as f64, 7));
            let successes = rows.iter().filter(|row| row.outcome == Outcome::Success).count();
            assert_eq!(line.sum(Metric::Success).total, successes as f64);
        }
    }
}

#[test]
fn what_is_not_what_was_blessed_is_refused() {
    let plan = exact_plan(3);
    let text = baseline(&plan, &whole(&plan)).to_text();
    let cut = &text[..text.len() / 2];
    assert!(matches!(Baseline::parse(cut), Err(BaselineError::Edited { .. })));
    let edited = text.replacen("calls = ", "calls = 1", 1);
    assert!(matches!(Baseline::parse(&edited), Err(BaselineError::Edited { .. })));
    let newer = text.replacen("version = 1", "version = 2", 1);
    assert_eq!(Baseline::parse(&newer), Err(BaselineError::Version { found: 2 }));
    for foreign in ["", "version = 1\n", "{}"] {
        assert_eq!(Baseline::parse(foreign), Err(BaselineError::Foreign), "{foreign}");
    }
    // Rightly hashed, and still no baseline.
    for body in ["version = 1\n", "version = 1\nluck = 2\n", "[[["] {
        let text = format!("# healbench baseline {}\n{body}", healbench_protocol::fingerprint(body.as_bytes()));
        assert!(matches!(Baseline::parse(&text), Err(BaselineError::Shape(_))), "{body}");
    }
}

#[test]
fn only_a_whole_run_is_blessed() {
    let plan = exact_plan(3);
    let (_folder, run) = run_with(&plan, &whole(&plan));
    let mut interrupted = manifest(&plan);
    interrupted.status = RunStatus::Interrupted;
    assert!(matches!(Baseline::of(&run, &interrupted, 1.0), Err(BlessError::Partial { .. })));
    let mut shard = manifest(&plan);
    shard.shard = Some("1/2".parse().unwrap());
    assert!(matches!(Baseline::of(&run, &shard, 1.0), Err(BlessError::Shard(_))));
    // A manifest that says more than there is.
    let mut fewer = whole(&plan);
    let gone = fewer.episodes.pop().unwrap().episode;
    fewer.calls.retain(|call| call.episode != gone);
    let (_folder, run) = run_with(&plan, &fewer);
    assert!(matches!(Baseline::of(&run, &manifest(&plan), 1.0), Err(BlessError::Partial { .. })));
    // One of 54 is lost: within 2%, and not within 1%.
    let mut lost = whole(&plan);
    lost.episodes[4].outcome = Outcome::Infra;
    let (_folder, run) = run_with(&plan, &lost);
    assert!(Baseline::of(&run, &manifest(&plan), 0.02).is_ok());
    assert!(matches!(Baseline::of(&run, &manifest(&plan), 0.01), Err(BlessError::Lost { lost: 1, .. })));
    lost.episodes[4].outcome = Outcome::Config;
    let (_folder, run) = run_with(&plan, &lost);
    assert!(matches!(Baseline::of(&run, &manifest(&plan), 1.0), Err(BlessError::Lost { .. })));
}

#[test]
fn the_same_again_passes() {
    let plan = exact_plan(5);
    let kept = baseline(&plan, &whole(&plan));
    let report = decided(&kept, &kept);
    assert_eq!((report.verdict, told(&report)), (Verdict::Pass, BTreeSet::new()));
    // Lost episodes of both sides, then a row for each metric and one for the rest in each cell; nobody knows what a profile costs.
    assert_eq!(report.rows.len(), 2 + 3 * 12 + 3 * 13);
}

#[test]
fn one_token_more_fails_its_row_and_no_other() {
    let plan = exact_plan(5);
    let mut after = whole(&plan);
    after.episodes[5].prose_tokens += 1;
    let report = decided(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after));
    assert_eq!(report.verdict, Verdict::Fail);
    let place = plan.cell(5).unwrap();
    assert_eq!((place.agent, place.condition, place.scenario), (0, 1, 0));
    assert_eq!(
        told(&report),
        BTreeSet::from(["FAIL scripted:typical all fusion-xml: tokens [billing/new-currency]".into()])
    );
}

#[test]
fn what_no_sum_tells_is_a_change_all_the_same() {
    let plan = exact_plan(5);
    let mut after = whole(&plan);
    // The largest response of an episode is in no metric of a gate.
    after.episodes[5].counts.largest_response += 1;
    let report = decided(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after));
    assert_eq!(
        told(&report),
        BTreeSet::from(["FAIL scripted:typical all fusion-xml: rows [billing/new-currency]".into()])
    );
    // Nor is what a call sent.
    let mut after = whole(&plan);
    let call = after.calls.iter_mut().find(|call| call.episode >= 15).unwrap();
    call.arguments = "{}".into();
    let report = decided(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after));
    assert_eq!((report.verdict, told(&report).len()), (Verdict::Fail, 1));
    // Nor is what it was answered, in as many tokens.
    let mut after = whole(&plan);
    let call = after.calls.iter_mut().find(|call| call.episode >= 15).unwrap();
    call.response_hash ^= 1;
    let report = decided(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after));
    assert_eq!(
        told(&report),
        BTreeSet::from(["FAIL openai:gpt-5-mini · seeded · prompt none bare: rows [billing/new-currency]".into()])
    );
    // A policy may say that it decides nothing.
    let policy = Policy::parse("gate.toml", "[exact]\nadvisory = [\"rows\"]\n").unwrap();
    let report = gated(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after), &policy).unwrap();
    assert_eq!((report.verdict, told(&report).len()), (Verdict::Pass, 1));
}

#[test]
fn an_ending_that_is_another_one_is_a_change_of_success() {
    let plan = exact_plan(5);
    let mut after = whole(&plan);
    let row = after.episodes.iter_mut().find(|row| row.outcome == Outcome::Limit).unwrap();
    row.outcome = Outcome::GaveUp;
    let report = decided(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after));
    let metrics: Vec<&str> =
        report.rows.iter().filter(|row| row.verdict == Verdict::Fail).map(|row| row.metric.as_str()).collect();
    assert_eq!(metrics, ["success"]);
}

#[test]
fn cells_that_are_not_on_both_sides_are_missing() {
    let plan = exact_plan(4);
    let mut small = plan.clone();
    small.conditions.remove(2);
    let (big, small) = (baseline(&plan, &whole(&plan)), baseline(&small, &whole(&small)));
    let missing = |report: &GateReport| report.counts.get("MISSING").copied();
    assert_eq!(missing(&decided(&big, &small)), Some(2));
    assert_eq!(missing(&decided(&small, &big)), Some(2));
    // A policy's own list.
    let text = "[[require]]\nagent = \"scripted:perfect\"\nguardrails = \"all\"\nformat = \"serde\"\n";
    let policy = Policy::parse("gate.toml", text).unwrap();
    let report = gated(&big, &big, &policy).unwrap();
    assert_eq!((report.verdict, told(&report).len()), (Verdict::Missing, 1));
}

#[test]
fn unlike_things_are_refused_with_the_first_difference() {
    let plan = exact_plan(4);
    let base = baseline(&plan, &whole(&plan));
    let refused = |change: &dyn Fn(&mut Baseline)| {
        let mut other = base.clone();
        change(&mut other);
        gated(&base, &other, &Policy::default()).unwrap_err()
    };
    let what = |change: &dyn Fn(&mut Baseline)| refused(change).what;
    assert_eq!(what(&|other| other.seed = 8), "the seed");
    assert_eq!(what(&|other| other.trials = 9), "the number of trials");
    assert_eq!(what(&|other| other.run_format += 1), "the run format");
    assert_eq!(what(&|other| other.tokenizer = "cl100k_base".to_owned()), "the tokenizer");
    assert_eq!(what(&|other| other.prices = Some("2026-01-01 ab".to_owned())), "the price table");
    assert_eq!(what(&|other| drop(other.scenarios.remove("orders/typo"))), "scenario `orders/typo`");
    let text = |other: &mut Baseline| other.scenarios.get_mut("orders/typo").unwrap().text = "other".to_owned();
    assert_eq!(what(&text), "the text of scenario `orders/typo`");
    let settings = |other: &mut Baseline| other.agents.get_mut("scripted:typical").unwrap().settings = "x".to_owned();
    assert_eq!(what(&settings), "the settings of agent `scripted:typical`");
    let template = |other: &mut Baseline| drop(other.formats.insert("fusion-xml".to_owned(), "x".to_owned()));
    assert_eq!(what(&template), "the text of error format `fusion-xml`");
    // A policy may allow what is asked about, and never another schedule.
    let mut other = base.clone();
    text(&mut other);
    let policy = Policy::parse("gate.toml", "may_differ = [\"scenarios\"]\n").unwrap();
    assert!(gated(&base, &other, &policy).is_ok());
    other.scenarios.get_mut("orders/typo").unwrap().schedules = "other".to_owned();
    let refused = gated(&base, &other, &policy).unwrap_err();
    assert_eq!((refused.what.as_str(), refused.allow), ("the schedule of scenario `orders/typo`", None));
}

/// A run with a model that was asked, whose episodes succeed as `succeeds` says.
fn live(trials: u32, succeeds: impl Fn(u32, usize) -> bool) -> Baseline {
    let mut plan = plan(trials);
    plan.agents.remove(0);
    plan.conditions.truncate(1);
    let mut records = whole(&plan);
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
fn a_live_model_is_held_to_a_margin() {
    let base = live(60, |trial, _| trial % 4 != 0);
    // The same rows again: 180 pairs, none discordant.
    let report = decided(&base, &base);
    assert_eq!((success_row(&report).verdict, success_row(&report).pairs), (Verdict::Pass, Some(180)));
    // Half of the successes are gone.
    let worse = live(60, |trial, _| trial % 4 == 1);
    let report = decided(&base, &worse);
    assert_eq!((report.verdict, success_row(&report).verdict), (Verdict::Fail, Verdict::Fail));
    // A few of few pairs say little.
    let (few, fewer) =
        (live(5, |trial, _| trial != 0), live(5, |trial, scenario| trial != 0 && (trial, scenario) != (1, 1)));
    let report = decided(&few, &fewer);
    let row = success_row(&report);
    assert_eq!((report.verdict, row.verdict, row.pairs), (Verdict::Inconclusive, Verdict::Inconclusive, Some(15)));
    assert_eq!(row.interval, tango(0, 1, 15, GATE_CONFIDENCE));
    assert_eq!(row.settles, pairs_to_settle(0, 1, 15, 0.05, GATE_CONFIDENCE, 0.8));
    let settles = row.settles.unwrap();
    assert!(settles > 15, "{settles}");
    assert!(row.says.contains(&format!("about {settles} pairs would settle it")), "{}", row.says);
    // An improvement passes.
    assert_eq!(success_row(&decided(&worse, &base)).verdict, Verdict::Pass);
}

#[test]
fn a_check_may_look_the_other_way_or_both() {
    let (base, better) = (live(60, |trial, _| trial % 4 == 0), live(60, |trial, _| trial % 4 != 3));
    let verdict = |direction: &str| {
        let text = format!("[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\ndirection = \"{direction}\"\n");
        let policy = Policy::parse("gate.toml", &text).unwrap();
        success_row(&gated(&base, &better, &policy).unwrap()).verdict
    };
    assert_eq!((verdict("higher"), verdict("lower"), verdict("same")), (Verdict::Pass, Verdict::Fail, Verdict::Fail));
    assert!(paired_non_inferiority(90, 0, 180, 0.05, GATE_CONFIDENCE).is_some());
}

#[test]
fn lost_episodes_past_the_limit_decide_nothing() {
    let mut plan = plan(20);
    plan.agents.remove(0);
    let mut records = whole(&plan);
    let base = baseline(&plan, &records);
    for row in records.episodes.iter_mut().take(10) {
        row.outcome = Outcome::Infra;
    }
    let (_folder, run) = run_with(&plan, &records);
    let candidate = Baseline::of(&run, &manifest(&plan), 1.0).unwrap();
    let report = decided(&base, &candidate);
    assert_eq!(report.verdict, Verdict::Missing);
    assert_eq!((report.rows[1].metric.as_str(), report.rows[1].verdict), ("infra", Verdict::Missing));
    // On either side.
    let turned = decided(&candidate, &base);
    assert_eq!((turned.verdict, turned.rows[0].verdict), (Verdict::Missing, Verdict::Missing));
    let policy = Policy::parse("gate.toml", "infra_share = \"10%\"\n").unwrap();
    let report = gated(&base, &candidate, &policy).unwrap();
    assert_eq!(report.rows[1].verdict, Verdict::Pass);
    // Half of a cell's first scenario is left out of its pairs, and that is said.
    let row = success_row(&report);
    assert_eq!(row.pairs, Some(50));
    assert!(row.says.ends_with("left out, for one side was lost: 10"), "{}", row.says);
}

#[test]
fn an_advisory_row_decides_nothing() {
    let base = live(60, |trial, _| trial % 4 != 0);
    let worse = live(60, |_, _| false);
    let policy = "[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\ntier = \"advisory\"\n";
    let report = gated(&base, &worse, &Policy::parse("gate.toml", policy).unwrap()).unwrap();
    let row = success_row(&report);
    assert_eq!((report.verdict, row.verdict, row.tier), (Verdict::Pass, Verdict::Fail, Tier::Advisory));
}

#[test]
fn a_check_that_is_about_nothing_is_missing() {
    let base = live(5, |_, _| true);
    let policy = |rest: &str| {
        let text = format!("[[check]]\nmetric = \"success\"\nmargin = \"90 points\"\n{rest}");
        gated(&base, &base, &Policy::parse("gate.toml", &text).unwrap()).unwrap()
    };
    assert_eq!(policy("agent = \"openai:gpt-5-mini · seeded · prompt\"\n").verdict, Verdict::Pass);
    assert_eq!(policy("agent = \"openai:gpt-5-mini\"\n").verdict, Verdict::Pass);
    let report = policy("agent = \"openai:gpt-5\"\nguardrails = \"none\"\n");
    assert_eq!(report.verdict, Verdict::Missing);
    let says = &report.rows.last().unwrap().says;
    assert!(says.ends_with("about no cell of the base: agent openai:gpt-5, guardrails none"), "{says}");
    // And the cell that is left is held to nothing.
    let says: Vec<&str> = report.rows.iter().map(|row| row.says.as_str()).collect();
    assert!(says.contains(&"no check of the policy is about this cell"), "{says:?}");
    let none = Policy { checks: Vec::new(), ..Policy::default() };
    assert_eq!(gated(&base, &base, &none).unwrap().verdict, Verdict::Missing);
}

#[test]
fn mistakes_in_a_policy_have_their_place() {
    let table = [
        ("luck = 1\n", 1, "unknown field `luck`"),
        ("infra_share = \"5 points\"\n", 1, "is no share"),
        ("infra_share = \"-5%\"\n", 1, "is no share"),
        (
            "\n[[check]]\nmetric = \"sucess\"\nmargin = \"5 points\"\n",
            3,
            "unknown metric `sucess`; known: success, recovered",
        ),
        ("[[check]]\nmetric = \"success\"\nmargin = \"5%\"\n", 1, "its margin is in points"),
        ("[[check]]\nmetric = \"tokens\"\nmargin = \"5 points\"\n", 1, "is no rate"),
        ("[[check]]\nmetric = \"success\"\nmargin = \"100 points\"\n", 3, "a rate has 100 points"),
        ("[[check]]\nmetric = \"success\"\n", 1, "missing field `margin`"),
        ("[exact]\nadvisory = [\n\"rows\",\n\"luck\"]\n", 4, "unknown metric `luck`"),
        ("may_differ = [\"seed\"]\n", 1, "unknown variant `seed`"),
        ("[perf]\nequal = 0.01\n", 2, "invalid type"),
        ("[[perf.check]]\npair = \"a\"\n[[perf.check]]\npair = \"a\"\n", 3, "has a check already"),
        ("[[require]]\nagent = \"a\"\nguardrails = \"all\"\n", 1, "with `healing` a cell has a format"),
        ("[[require]]\nagent = \"a\"\nguardrails = \"all\"\nformat = \"bare\"\n", 1, "`bare` is the format of"),
        ("[[require]]\nagent = \"a\"\nguardrails = \"none\"\nformat = \"serde\"\n", 1, "without `healing`"),
    ];
    for (text, line, message) in table {
        let error = Policy::parse("gate.toml", text).unwrap_err();
        assert!(error.message.contains(message), "{text}: {error}");
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

/// A run with a model that was asked, whose rows were changed.
fn live_with(trials: u32, change: impl Fn(&Plan, &mut healbench_record::EpisodeRecord)) -> Baseline {
    let mut plan = plan(trials);
    plan.agents.remove(0);
    plan.conditions.truncate(1);
    let mut records = whole(&plan);
    for row in &mut records.episodes {
        row.outcome = Outcome::Success;
        row.model = Some(Box::default());
        change(&plan, row);
    }
    let (_folder, run) = run_with(&plan, &records);
    Baseline::of(&run, &manifest(&plan), 1.0).unwrap()
}

#[test]
fn no_rate_passes_on_too_few_pairs() {
    let base = live_with(5, |_, row| row.counts.stuck = false);
    let text: String = ["success", "recovered", "first_call_success", "false_success", "stuck"]
        .map(|metric| format!("[[check]]\nmetric = \"{metric}\"\nmargin = \"5 points\"\n"))
        .concat();
    let policy = Policy::parse("gate.toml", &text).unwrap();
    let report = gated(&base, &base, &policy).unwrap();
    let verdicts: Vec<(&str, Verdict, Option<u64>)> =
        report.rows[2..].iter().map(|row| (row.metric.as_str(), row.verdict, row.pairs)).collect();
    // Two of three scenarios have something to recover from.
    assert_eq!(
        verdicts,
        [
            ("success", Verdict::Inconclusive, Some(15)),
            ("recovered", Verdict::Inconclusive, Some(10)),
            ("first_call_success", Verdict::Inconclusive, Some(15)),
            ("false_success", Verdict::Inconclusive, Some(15)),
            ("stuck", Verdict::Inconclusive, Some(15)),
        ]
    );
    // The same decision on the text as on the run.
    assert_eq!(gated(&Baseline::parse(&base.to_text()).unwrap(), &base, &policy).unwrap(), report);
    // Many pairs tell, and tell of the right one.
    let (many, stuck) = (
        live_with(100, |_, row| row.counts.stuck = false),
        live_with(100, |plan, row| row.counts.stuck = plan.cell(row.episode).unwrap().trial % 2 == 0),
    );
    let report = gated(&many, &stuck, &policy).unwrap();
    let failed: Vec<&str> =
        report.rows.iter().filter(|row| row.verdict == Verdict::Fail).map(|row| row.metric.as_str()).collect();
    assert_eq!(failed, ["stuck"]);
    assert!(report.rows[2..].iter().all(|row| row.verdict != Verdict::Inconclusive));
}

#[test]
fn a_scenario_without_a_pair_is_missing() {
    let base = live_with(4, |_, _| {});
    let gone = live_with(4, |plan, row| {
        if plan.cell(row.episode).unwrap().scenario == 1 {
            row.outcome = Outcome::Infra;
        }
    });
    let policy = "infra_share = \"50%\"\n[[check]]\nmetric = \"tokens\"\nmargin = \"500%\"\n";
    let report = gated(&base, &gone, &Policy::parse("gate.toml", policy).unwrap()).unwrap();
    let row = report.rows.last().unwrap();
    assert_eq!((report.verdict, row.verdict, row.pairs), (Verdict::Missing, Verdict::Missing, Some(8)));
    assert!(row.says.starts_with("1 of 3 scenarios have no pair, `orders/typo` the first"), "{}", row.says);
}

#[test]
fn means_and_margin_are_over_what_is_paired() {
    let tokens = |plan: &Plan, row: &mut healbench_record::EpisodeRecord, first: u64| {
        let cell = plan.cell(row.episode).unwrap();
        row.prose_tokens = 0;
        row.counts.call_tokens = if cell.trial == 0 { first } else { 100 };
    };
    let base = live_with(4, |plan, row| tokens(plan, row, 100));
    // The candidate lost the trial that would have been dear.
    let candidate = live_with(4, |plan, row| {
        tokens(plan, row, 900);
        if plan.cell(row.episode).unwrap().trial == 0 {
            row.outcome = Outcome::Infra;
        }
    });
    let policy = "infra_share = \"50%\"\n[[check]]\nmetric = \"tokens\"\nmargin = \"10%\"\n";
    let report = gated(&base, &candidate, &Policy::parse("gate.toml", policy).unwrap()).unwrap();
    let row = report.rows.last().unwrap();
    assert_eq!((row.base, row.candidate, row.difference, row.pairs), (Some(100.0), Some(100.0), Some(0.0), Some(9)));
    assert!(row.says.ends_with("left out, for one side was lost: 3"), "{}", row.says);
    // Of nothing, no percentage can be ruled out.
    let nothing = live_with(4, |_, row| row.counts.leaked_fields = 0);
    let some = live_with(4, |plan, row| {
        row.counts.leaked_fields = u64::from(plan.cell(row.episode).unwrap().trial == 0);
    });
    let policy = "[[check]]\nmetric = \"leaked_fields\"\nmargin = \"10%\"\n";
    let policy = Policy::parse("gate.toml", policy).unwrap();
    let says = gated(&nothing, &nothing, &policy).unwrap().rows.pop().unwrap().says;
    assert!(says.contains("give the margin as a number"), "{says}");
    assert_eq!(gated(&nothing, &some, &policy).unwrap().verdict, Verdict::Fail);
}

#[test]
fn an_advisory_metric_hides_nothing() {
    let plan = exact_plan(5);
    let mut after = whole(&plan);
    after.episodes[5].prose_tokens += 1;
    after.episodes[5].counts.largest_response += 1;
    let policy = Policy::parse("gate.toml", "[exact]\nadvisory = [\"tokens\"]\n").unwrap();
    let report = gated(&baseline(&plan, &whole(&plan)), &baseline(&plan, &after), &policy).unwrap();
    assert_eq!(report.verdict, Verdict::Fail);
    assert!(told(&report).contains("FAIL scripted:typical all fusion-xml: rows [billing/new-currency]"));
}

#[test]
fn a_replay_is_not_held_against_one_that_asked() {
    let plan = exact_plan(5);
    let mut asked = plan.clone();
    asked.agents[1].kind = AgentKind::Llm;
    let (replayed, live) = (baseline(&plan, &whole(&plan)), baseline(&asked, &whole(&asked)));
    let refused = gated(&replayed, &live, &Policy::default()).unwrap_err();
    assert_eq!((refused.base.as_str(), refused.candidate.as_str()), ("replay", "llm"));
    // Unless that is what is asked about; then what never comes again is held to margins.
    let policy = Policy { may_differ: vec![healbench_reports::gate::MayDiffer::Agents], ..Policy::default() };
    let report = gated(&replayed, &live, &policy).unwrap();
    assert!(report.rows.iter().any(|row| row.metric == "success" && row.margin.is_some() && row.pairs == Some(15)));
}

#[test]
fn any_name_and_any_cost_reads_back() {
    for name in ["it's \"odd\"", "two\nlines", "tab\tand \u{1b}[31m", "a.b = { }", "😀\u{7f}\u{0}", "ends in \\"] {
        let mut plan = plan(2);
        plan.agents[1].name = name.to_owned();
        plan.scenarios[0].id = name.to_owned();
        let mut records = whole(&plan);
        for (row, usd) in
            records.episodes.iter_mut().filter(|row| row.model.is_some()).zip([1e22, 5e-324, 0.1, f64::NAN])
        {
            row.model.as_mut().unwrap().usd = Some(usd);
        }
        let (_folder, run) = run_with(&plan, &records);
        let kept = Baseline::of(&run, &manifest(&plan), 1.0).unwrap();
        assert_eq!(Baseline::parse(&kept.to_text()), Ok(kept), "{name:?}");
    }
}

#[test]
fn ends_of_lines_are_git_s_business() {
    let plan = exact_plan(3);
    let kept = baseline(&plan, &whole(&plan));
    let text = kept.to_text();
    assert_eq!(Baseline::parse(&text.replace('\n', "\r\n")), Ok(kept.clone()));
    assert_eq!(Baseline::parse(&format!("\u{feff}{text}")), Ok(kept));
}

#[test]
fn what_is_no_whole_baseline_is_refused_whatever_its_hash() {
    let plan = exact_plan(3);
    let text = baseline(&plan, &whole(&plan)).to_text();
    let body = text.split_once('\n').unwrap().1;
    let refused = |body: &str, reason: &str| {
        let text = format!("# healbench baseline {}\n{body}", healbench_protocol::fingerprint(body.as_bytes()));
        let error = Baseline::parse(&text).unwrap_err().to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    };
    let last = body.rfind("[cells.scenarios]\n").unwrap() + "[cells.scenarios]\n".len();
    refused(&body[..last], "has not the scenarios");
    let line_end = last + body[last..].find('\n').unwrap() + 1;
    refused(&body[..line_end], "has not the scenarios");
    let cell = &body[body.rfind("\n[[cells]]").unwrap()..];
    refused(&format!("{body}{cell}"), "a cell twice");
    refused(&body.replacen(", rows = ", ", cost_usd = 1, rows = ", 1).replacen("rows = \"", "rows = 1 #", 1), "");
    refused(&body.replace("trials = 3", "trials = 4"), "has not the trials");
    refused(&body.replace("kind = \"scripted\"", "kind = \"llm\""), "a hash of rows that never come again");
    refused(&body.replacen("[agents]\n", "[agents]\n#", 1), "of no agent that it names");
    refused(&body.replacen("\"fusion-xml\" = ", "\"other\" = ", 1), "of no format that it names");
}
