//! Every row of the table of answers, with its ties and its lack of data, through the rows of a run.

use healbench_analysis::{Answer, Axis, Finding, Report, Verdict};
use healbench_core::{
    AgentKind, AgentSpec, BilledTokens, CallRecord, CellRef, ChainEnd, Claim, Condition, Content, ErrorFormat,
    Guardrails, Measure, Opening, Outcome, Plan, PlannedScenario, Records, Span,
};
use healbench_render::{Detail, TerminalOptions, markdown, matrix, terminal};

use crate::interaction::matrix_of;
use crate::sample::{plan as sample_plan, records as sample_records};
use crate::summary::report;

/// The trials of a scenario.
const TRIALS: u32 = 10;

pub(crate) fn reader(name: &str) -> AgentSpec {
    let settings = serde_json::Value::Null;
    AgentSpec { kind: AgentKind::Scripted, name: name.to_owned(), opening: None, tools: None, settings }
}

pub(crate) fn model(name: &str) -> AgentSpec {
    AgentSpec { kind: AgentKind::Llm, opening: Some(Opening::Natural), ..reader(name) }
}

fn format_condition(format: ErrorFormat) -> Condition {
    Condition::new(Guardrails::ALL, format)
}

pub(crate) fn with_content(format: ErrorFormat, content: Content) -> Condition {
    let mut condition = format_condition(format);
    condition.values.content = content;
    condition
}

pub(crate) fn plan(scenarios: usize, agents: Vec<AgentSpec>, conditions: Vec<Condition>) -> Plan {
    let scenario = |index: usize| PlannedScenario {
        id: format!("suite/{index}"),
        cluster: format!("suite/{index}"),
        path: format!("suite/{index}.yaml"),
        sha256: String::new(),
        claims: Vec::new(),
        waits_on_retry: false,
        worlds: 1,
        renamed_from: None,
    };
    Plan { agents, conditions, scenarios: (0..scenarios).map(scenario).collect(), ..sample_plan(TRIALS) }
}

/// Returns rows in which an episode succeeds where `success` says so, and costs `billed` tokens.
pub(crate) fn rows(plan: &Plan, success: impl Fn(CellRef) -> Outcome, billed: impl Fn(CellRef) -> u64) -> Records {
    let mut records = sample_records(plan);
    for row in &mut records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        row.outcome = success(cell);
        row.schedule_hash = format!("{:016x}", cell.scenario as u64 * 1000 + u64::from(cell.trial));
        row.billed = Some(BilledTokens { input: billed(cell), output: 0, unsent: 0 });
    }
    records
}

fn outcome(success: bool) -> Outcome {
    if success { Outcome::Success } else { Outcome::TaskFail }
}

/// Succeeds in the first `count` of ten trials.
pub(crate) fn in_trials(cell: CellRef, count: u32) -> Outcome {
    outcome(cell.trial < count)
}

/// Returns the sentences of an answer, as the terminal prints them last.
pub(crate) fn sentences(report: &Report) -> Vec<String> {
    let options = TerminalOptions { width: 10_000, color: false, detail: Detail::Summary, lines: None };
    let text = terminal(report, options);
    let (_, answer) = text.trim_end().rsplit_once("\n\n").unwrap();
    let mut sentences: Vec<String> = answer.lines().map(str::to_owned).collect();
    // The last line is about recorded models, or about readers beside models.
    let has_model = report.agents.iter().any(|agent| agent.kind != AgentKind::Scripted);
    let has_reader = report.agents.iter().any(|agent| agent.kind == AgentKind::Scripted);
    let last = sentences.pop_if(|_| has_reader && !report.answer.findings.is_empty());
    let starts: &[&str] = if has_model { &["Rows of simulated"] } else { &["Recorded models", "No model has"] };
    assert!(last.is_none_or(|last| starts.iter().any(|start| last.starts_with(start))));
    sentences
}

