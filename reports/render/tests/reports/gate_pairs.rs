//! Tests of gates on pairs of stochastic runs, and of baseline files.

use crate::gate::{baseline, complete_records, deterministic_plan, failing_rows, run_gate};
use crate::sample::{manifest, plan, run_with};
use healbench_analysis::Baseline;
use healbench_analysis::gate::{Policy, Subject, Verdict};
use healbench_core::{AgentKind, Opening, Outcome, Plan};
use healbench_frames::Rows;

/// Returns the baseline of a run with a live model agent whose rows were modified by `change`.
fn stochastic_baseline_with(trials: u32, change: impl Fn(&Plan, &mut healbench_core::EpisodeRecord)) -> Baseline {
    let mut plan = plan(trials);
    plan.agents.remove(0);
    plan.conditions.truncate(1);
    let mut records = complete_records(&plan);
    for row in &mut records.episodes {
        row.outcome = Outcome::Success;
        row.model = Some(Box::default());
        change(&plan, row);
    }
    let (_folder, run) = run_with(&plan, &records);
    Baseline::from_run(&Rows(&run), &manifest(&plan), 1.0).unwrap()
}

#[test]
fn no_rate_passes_on_too_few_pairs() {
    let base = stochastic_baseline_with(5, |_, row| row.counts.stuck = false);
    let text: String = ["success", "recovered", "first_call_success", "false_success", "stuck"]
        .map(|metric| format!("[[check]]\nmetric = \"{metric}\"\nmargin = \"5 points\"\n"))
        .concat();
    let policy = Policy::parse("gate.toml", &text).unwrap();
    let report = run_gate(&base, &base, &policy).unwrap();
    let verdicts: Vec<(&str, Verdict, Option<u64>)> =
        report.rows[2..].iter().map(|row| (row.metric.as_str(), row.verdict, row.pairs)).collect();
    // Two of three scenarios have a scheduled mistake or fault.
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
    // The decision is the same for the parsed baseline as for the run.
    assert_eq!(run_gate(&Baseline::parse(&base.to_text()).unwrap(), &base, &policy).unwrap(), report);
    // Many pairs give a decision, and only for the metric that changed.
    let (many, stuck) = (
        stochastic_baseline_with(100, |_, row| row.counts.stuck = false),
        stochastic_baseline_with(100, |plan, row| row.counts.stuck = plan.cell(row.episode).unwrap().trial % 2 == 0),
    );
    let report = run_gate(&many, &stuck, &policy).unwrap();
    let failed: Vec<&str> =
        report.rows.iter().filter(|row| row.verdict == Verdict::Fail).map(|row| row.metric.as_str()).collect();
    assert_eq!(failed, ["stuck"]);
    assert!(report.rows[2..].iter().all(|row| row.verdict != Verdict::Inconclusive));
}

#[test]
fn a_scenario_without_a_pair_is_missing() {
    let base = stochastic_baseline_with(4, |_, _| {});
    let gone = stochastic_baseline_with(4, |plan, row| {
        if plan.cell(row.episode).unwrap().scenario == 1 {
            row.outcome = Outcome::Infra;
        }
    });
    let policy = "infra_share = \"50%\"\n[[check]]\nmetric = \"tokens\"\nmargin = \"500%\"\n";
    let report = run_gate(&base, &gone, &Policy::parse("gate.toml", policy).unwrap()).unwrap();
    let row = report.rows.last().unwrap();
    assert_eq!((report.verdict, row.verdict, row.pairs), (Verdict::Missing, Verdict::Missing, Some(8)));
    assert!(row.reason.starts_with("1 of 3 scenarios has no pair, `orders/typo` the first"), "{}", row.reason);
}

#[test]
fn means_and_margin_are_over_what_is_paired() {
    let tokens = |plan: &Plan, row: &mut healbench_core::EpisodeRecord, first: u64| {
        let cell = plan.cell(row.episode).unwrap();
        row.prose_tokens = Some(0);
        row.counts.call_tokens = if cell.trial == 0 { first } else { 100 };
    };
    let base = stochastic_baseline_with(4, |plan, row| tokens(plan, row, 100));
    // The candidate lost the trial that would have been expensive.
    let candidate = stochastic_baseline_with(4, |plan, row| {
        tokens(plan, row, 900);
        if plan.cell(row.episode).unwrap().trial == 0 {
            row.outcome = Outcome::Infra;
        }
    });
    let policy = "infra_share = \"50%\"\n[[check]]\nmetric = \"tokens\"\nmargin = \"10%\"\n";
    let report = run_gate(&base, &candidate, &Policy::parse("gate.toml", policy).unwrap()).unwrap();
    let row = report.rows.last().unwrap();
    assert_eq!((row.base, row.candidate, row.difference, row.pairs), (Some(100.0), Some(100.0), Some(0.0), Some(9)));
    assert!(row.reason.ends_with("excluded because one side was lost: 3"), "{}", row.reason);
    // A relative margin of a mean of 0 excludes nothing.
    let nothing = stochastic_baseline_with(4, |_, row| row.counts.leaked_fields = Some(0));
    let some = stochastic_baseline_with(4, |plan, row| {
        row.counts.leaked_fields = Some(u64::from(plan.cell(row.episode).unwrap().trial == 0));
    });
    let policy = "[[check]]\nmetric = \"leaked_fields\"\nmargin = \"10%\"\n";
    let policy = Policy::parse("gate.toml", policy).unwrap();
    let says = run_gate(&nothing, &nothing, &policy).unwrap().rows.pop().unwrap().reason;
    assert!(says.contains("give the margin as a number"), "{says}");
    assert_eq!(run_gate(&nothing, &some, &policy).unwrap().verdict, Verdict::Fail);
}

