use healbench_protocol::ErrorFormat;
use healbench_record::Plan;
use healbench_reports::render::{Detail, TerminalOptions, json, plain_text, terminal};
use healbench_reports::statistics::Interval;
use healbench_reports::{Difference, Report, summarise};
use unicode_width::UnicodeWidthStr as _;

use crate::ablation::sweep;
use crate::sample::{manifest, plan, records, run_with};

fn report(plan: &Plan) -> Report {
    let (_folder, run) = run_with(plan, &records(plan));
    summarise(&run, &manifest(plan)).unwrap()
}

fn shown(report: &Report, width: usize, detail: Detail) -> String {
    let text = terminal(report, TerminalOptions { width, color: false, detail });
    let widest = text.lines().map(|line| line.width()).max().unwrap();
    assert!(widest <= width, "{widest} columns of {width}:\n{text}");
    assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
    text
}

#[test]
fn a_summary_at_80_columns() {
    insta::assert_snapshot!(shown(&report(&plan(20)), 80, Detail::Summary), @"
    quickstart · 3 scenarios · 2 agents · 20 trials · 360 episodes · seed 7

                          success         vs none  recov-  calls  tokens  tokens
                                %          points    ered    /ok     /ok  wasted
    scripted:typical
      none            45 [33, 59]    —                42%    3.8     978     61%
      all fusion-xml  62 [49, 74]  +16   [-4, 35]     63%    3.5     984     40%
      strict+healing fusion-text
                      65 [51, 76]  +21   [-2, 42]     66%    3.9   1,024     42%
    llm:openai:gpt-5-mini
      none            37 [26, 50]    —                34%    4.5   1,234     56%
      all fusion-xml  58 [44, 71]  +19 [-0.9, 38]     66%    4.2   1,104     44%
      strict+healing fusion-text
                      70 [57, 80]  +34   [16, 50]     73%    3.6     983     45%

    Intervals are 95%: Wilson for a rate, Tango for a paired difference (points).
    recovered: success where something was scheduled to go wrong. /ok: per success.
    `scripted:` rows show what the texts say, and nothing about a real model.
    Not scored: 33 episodes lost to infrastructure, 1 episode lost to configuration.
    Left out of `vs none`, for one of the two episodes is missing or not scored:
    scripted:typical all fusion-xml 11; scripted:typical strict+healing fusion-text
    13; llm:openai:gpt-5-mini all fusion-xml 13; llm:openai:gpt-5-mini
    strict+healing fusion-text 7.
    ");
}

#[test]
fn everything_at_100_columns() {
    insta::assert_snapshot!(shown(&report(&plan(20)), 100, Detail::Scenarios), @"
    quickstart · 3 scenarios · 2 agents · 20 trials · 360 episodes · seed 7

                                      success         vs none  recov-  calls  tokens  tokens
                                            %          points    ered    /ok     /ok  wasted
    scripted:typical
      none                        45 [33, 59]    —                42%    3.8     978     61%
      all fusion-xml              62 [49, 74]  +16   [-4, 35]     63%    3.5     984     40%
      strict+healing fusion-text  65 [51, 76]  +21   [-2, 42]     66%    3.9   1,024     42%
    llm:openai:gpt-5-mini
      none                        37 [26, 50]    —                34%    4.5   1,234     56%
      all fusion-xml              58 [44, 71]  +19 [-0.9, 38]     66%    4.2   1,104     44%
      strict+healing fusion-text  70 [57, 80]  +34   [16, 50]     73%    3.6     983     45%

                                  first call  chains     calls    false  fields  guardrail
                                          ok  mended  repeated  success  leaked     tokens
    scripted:typical
      none                               25%     57%       22%      30%      78          0
      all fusion-xml                     54%     78%       27%      16%     119      5,897
      strict+healing fusion-text         44%     90%       24%       7%     145      5,172
    llm:openai:gpt-5-mini
      none                               28%     62%       24%      33%      73          0
      all fusion-xml                     46%     92%       18%      10%     122      5,189
      strict+healing fusion-text         41%    100%       25%       4%     129      6,783

                             none         all  strict+healing
                                   fusion-xml     fusion-text
    scripted:typical
      billing/new-currency   8/18       13/18           12/18
      orders/typo            7/18       11/20           11/17
      control/nothing-wrong  9/17       11/18           12/19

                             none         all  strict+healing
                                   fusion-xml     fusion-text
    llm:openai:gpt-5-mini
      billing/new-currency   7/19       12/17           13/18
      orders/typo            6/19       11/18           14/19
      control/nothing-wrong  8/19        6/15           12/19

    Intervals are 95%: Wilson for a rate, Tango for a paired difference (points).
    recovered: success where something was scheduled to go wrong. /ok: per success.
    `scripted:` rows show what the texts say, and nothing about a real model.
    Not scored: 33 episodes lost to infrastructure, 1 episode lost to configuration.
    Left out of `vs none`, for one of the two episodes is missing or not scored: scripted:typical all
    fusion-xml 11; scripted:typical strict+healing fusion-text 13; llm:openai:gpt-5-mini all fusion-xml
    13; llm:openai:gpt-5-mini strict+healing fusion-text 7.
    ");
}

#[test]
fn a_narrow_terminal_loses_the_intervals_and_nothing_else() {
    insta::assert_snapshot!(shown(&report(&plan(20)), 56, Detail::Summary), @"
    quickstart · 3 scenarios · 2 agents · 20 trials
    360 episodes · seed 7

            success  vs none  recov-  calls  tokens  tokens
                  %   points    ered    /ok     /ok  wasted
    scripted:typical
      none       45        —     42%    3.8     978     61%
      all fusion-xml
                 62      +16     63%    3.5     984     40%
      strict+healing fusion-text
                 65      +21     66%    3.9   1,024     42%
    llm:openai:gpt-5-mini
      none       37        —     34%    4.5   1,234     56%
      all fusion-xml
                 58      +19     66%    4.2   1,104     44%
      strict+healing fusion-text
                 70      +34     73%    3.6     983     45%

    The 95% intervals are left out, for the terminal is too
    narrow. `vs none` is in percentage points.
    recovered: success where something was scheduled to go
    wrong. /ok: per success.
    `scripted:` rows show what the texts say, and nothing
    about a real model.
    Not scored: 33 episodes lost to infrastructure, 1
    episode lost to configuration.
    Left out of `vs none`, for one of the two episodes is
    missing or not scored: scripted:typical all fusion-xml
    11; scripted:typical strict+healing fusion-text 13;
    llm:openai:gpt-5-mini all fusion-xml 13;
    llm:openai:gpt-5-mini strict+healing fusion-text 7.
    ");
}

#[test]
fn effects_of_all_sets_of_guardrails() {
    let plan = sweep(40, 0..16, &[ErrorFormat::FusionXml]);
    let mut report = report(&plan);
    // The other tables are shown above.
    report.agents.clear();
    report.totals.unmatched = 0;
    insta::assert_snapshot!(shown(&report, 80, Detail::Summary));
    insta::assert_snapshot!(shown(&report, 100, Detail::Metrics));
    insta::assert_snapshot!(shown(&report, 56, Detail::Summary));
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
        report.ablation[0].one_in[0].tokens = Difference { difference: Some(tokens), interval };
        terminal(&report, TerminalOptions { width: 80, color: true, detail: Detail::Summary })
    };
    assert!(painted(-5.0).contains("\u{1b}[32m-5.0"));
    assert!(painted(5.0).contains("\u{1b}[31m+5.0"));
    assert!(!painted(0.5).contains("\u{1b}[31m+0.5"));
}

#[test]
fn colour_marks_only_differences_that_exclude_zero() {
    let mut report = report(&plan(20));
    let text = |report: &Report| terminal(report, TerminalOptions { width: 80, color: true, detail: Detail::Summary });
    assert!(text(&report).contains("\u{1b}[32m+"));
    assert!(!text(&report).contains("\u{1b}[31m"));
    for row in report.agents.iter_mut().flat_map(|agent| &mut agent.rows) {
        if let Some(paired) = &mut row.vs_none {
            paired.interval.as_mut().unwrap().lower = -0.1;
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
    assert!(text.contains(r"llm:\u{9b}31mred\u{7}"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()));
}

#[test]
fn plain_text_leaves_text_alone() {
    for text in ["", "billing/create", "Größe 漢字 🙂 naïve"] {
        assert!(matches!(plain_text(text), std::borrow::Cow::Borrowed(same) if same == text));
    }
    assert_eq!(plain_text("a\tb\r\u{200b}\u{feff}"), r"a\tb\r\u{200b}\u{feff}");
}

#[test]
fn json_says_unknown_as_null() {
    let plan = plan(2);
    let (_folder, run) = run_with(&plan, &healbench_record::Records::default());
    let text = json(&summarise(&run, &manifest(&plan)).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let row = &value["agents"][0]["rows"][1];
    assert_eq!(row["guardrails"], "all");
    assert_eq!(row["format"], "fusion-xml");
    assert_eq!(row["success"], serde_json::json!({"numerator": 0, "denominator": 0, "rate": null}));
    assert!(row["success_interval"].is_null() && row["vs_none"]["difference"].is_null());
    assert_eq!(value["agents"][0]["kind"], "scripted");
    assert!(text.ends_with("}\n"));
}