/// Asserts that the answer is these sentences, in all outputs.
#[track_caller]
pub(crate) fn assert_answer(plan: &Plan, records: &Records, expected: &[&str]) -> Answer {
    let report = report(plan, records).unwrap();
    assert_eq!(sentences(&report), expected);
    let markdown = markdown(&report);
    for sentence in expected {
        let plain = markdown
            .replace(['\\', '`'], "")
            .replace("&gt;", ">")
            .replace("&#62;", ">")
            .replace("&#91;", "[")
            .replace("&#93;", "]");
        assert!(plain.contains(sentence), "{sentence} is missing in {markdown}");
    }
    report.answer
}

pub(crate) fn two() -> Vec<Condition> {
    vec![format_condition(ErrorFormat::ZodJson), format_condition(ErrorFormat::FusionXml)]
}

#[test]
fn one_condition() {
    let plan = plan(80, vec![model("m")], vec![format_condition(ErrorFormat::FusionXml)]);
    let half = rows(&plan, |cell| outcome(cell.scenario.is_multiple_of(2)), |_| 1234);
    assert_answer(
        &plan,
        &half,
        &["m solves 50% [39, 61] of 80 scenarios under all fusion-xml, at 1,234 tokens per episode."],
    );
    let all = rows(&plan, |_| Outcome::Success, |_| 1234);
    assert_answer(&plan, &all, &["m solves 100% of 80 scenarios under all fusion-xml, at 1,234 tokens per episode."]);
}

#[test]
fn nothing_scored() {
    let plan = plan(2, vec![model("m")], two());
    let answer = assert_answer(
        &plan,
        &rows(&plan, |_| Outcome::Infra, |_| 0),
        &["No answer: 0 of 40 episodes scored (40 lost)."],
    );
    assert_eq!((answer.episodes, answer.lost, answer.findings), (40, 40, Vec::new()));
}

#[test]
fn two_conditions() {
    let plan = plan(80, vec![model("m")], two());
    let dearer = |cell: CellRef| if cell.condition == 1 { 1500 } else { 1000 };
    let cheaper = |cell: CellRef| if cell.condition == 1 { 750 } else { 1000 };
    let better = |cell: CellRef| in_trials(cell, if cell.condition == 1 { 8 } else { 5 });
    assert_answer(
        &plan,
        &rows(&plan, better, dearer),
        &["Use fusion-xml: +30 points [27, 33] over zod-json (50% → 80%), 50% more tokens."],
    );
    assert_answer(
        &plan,
        &rows(&plan, better, cheaper),
        &["Use fusion-xml: +30 points [27, 33] over zod-json (50% → 80%), 25% fewer tokens."],
    );
    let worse = |cell: CellRef| in_trials(cell, if cell.condition == 1 { 5 } else { 8 });
    assert_answer(
        &plan,
        &rows(&plan, worse, |_| 1000),
        &["Use zod-json: +30 points [27, 33] over fusion-xml (50% → 80%), as many tokens."],
    );
    // A gain in one trial and a loss in another, in different scenarios, so that the interval is narrow.
    let same = |cell: CellRef| outcome(cell.trial.is_multiple_of(2));
    let answer = assert_answer(
        &plan,
        &rows(&plan, same, dearer),
        &["zod-json and fusion-xml are equal here, in every trial; zod-json costs 33% less."],
    );
    assert!(matches!(&answer.findings[0], Finding::Pair(pair) if pair.gain.verdict == Verdict::Equal));
    assert_answer(&plan, &rows(&plan, same, |_| 1000), &["zod-json and fusion-xml are equal here, in every trial."]);
    // One trial of many scenarios shows that they are as good, and is too little to recommend one.
    let once = Plan { trials: 1, ..self::plan(200, vec![model("m")], two()) };
    let report = report(&once, &rows(&once, |cell| outcome(cell.scenario != cell.condition), dearer)).unwrap();
    let [sentence] = &sentences(&report)[..] else { panic!() };
    assert!(sentence.starts_with("zod-json and fusion-xml are as good, within 5 points (0 ["), "{sentence}");
    assert!(sentence.ends_with("]); zod-json costs 33% less."), "{sentence}");
}