#[test]
fn an_advisory_metric_hides_nothing() {
    let plan = deterministic_plan(5);
    let mut after = complete_records(&plan);
    *after.episodes[5].prose_tokens.as_mut().unwrap() += 1;
    after.episodes[5].counts.largest_response += 1;
    let policy = Policy::parse("gate.toml", "[deterministic]\nadvisory = [\"tokens\"]\n").unwrap();
    let report = run_gate(&baseline(&plan, &complete_records(&plan)), &baseline(&plan, &after), &policy).unwrap();
    assert_eq!(report.verdict, Verdict::Fail);
    assert!(failing_rows(&report).contains("FAIL scripted:typical all fusion-xml: rows [billing/new-currency]"));
}

#[test]
fn a_replay_is_not_compared_with_a_live_run() {
    let plan = deterministic_plan(5);
    let mut asked = plan.clone();
    asked.agents[1].kind = AgentKind::Llm;
    let (replayed, live) = (baseline(&plan, &complete_records(&plan)), baseline(&asked, &complete_records(&asked)));
    let refused = run_gate(&replayed, &live, &Policy::default()).unwrap_err();
    assert_eq!((refused.base.as_str(), refused.candidate.as_str()), ("replay", "llm"));
    // If the policy allows the difference, the agent is stochastic and compared by margins.
    let policy = Policy { may_differ: vec![healbench_analysis::gate::MayDiffer::Agents], ..Policy::default() };
    let report = run_gate(&replayed, &live, &policy).unwrap();
    assert!(report.rows.iter().any(|row| row.metric == "success" && row.margin.is_some() && row.pairs == Some(15)));
}

#[test]
fn a_check_names_an_agent_by_its_name_or_its_title() {
    let base = stochastic_baseline_with(5, |_, _| ());
    for (agent, rows) in [
        ("openai:gpt-5-mini", 1),
        ("openai:gpt-5-mini · seeded · prompt", 1),
        ("openai:gpt-5-mini · seeded", 0),
        ("openai:gpt-5", 0),
    ] {
        let text = format!("[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\nagent = \"{agent}\"\n");
        let report = run_gate(&base, &base, &Policy::parse("gate.toml", &text).unwrap()).unwrap();
        let checked = report.rows.iter().filter(|row| row.margin.is_some());
        let subjects = checked.filter(
            |row| matches!(&row.subject, Subject::Cell { agent, .. } if agent.opening == Some(Opening::Seeded)),
        );
        assert_eq!(subjects.count(), rows, "{agent}");
    }
}

#[test]
fn any_name_and_any_cost_reads_back() {
    for name in ["it's \"odd\"", "two\nlines", "tab\tand \u{1b}[31m", "a.b = { }", "😀\u{7f}\u{0}", "ends in \\"] {
        let mut plan = plan(2);
        plan.agents[1].name = name.to_owned();
        plan.scenarios[0].id = name.to_owned();
        let mut records = complete_records(&plan);
        for (row, usd) in
            records.episodes.iter_mut().filter(|row| row.model.is_some()).zip([1e22, 5e-324, 0.1, f64::NAN])
        {
            row.model.as_mut().unwrap().usd = Some(usd);
        }
        let (_folder, run) = run_with(&plan, &records);
        let kept = Baseline::from_run(&Rows(&run), &manifest(&plan), 1.0).unwrap();
        assert_eq!(Baseline::parse(&kept.to_text()), Ok(kept), "{name:?}");
    }
}

#[test]
fn ends_of_lines_are_git_s_business() {
    let plan = deterministic_plan(3);
    let kept = baseline(&plan, &complete_records(&plan));
    let text = kept.to_text();
    assert_eq!(Baseline::parse(&text.replace('\n', "\r\n")), Ok(kept.clone()));
    assert_eq!(Baseline::parse(&format!("\u{feff}{text}")), Ok(kept));
}

#[test]
fn an_incomplete_baseline_is_refused_whatever_its_hash() {
    let plan = deterministic_plan(3);
    let text = baseline(&plan, &complete_records(&plan)).to_text();
    let body = text.split_once('\n').unwrap().1;
    let refused = |body: &str, reason: &str| {
        let text = format!("# healbench baseline {}\n{body}", healbench_core::fingerprint(body.as_bytes()));
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
