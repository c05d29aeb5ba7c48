//! Snapshot tests of the layout of the terminal output, for sample reports and several widths.

use healbench_analysis::statistics::Interval;
use healbench_analysis::{Difference, Report, Scope, Verdict, summarize};
use healbench_core::{
    CallRecord, Claim, EndedBy, EpisodeCounts, EpisodeRecord, ErrorFormat, Measure, Outcome, Plan, Span, ToolsMode,
};
use healbench_frames::Rows;
use healbench_render::{Detail, TerminalOptions, json, terminal};
use healbench_text::plain_text;
use unicode_width::UnicodeWidthStr as _;

use crate::ablation::sweep;
use crate::sample::{manifest, plan, records, run_with};

fn report(plan: &Plan) -> Report {
    let (_folder, run) = run_with(plan, &records(plan));
    summarize(&Rows(&run), &manifest(plan), Scope::Full).unwrap()
}

fn shown(report: &Report, width: usize, detail: Detail) -> String {
    let text = terminal(report, TerminalOptions { width, color: false, detail, lines: None });
    let widest = text.lines().map(|line| line.width()).max().unwrap();
    assert!(widest <= width, "{widest} columns of {width}:\n{text}");
    assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
    text
}

#[test]
fn a_summary_at_80_columns() {
    insta::assert_snapshot!(shown(&report(&plan(20)), 80, Detail::Summary), @"
    quickstart · 3 scenarios · 2 agents · 20 trials · 360 episodes · seed 7

                success      points vs                calls    billed  wasted
                      %      reference  recovered  /success  /success  tokens
    scripted:typical
      none  40             —                  34%       7.0     9,474     75%
      all fusion-xml
            63           +22 [-78, 89]        64%       5.0     6,615     55%
      strict+healing fusion-text
            67           +26 [-73, 89]        69%       5.1     6,493     57%
    openai:gpt-5-mini · seeded · prompt
      none  38 [27, 51]    —                  36%       6.2     7,292     68%
      all fusion-xml
            62 [49, 74]  +23 [-94, 97]        71%       6.1     4,392     64%
      strict+healing fusion-text
            71 [58, 81]  +32 [-72, 90]        75%       4.6     3,391     59%

    The reference is `none`.
    Intervals are 95%. Of differences: for other scenarios of these suites
    (clustered score). Of a rate: for the same scenarios run again (Wilson);
    simulated readers and replays have none: they never vary with the same seed.
    recovered: success in episodes with a scheduled mistake or fault.
    billed: tokens of every turn, which is sent everything that is in the
    conversation then, and of its output.
    seeded: the conversation begins with the scheduled mistake as the model's first
    call.
    Not scored: 32 episodes lost to infrastructure, 1 episode lost to configuration.
    Left out of the differences because one of the two episodes is missing or not
    scored: scripted:typical all fusion-xml 14; scripted:typical strict+healing
    fusion-text 7; openai:gpt-5-mini · seeded · prompt all fusion-xml 12;
    openai:gpt-5-mini · seeded · prompt strict+healing fusion-text 10.
    openai:gpt-5-mini · seeded · prompt, no guardrails → all fusion-xml: more
    succeed in 2 of 3 scenarios, fewer in 1; the largest differences:
    billing/new-currency (+41), orders/typo (+29), control/nothing-wrong (-2).

    No difference is shown between strict+healing fusion-text, all fusion-xml and no
    guardrails (+32 [-72, 90] for strict+healing fusion-text over no guardrails);
    strict+healing fusion-text is the cheapest of them by 12%; >1,000 more scenarios
    would show a difference of 5 points (80% power); for these 3 scenarios only.
    Rows of simulated readers (`scripted:`), fitted to no model, show how far a text
    gets them.
    ");
}

#[test]
fn everything_at_100_columns() {
    insta::assert_snapshot!(shown(&report(&plan(20)), 100, Detail::Scenarios), @"
    quickstart · 3 scenarios · 2 agents · 20 trials · 360 episodes · seed 7

                                      success      points vs                calls    billed  wasted
                                            %      reference  recovered  /success  /success  tokens
    scripted:typical
      none                        40             —                  34%       7.0     9,474     75%
      all fusion-xml              63           +22 [-78, 89]        64%       5.0     6,615     55%
      strict+healing fusion-text  67           +26 [-73, 89]        69%       5.1     6,493     57%
    openai:gpt-5-mini · seeded · prompt
      none                        38 [27, 51]    —                  36%       6.2     7,292     68%
      all fusion-xml              62 [49, 74]  +23 [-94, 97]        71%       6.1     4,392     64%
      strict+healing fusion-text  71 [58, 81]  +32 [-72, 90]        75%       4.6     3,391     59%

                      first-call  repeated            hints  told the  success  success    false  leaked
                         success     calls  stuck  followed    answer  if told   if not  success  fields
    scripted:typical
      none                   25%       27%    22%       35%       34%      13%      67%      24%     144
      all fusion-xml         43%       32%    20%       28%       30%      70%      33%      10%     161
      strict+healing fusion-text
                             41%       34%    22%       37%       35%      71%      75%       7%     203
    openai:gpt-5-mini · seeded · prompt
      none                   21%       39%    16%       29%       28%      33%      20%      29%     119
      all fusion-xml         36%       29%    28%       36%       35%      64%     100%       6%     192
      strict+healing fusion-text
                             38%       35%    15%       37%       34%      75%     100%       4%     184

                                   error  errors    wrong   retries  within  within  within
                                  chains   fixed  repairs  (median)       1       2       3
    scripted:typical
      none                            35     40%      11%         5      9%     17%     23%
      all fusion-xml                  25     72%      16%         5      8%     12%     28%
      strict+healing fusion-text      34     68%      21%         4     18%     29%     41%
    openai:gpt-5-mini · seeded · prompt
      none                            30     47%      13%         4      3%     13%     17%
      all fusion-xml                  34     71%      21%         5      6%     12%     24%
      strict+healing fusion-text      32     75%      25%         4     12%     22%     31%

               calls    billed    tokens        call  guardrail  unsent      cost          billed vs
            /episode  /episode  /episode  efficiency     tokens  tokens  /success          reference
    scripted:typical
      none       2.8     3,790       704         36%          0   2,240         —     —
      all fusion-xml
                 3.1     4,150       816         32%     10,442   1,600         —  +568   [556, 574]
      strict+healing fusion-text
                 3.4     4,366       940         29%     10,887   2,080         —  +609   [552, 743]
    openai:gpt-5-mini · seeded · prompt
      none       2.4     2,784       656         42%          0   2,440         —     —
      all fusion-xml
                 3.8     2,734       985         26%     12,560   2,200         —   +41   [-95, 372]
      strict+healing fusion-text
                 3.3     2,404       905         30%     11,680   2,080     0.623  -298 [-336, -276]

                                  pass  pass   pass    pass  pass  pass  pass   pass
                                    @1    @2     @4      @8    ^1    ^2    ^4     ^8
    scripted:typical
      none                         40%   65%    88%     99%   40%   16%    2%  <0.1%
      all fusion-xml               63%   87%    99%    100%   63%   38%   13%   0.8%
      strict+healing fusion-text   67%   90%  99.5%    100%   67%   44%   17%     2%
    openai:gpt-5-mini · seeded · prompt
      none                         38%   63%    88%   99.3%   38%   14%    1%  <0.1%
      all fusion-xml               61%   84%    97%  >99.9%   61%   38%   15%     2%
      strict+healing fusion-text   71%   92%  99.6%    100%   71%   50%   23%     3%

                         input  cached    output  reasoning  o200k /  o200k /  seconds      US $
                      /episode   input  /episode     output    input   output    /turn  /episode
    openai:gpt-5-mini · seeded · prompt
      none               2,633      2%       262        21%      95%      89%      0.6         —
      all fusion-xml     2,591      2%       263        17%      96%      91%      0.6         —
      strict+healing fusion-text
                         2,305      2%       228        23%      95%      92%      0.7     0.442

                   none         all  strict+healing
                         fusion-xml     fusion-text
    scripted:typical
      billing (1)   26%     71% +44         68% +39
      orders (1)    42%      56% +7         70% +26
      control (1)   53%     61% +13         63% +12

                   none         all  strict+healing
                         fusion-xml     fusion-text
    openai:gpt-5-mini · seeded · prompt
      billing (1)   32%     72% +41         76% +38
      orders (1)    41%     70% +29         74% +38
      control (1)   42%      40% -7         63% +22

                             none         all  strict+healing
                                   fusion-xml     fusion-text
    scripted:typical
      billing/new-currency   5/19       12/17           13/19
      orders/typo            8/19        9/16           14/20
      control/nothing-wrong  9/17       11/18           12/19

                             none         all  strict+healing
                                   fusion-xml     fusion-text
    openai:gpt-5-mini · seeded · prompt
      billing/new-currency   6/19       13/18           13/17
      orders/typo            7/17       14/20           14/19
      control/nothing-wrong  8/19        6/15           12/19

    The reference is `none`.
    Intervals are 95%. Of differences: for other scenarios of these suites (clustered score for points,
    BCa bootstrap for the rest). Of a rate: for the same scenarios run again (Wilson); simulated readers
    and replays have none: they never vary with the same seed.
    retries (median): the Kaplan-Meier estimate; chains that were never fixed are censored.
    recovered: success in episodes with a scheduled mistake or fault.
    billed: tokens of every turn, which is sent everything that is in the conversation then, and of its
    output.
    seeded: the conversation begins with the scheduled mistake as the model's first call.
    o200k /: exact o200k_base counts of requests and responses, as a share of the provider's counts.
    Not scored: 32 episodes lost to infrastructure, 1 episode lost to configuration.
    Left out of the differences because one of the two episodes is missing or not scored:
    scripted:typical all fusion-xml 14; scripted:typical strict+healing fusion-text 7; openai:gpt-5-mini
    · seeded · prompt all fusion-xml 12; openai:gpt-5-mini · seeded · prompt strict+healing fusion-text
    10.
    openai:gpt-5-mini · seeded · prompt, no guardrails → all fusion-xml: more succeed in 2 of 3
    scenarios, fewer in 1; the largest differences: billing/new-currency (+41), orders/typo (+29),
    control/nothing-wrong (-2).

    No difference is shown between strict+healing fusion-text, all fusion-xml and no guardrails (+32
    [-72, 90] for strict+healing fusion-text over no guardrails); strict+healing fusion-text is the
    cheapest of them by 12%; >1,000 more scenarios would show a difference of 5 points (80% power); for
    these 3 scenarios only.
    Rows of simulated readers (`scripted:`), fitted to no model, show how far a text gets them.
    ");
}

#[test]
fn a_narrow_terminal_loses_the_intervals_and_nothing_else() {
    insta::assert_snapshot!(shown(&report(&plan(20)), 60, Detail::Summary), @"
    quickstart · 3 scenarios · 2 agents · 20 trials
    360 episodes · seed 7

      success  points vs                calls    billed  wasted
            %  reference  recovered  /success  /success  tokens
    scripted:typical
      none
           40          —        34%       7.0     9,474     75%
      all fusion-xml
           63        +22        64%       5.0     6,615     55%
      strict+healing fusion-text
           67        +26        69%       5.1     6,493     57%
    openai:gpt-5-mini · seeded · prompt
      none
           38          —        36%       6.2     7,292     68%
      all fusion-xml
           62        +23        71%       6.1     4,392     64%
      strict+healing fusion-text
           71        +32        75%       4.6     3,391     59%

    The reference is `none`.
    The 95% intervals are left out because the terminal is too
    narrow. Differences are in percentage points.
    recovered: success in episodes with a scheduled mistake or
    fault.
    billed: tokens of every turn, which is sent everything that
    is in the conversation then, and of its output.
    seeded: the conversation begins with the scheduled mistake
    as the model's first call.
    Not scored: 32 episodes lost to infrastructure, 1 episode
    lost to configuration.
    Left out of the differences because one of the two episodes
    is missing or not scored: scripted:typical all fusion-xml
    14; scripted:typical strict+healing fusion-text 7;
    openai:gpt-5-mini · seeded · prompt all fusion-xml 12;
    openai:gpt-5-mini · seeded · prompt strict+healing
    fusion-text 10.
    openai:gpt-5-mini · seeded · prompt, no guardrails → all
    fusion-xml: more succeed in 2 of 3 scenarios, fewer in 1;
    the largest differences: billing/new-currency (+41),
    orders/typo (+29), control/nothing-wrong (-2).

    No difference is shown between strict+healing fusion-text,
    all fusion-xml and no guardrails (+32 [-72, 90] for
    strict+healing fusion-text over no guardrails);
    strict+healing fusion-text is the cheapest of them by 12%;
    >1,000 more scenarios would show a difference of 5 points
    (80% power); for these 3 scenarios only.
    Rows of simulated readers (`scripted:`), fitted to no model,
    show how far a text gets them.
    ");
}

#[test]
fn effects_of_all_sets_of_guardrails() {
    let plan = sweep(40, 0..16, &[ErrorFormat::FusionXml]);
    let mut report = report(&plan);
    // The other tables are tested above.
    report.agents.clear();
    report.totals.unmatched = 0;
    insta::assert_snapshot!(shown(&report, 80, Detail::Summary));
    insta::assert_snapshot!(shown(&report, 100, Detail::Metrics));
    insta::assert_snapshot!(shown(&report, 60, Detail::Summary));
}

#[test]
fn effects_of_single_guardrails() {
    let mut report = report(&sweep(20, [0, 1, 4, 11, 15], &[ErrorFormat::FusionXml, ErrorFormat::Pydantic]));
    report.agents.clear();
    report.totals.unmatched = 0;
    insta::assert_snapshot!(shown(&report, 80, Detail::Summary));
}

#[test]
fn fewer_tokens_are_green_and_more_are_red() {
    let mut report = report(&sweep(4, [0, 1], &[]));
    report.agents.clear();
    let mut painted = |tokens: f64| {
        let interval = Some(Interval { lower: tokens - 1.0, upper: tokens + 1.0 });
        report.ablation[0].one_in[0].tokens = Difference { difference: Some(tokens), interval, method: None };
        terminal(&report, TerminalOptions { width: 80, color: true, detail: Detail::Summary, lines: None })
    };
    assert!(painted(-5.0).contains("\u{1b}[32m-5.0"));
    assert!(painted(5.0).contains("\u{1b}[31m+5.0"));
    assert!(!painted(0.5).contains("\u{1b}[31m+0.5"));
}

#[test]
fn color_marks_only_clear_differences() {
    let mut report = report(&plan(20));
    let text = |report: &Report| {
        terminal(report, TerminalOptions { width: 80, color: true, detail: Detail::Summary, lines: None })
    };
    for row in report.agents.iter_mut().flat_map(|agent| &mut agent.rows) {
        if let Some(paired) = &mut row.vs_reference {
            paired.difference = Some(0.4);
            paired.verdict = Verdict::Unclear;
        }
    }
    assert!(!text(&report).contains("\u{1b}[32m"), "only the verdict decides");
    for row in report.agents.iter_mut().flat_map(|agent| &mut agent.rows) {
        if let Some(paired) = &mut row.vs_reference {
            paired.verdict = Verdict::Clear;
        }
    }
    assert!(text(&report).contains("\u{1b}[32m+"));
    assert!(!text(&report).contains("\u{1b}[31m"));
    for row in report.agents.iter_mut().flat_map(|agent| &mut agent.rows) {
        if let Some(paired) = &mut row.vs_reference {
            paired.verdict = Verdict::AsGood;
        }
    }
    assert!(!text(&report).contains("\u{1b}[32m"));
}

#[test]
fn names_cannot_paint_the_terminal() {
    let mut plan = plan(2);
    plan.scenarios[0].id = "evil\u{1b}[2J\u{202e}\n".to_owned();
    plan.agents[1].name = "\u{9b}31mred\u{7}".to_owned();
    let text = shown(&report(&plan), 100, Detail::Scenarios);
    assert!(text.contains(r"evil\u{1b}[2J\u{202e}\n"), "{text}");
    assert!(text.contains(r"\u{9b}31mred\u{7}"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn plain_text_leaves_text_alone() {
    for text in ["", "billing/create", "Größe 漢字 🙂 naïve"] {
        assert!(matches!(plain_text(text), std::borrow::Cow::Borrowed(same) if same == text));
    }
    assert_eq!(plain_text("a\tb\r\u{200b}\u{feff}"), r"a\tb\r\u{200b}\u{feff}");
    assert_eq!(plain_text("\u{fffe}\u{fdd0}\u{1ffff}\u{fffd}"), "\\u{fffe}\\u{fdd0}\\u{1ffff}\u{fffd}");
}

#[test]
fn unknown_is_null_in_json() {
    let plan = plan(2);
    let (_folder, run) = run_with(&plan, &healbench_core::Records::default());
    let text = json(&summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &value["agents"][0]["rows"][1];
    assert_eq!(row["guardrails"], "all");
    assert_eq!(row["format"], "fusion-xml");
    assert_eq!(row["success"], serde_json::json!({"numerator": 0, "denominator": 0, "rate": null}));
    assert!(row["success_interval"].is_null() && row["vs_reference"]["difference"].is_null());
    assert_eq!(value["agents"][0]["kind"], "scripted");
    assert!(text.ends_with("}\n"));
}

pub(crate) fn plan_with_claims() -> Plan {
    let mut plan = plan(20);
    let span = |from: f64, to: f64| Some(Span { from, to });
    let claim = |says: &str, measure, without, with| Claim { says: says.to_owned(), measure, without, with };
    plan.scenarios[0].claims = vec![
        claim(
            "A task takes about three calls, with guardrails about two",
            Measure::Calls,
            span(2.4, 3.6),
            span(1.6, 2.4),
        ),
        claim("Fewer calls are repeated", Measure::RepeatedCalls, None, None),
        claim("A response costs a cent", Measure::ResponseUsd(20.0), span(0.008, 0.012), None),
    ];
    plan
}

#[test]
fn claims_with_measurements() {
    let mut report = report(&plan_with_claims());
    report.agents.clear();
    report.totals.unmatched = 0;
    insta::assert_snapshot!(shown(&report, 80, Detail::Summary));
    insta::assert_snapshot!(shown(&report, 60, Detail::Summary));
}

#[test]
fn claims_without_a_condition_to_compare() {
    let mut plan = plan_with_claims();
    plan.conditions.truncate(3);
    plan.conditions.drain(..2);
    let mut report = report(&plan);
    report.agents.clear();
    let text = shown(&report, 80, Detail::Summary);
    assert!(text.contains("neither `none` nor `all`"), "{text}");
}

#[test]
fn measurements_match_the_rows() {
    let plan = plan_with_claims();
    let rows = records(&plan);
    let report = report(&plan);
    for (claim, of) in report.claims.iter().zip([
        (|row: &EpisodeRecord| f64::from(row.calls)) as fn(&EpisodeRecord) -> f64,
        |row| f64::from(row.counts.repeated_calls),
        |row| f64::from(row.counts.largest_response) * 20.0 / 1e6,
    ]) {
        for found in &claim.rows {
            let mine = rows.episodes.iter().filter(|row| {
                let cell = plan.cell(row.episode).unwrap();
                let condition = &plan.conditions[cell.condition];
                cell.scenario == 0
                    && plan.agents[cell.agent].to_string() == found.agent
                    && (condition.guardrails(), condition.format())
                        == (found.condition.guardrails(), found.condition.format())
                    && row.outcome.is_scored()
            });
            let numbers: Vec<f64> = mine.map(of).collect();
            let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
            assert!((found.mean.unwrap() - mean).abs() < 1e-9, "{} {}", found.agent, found.condition.guardrails());
            assert_eq!(found.success.denominator, numbers.len() as u64);
            let interval = found.interval.unwrap();
            assert!(interval.lower <= mean && mean <= interval.upper && interval.lower >= 0.0);
        }
        assert_eq!(claim.rows.len(), 4, "two agents, without guardrails and with all of them");
    }
}

#[test]
fn waiting_that_cannot_be_measured_is_said() {
    let note = |waits: &[usize]| {
        let mut plan = plan(2);
        waits.iter().for_each(|at| plan.scenarios[*at].waits_on_retry = true);
        let text = shown(&report(&plan), 200, Detail::Summary);
        text.lines().find(|line| line.contains("on_retry")).map(|line| line.trim().to_owned())
    };
    let said = |scenarios: &str| format!("Whether an agent waits is not measured in {scenarios} (`clock: on_retry`).");
    let ids: Vec<String> = plan(2).scenarios.iter().map(|scenario| format!("`{}`", scenario.id)).collect();
    assert_eq!(note(&[]), None);
    assert_eq!(note(&[1]), Some(said(&ids[1])));
    assert_eq!(note(&[0, 2]), Some(said(&format!("{} and 1 more", ids[0]))));
}

#[test]
fn the_words_for_answers_are_summed_under_the_table() {
    let plan = plan(2);
    let note = |words: &[&str]| {
        let mut records = records(&plan);
        let models = records.episodes.iter_mut().filter_map(|row| row.model.as_mut());
        for (model, word) in models.zip(words) {
            model.diagnostics.push((*word).to_owned());
        }
        let (_folder, run) = run_with(&plan, &records);
        let text = shown(&summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap(), 400, Detail::Summary);
        text.lines().find(|line| line.contains("Servers: ")).map(|line| line.trim().to_owned())
    };
    assert_eq!(note(&[]), None);
    let said = "Servers: 2 answers were cut by a limit on output; 1 answer came from another model, `o'x`.";
    assert_eq!(note(&["cut", "model o`x", "cut"]).as_deref(), Some(said));
}

#[test]
fn an_agent_with_native_tools_that_never_calls_is_named() {
    // The model's first episodes end in words; the very first has the call of the opening and `calls` of its own.
    let note = |tools: ToolsMode, failed: usize, succeeded: usize, calls: u32| {
        let mut plan = plan(2);
        plan.agents[1].tools = Some(tools);
        let mut records = records(&plan);
        let call = records.calls[0].clone();
        records.calls.retain(|call| plan.cell(call.episode).unwrap().agent == 0);
        let rows = records.episodes.iter_mut().filter(|row| row.model.is_some());
        for (index, row) in rows.enumerate() {
            row.ended_by = if index < failed + succeeded { EndedBy::Answer } else { EndedBy::Incomplete };
            row.outcome = if index < failed { Outcome::TaskFail } else { Outcome::Success };
            row.calls = if index == 0 { 1 + calls } else { 0 };
            row.model.as_mut().unwrap().opening_calls = u32::from(index == 0);
            let made: Vec<CallRecord> = (1..=row.calls)
                .map(|number| CallRecord { episode: row.episode, call: number, turn: Some(number), ..call.clone() })
                .collect();
            row.counts = EpisodeCounts::from_calls(&made);
            records.calls.extend(made);
        }
        records.calls.sort_by_key(|call| call.episode);
        let (_folder, run) = run_with(&plan, &records);
        let report = summarize(&Rows(&run), &manifest(&plan), Scope::Full).unwrap();
        assert!(report.agents[0].diagnostics.is_empty(), "a simulated reader has no server");
        let text = shown(&report, 400, Detail::Summary);
        text.lines().find(|line| line.contains("Servers: ")).map(|line| line.trim().to_owned())
    };
    let said = "Servers: none of 4 answers has a tool call: does the chat template of the server know tools? \
                `tools = \"prompt\"` does without.";
    assert_eq!(note(ToolsMode::Native, 3, 1, 0).as_deref(), Some(said));
    assert_eq!(note(ToolsMode::Native, 3, 1, 1), None);
    assert_eq!(note(ToolsMode::Native, 2, 4, 0), None, "stopping may be right");
    assert_eq!(note(ToolsMode::Prompt, 3, 1, 0), None);
}