#[test]
fn two_conditions_without_enough_data() {
    let few = plan(20, vec![model("m")], two());
    let mixed = |cell: CellRef| outcome((cell.scenario.is_multiple_of(3)) == (cell.condition == 1));
    let answer = assert_answer(
        &few,
        &rows(&few, mixed, |_| 1000),
        &[
            "No clear difference between zod-json and fusion-xml (+30 [-16, 65]); >1,000 more scenarios would show a difference of 5 points (80% power); for these 20 scenarios only.",
        ],
    );
    assert!(answer.only_these_scenarios);
    let one = plan(1, vec![model("m")], two());
    let better = |cell: CellRef| in_trials(cell, if cell.condition == 1 { 8 } else { 5 });
    let answer = assert_answer(
        &one,
        &rows(&one, better, |_| 1000),
        &["fusion-xml succeeds in 80%, zod-json in 50%: one situation has no interval; for this 1 scenario only."],
    );
    assert!(matches!(&answer.findings[0], Finding::Pair(pair) if pair.gain.verdict == Verdict::Unknown));
    let one_side = |cell: CellRef| if cell.condition == 1 { Outcome::Infra } else { Outcome::Success };
    assert_answer(
        &few,
        &rows(&few, one_side, |_| 1000),
        &["zod-json and fusion-xml have no trial in which both are scored; for these 20 scenarios only."],
    );
    let lonely = |cell: CellRef| outcome(cell.scenario == 0 && cell.condition == 1 && cell.trial == 0);
    assert_answer(
        &few,
        &rows(&few, lonely, |_| 1000),
        &["No clear difference between fusion-xml and zod-json (+0.5 [-2, 3]); for these 20 scenarios only."],
    );
}

pub(crate) fn four() -> Vec<Condition> {
    let formats = [ErrorFormat::ZodJson, ErrorFormat::FusionXml, ErrorFormat::FusionText, ErrorFormat::Serde];
    formats.map(format_condition).into()
}

#[test]
fn conditions_that_nothing_tells_apart_are_tested_once() {
    let plan = plan(40, vec![model("m")], four());
    let outcomes = |cell: CellRef| outcome(cell.scenario % 5 < if cell.condition == 0 { 2 } else { 3 });
    let report = report(&plan, &rows(&plan, outcomes, |_| 1000)).unwrap();
    let [Finding::Choice(choice)] = &report.answer.findings[..] else { panic!("{:?}", report.answer) };
    let tested: Vec<_> =
        choice.others.iter().filter_map(|other| other.gain.filter(|gain| gain.p_value.is_some())).collect();
    let [gain] = tested[..] else { panic!("{tested:?}") };
    assert_eq!(gain.p_adjusted, gain.p_value);
}

#[test]
fn several_conditions() {
    let plan = plan(80, vec![model("m")], four());
    let billed = |cell: CellRef| [1000, 900, 800, 700][cell.condition];
    // The third one fails in two trials of one scenario: as good as the second one, and cheaper.
    let two_good = |cell: CellRef| match cell.condition {
        1 => in_trials(cell, 8),
        2 => in_trials(cell, if cell.scenario == 0 { 6 } else { 8 }),
        _ => in_trials(cell, 4),
    };
    assert_answer(
        &plan,
        &rows(&plan, two_good, billed),
        &[
            "Use fusion-text (80%, 800 tokens/episode); fusion-xml (80%) is as good, within 5 points, and costs 12% more; serde is worse than fusion-xml by 40 [37, 43]; zod-json by 40 [37, 43].",
        ],
    );
    let one_best = |cell: CellRef| in_trials(cell, [4, 8, 4, 3][cell.condition]);
    let answer = assert_answer(
        &plan,
        &rows(&plan, one_best, billed),
        &[
            "Use fusion-xml (80%, 900 tokens/episode); fusion-text is worse by 40 [37, 43]; zod-json by 40 [37, 43]; serde by 50 [46, 54].",
        ],
    );
    assert_eq!(answer.best_condition("m · natural"), Some("all fusion-xml"));
    let tied = |cell: CellRef| in_trials(cell, 5);
    let answer = assert_answer(
        &plan,
        &rows(&plan, tied, billed),
        &[
            "Use serde (50%, 700 tokens/episode); fusion-text (50%), fusion-xml (50%) and zod-json (50%) are equal here and cost 14% to 43% more.",
        ],
    );
    assert_eq!(answer.best_condition("m · natural"), None);
    // Nothing tells the cheapest one from the best one yet, which is no advice to use it.
    let cheaper = |cell: CellRef| match cell.condition {
        3 => outcome(cell.scenario % 5 < 2),
        _ => outcome(cell.scenario.is_multiple_of(2)),
    };
    assert_answer(
        &plan,
        &rows(&plan, cheaper, billed),
        &[
            "No difference is shown between fusion-text, fusion-xml and 2 more (+10 [-6, 25] for fusion-text over serde); serde is the cheapest of them by 12%; >1,000 more scenarios would show a difference of 5 points (80% power).",
        ],
    );
}

#[test]
fn conditions_with_equally_many_successes() {
    let plan = plan(15, vec![model("m")], four().split_off(1));
    // Each succeeds in two thirds of the scenarios, in others than the next one.
    let thirds = |cell: CellRef| outcome(!(cell.scenario + cell.condition).is_multiple_of(3));
    let report = report(&plan, &rows(&plan, thirds, |cell| 1000 - 100 * cell.condition as u64)).unwrap();
    let [sentence] = &sentences(&report)[..] else { panic!() };
    let (before, after) = sentence.split_once(']').unwrap();
    assert!(before.starts_with("No difference is shown between serde, fusion-text and fusion-xml (0 ["), "{sentence}");
    assert!(after.starts_with(" for serde over fusion-text); serde is the cheapest of them by 11%; "), "{sentence}");
    // What is worse than one of those is not said to be worse than all of them.
    let one_worse = |cell: CellRef| {
        in_trials(cell, if cell.condition == 0 { 0 } else { 8 + u32::from(cell.condition == cell.scenario % 3) })
    };
    let report = self::report(&plan, &rows(&plan, one_worse, |_| 1000)).unwrap();
    let [sentence] = &sentences(&report)[..] else { panic!() };
    assert!(sentence.contains("; fusion-xml is worse than "), "{sentence}");
}

#[test]
fn named_conditions_and_sets_of_guardrails_have_their_nouns() {
    let sets = [Guardrails::NONE, Guardrails::from_bits(1), Guardrails::ALL];
    let sets =
        sets.map(|set| Condition::new(set, if set.healing { ErrorFormat::FusionXml } else { ErrorFormat::Bare }));
    let plan = plan(80, vec![reader("typical")], sets.into());
    assert_answer(
        &plan,
        &rows(&plan, |cell| in_trials(cell, 5), |cell| 100 + cell.condition as u64),
        &[
            "Simulated reader typical: Use no guardrails (50%, 100 tokens/episode); strict (50%) and all guardrails (50%) are equal here and cost 1% to 2% more.",
        ],
    );
}

#[test]
fn several_agents() {
    let plan = plan(80, vec![model("a"), model("b"), model("c"), reader("typical")], two());
    let of = |gains: [i32; 3]| {
        move |cell: CellRef| {
            let gain = gains.get(cell.agent).copied().unwrap_or(5) * (cell.condition as i32);
            in_trials(cell, (5 + gain) as u32)
        }
    };
    let answer = assert_answer(
        &plan,
        &rows(&plan, of([3, 0, 0]), |_| 1000),
        &["fusion-xml is better than zod-json for 1 of 3 agents (a +30 [27, 33]); equal here for b and c."],
    );
    assert_eq!(answer.best_condition("a · natural"), Some("all fusion-xml"));
    assert_eq!(answer.best_condition("b · natural"), None);
    assert_answer(
        &plan,
        &rows(&plan, of([3, 2, 1]), |_| 1000),
        &["fusion-xml is better than zod-json for all 3 agents (a +30 [27, 33], b +20 [17, 23] and c +10 [8, 12])."],
    );
    assert_answer(
        &plan,
        &rows(&plan, of([3, -2, 0]), |_| 1000),
        &[
            "Depends on the agent: fusion-xml is better than zod-json for a +30 [27, 33], worse for b -20 [-23, -17]; equal here for c.",
        ],
    );
    assert_answer(
        &plan,
        &rows(&plan, of([-3, 0, 0]), |_| 1000),
        &["zod-json is better than fusion-xml for 1 of 3 agents (a +30 [27, 33]); equal here for b and c."],
    );
    assert_answer(
        &plan,
        &rows(&plan, of([0, 0, 0]), |_| 1000),
        &["fusion-xml and zod-json are equal here for all 3 agents, in every trial."],
    );
}

#[test]
fn profiles_speak_as_simulated_readers_and_only_without_a_model() {
    let readers = plan(20, vec![reader("blind"), reader("typical")], two());
    let better = |cell: CellRef| in_trials(cell, if cell.agent == 1 && cell.condition == 1 { 9 } else { 3 });
    assert_answer(
        &readers,
        &rows(&readers, better, |_| 1000),
        &[
            "Simulated readers: fusion-xml is better than zod-json for 1 of 2 agents (typical +60 [53, 67]); equal here for blind; for these 20 scenarios only.",
        ],
    );
}

#[test]
fn a_comparison_concludes_from_models_only() {
    let plan = plan(80, vec![reader("typical"), model("m")], two());
    let compared = |of_model: u32| {
        let trials = |cell: CellRef| {
            if cell.condition == 0 {
                5
            } else if cell.agent == 0 {
                8
            } else {
                of_model
            }
        };
        let found =
            matrix_of(&plan, &rows(&plan, |cell| in_trials(cell, trials(cell)), |_| 1000), Axis::Condition, None);
        matrix(&found, 200, false)
    };
    let [none, better] = [compared(5), compared(8)];
    assert!(none.contains("For models, no clear difference in success to all zod-json."), "{none}");
    assert!(better.contains("Better than all zod-json for models: all fusion-xml. None is clearly worse."), "{better}");
}

#[test]
fn a_comparison_tells_as_good_from_no_clear_difference() {
    let plan = plan(80, vec![reader("typical")], two());
    // One trial of one scenario differs, so that the interval is narrow and holds 0.
    let success = |cell: CellRef| in_trials(cell, 5 + u32::from(cell.scenario == 0 && cell.condition == 1));
    let found = matrix_of(&plan, &rows(&plan, success, |_| 1000), Axis::Condition, None);
    let said = matrix(&found, 200, false);
    assert!(
        said.contains("As good, within 5 points, as all zod-json: all fusion-xml. None is clearly better or worse."),
        "{said}"
    );
}

#[test]
fn claims() {
    let mut plan = plan(
        2,
        vec![model("m")],
        vec![
            Condition::new(Guardrails::NONE, ErrorFormat::Bare),
            Condition::new(Guardrails::ALL, ErrorFormat::FusionXml),
        ],
    );
    let claim = |without: Span, with: Span| Claim {
        measure: Measure::Calls,
        says: "Fewer calls.".to_owned(),
        without: Some(without),
        with: Some(with),
    };
    let near = Span { from: 2.0, to: 3.0 };
    let far = Span { from: 50.0, to: 60.0 };
    let edge = Span { from: 2.5, to: 9.0 };
    plan.scenarios[0].claims = vec![claim(near, near), claim(near, far)];
    plan.scenarios[1].claims = vec![claim(edge, near)];
    let mut records = rows(&plan, |_| Outcome::Success, |_| 1000);
    for row in &mut records.episodes {
        row.calls = 2 + row.episode as u32 % 2;
    }
    let mut calls = Vec::new();
    for row in &records.episodes {
        let template = records.calls[0].clone();
        let call = |call| CallRecord { episode: row.episode, call, chain: None, chain_end: None, ..template.clone() };
        calls.extend((1..=row.calls).map(call));
    }
    records.calls = calls;
    let answer = assert_answer(&plan, &records, &["1 of 3 claims supported, 1 contradicted, 1 undecided."]);
    assert_eq!(answer.findings.len(), 1, "a suite of claims asks nothing else");
}

#[test]
fn servers() {
    let plain = Condition::new(Guardrails::NONE, ErrorFormat::Bare);
    let mut plan = plan(80, vec![model("m")], vec![plain, format_condition(ErrorFormat::FusionXml)]);
    plan.environment.server = Some("git".to_owned());
    let mut records = rows(&plan, |cell| in_trials(cell, if cell.condition == 1 { 8 } else { 5 }), |_| 1000);
    let template = records.calls[0].clone();
    records.calls = Vec::new();
    for row in &mut records.episodes {
        let cell = plan.cell(row.episode).unwrap();
        let fixed = cell.condition == 1 || cell.scenario.is_multiple_of(4);
        let tool = if cell.scenario.is_multiple_of(2) { "log" } else { "diff" };
        (row.calls, row.counts.chains, row.counts.errors_fixed) = (2, 1, u32::from(fixed));
        let call = |call, is_error| CallRecord {
            episode: row.episode,
            call,
            is_error,
            tool: tool.into(),
            chain: Some(1),
            chain_end: (!is_error && fixed).then_some(ChainEnd::Fixed),
            ..template.clone()
        };
        records.calls.extend([call(1, true), call(2, !fixed)]);
    }
    assert_answer(
        &plan,
        &records,
        &[
            "git's texts let m fix 25% of errors; guarded, 100%. Worst: diff (0 of 400).",
            "m: Use all guardrails: +30 points [27, 33] over no guardrails (50% → 80%), as many tokens.",
        ],
    );
    for row in &mut records.episodes {
        (row.counts.chains, row.counts.errors_fixed) = (0, 0);
    }
    records.calls.iter_mut().for_each(|call| (call.chain, call.chain_end) = (None, None));
    let answer = report(&plan, &records).unwrap();
    assert_eq!(sentences(&answer)[0], "git: m met no error.");
}

#[test]
fn the_answer_is_last_and_in_every_output() {
    let plan = plan(20, vec![reader("blind"), reader("typical"), reader("perfect")], four());
    let success = |cell: CellRef| in_trials(cell, if cell.agent == 0 { 2 } else { [4, 8, 4, 3][cell.condition] });
    let report = report(&plan, &rows(&plan, success, |_| 1000)).unwrap();
    for (lines, width) in [(Some(24), 100), (Some(24), 60), (None, 100)] {
        let options = TerminalOptions { width, color: false, detail: Detail::Summary, lines };
        let text = terminal(&report, options);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (answer, last) = words.rsplit_once(". ").unwrap();
        assert!(answer.ends_with("; for these 20 scenarios only"), "{text}");
        assert_eq!(last, "No model has been asked about these conditions.");
        assert!(lines.is_none_or(|most| text.lines().count() <= most), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    let json = healbench_render::json(&report).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["answer"]["findings"][1]["choice"]["name"], "fusion-xml");
    assert_eq!(json["answer"]["findings"][1]["is_best"], true);
}
