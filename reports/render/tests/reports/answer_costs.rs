//! Tests of what is as good as a recommended condition, of what it costs, and of the scenarios on which that stands.

use healbench_analysis::{Finding, Verdict};
use healbench_core::{CellRef, Plan};
use healbench_render::html::{RunPage, Transcripts, run as page};

use crate::answer::{assert_answer, four, in_trials, model, plan, rows, two};
use crate::sample::manifest;
use crate::summary::report;

/// Returns a plan of 80 scenarios in two families, of which `lists` has 20.
fn families(mut plan: Plan) -> Plan {
    for (at, scenario) in plan.scenarios.iter_mut().enumerate() {
        scenario.id = format!("{}/{at}", if at < 20 { "lists" } else { "values" });
        scenario.cluster.clone_from(&scenario.id);
    }
    plan
}

/// Costs 1,000 tokens, and under the last condition less in `lists` alone.
fn less_in_lists(conditions: usize) -> impl Fn(CellRef) -> u64 {
    move |cell| match cell.scenario {
        _ if cell.condition + 1 < conditions => 1000,
        0..20 => 100,
        _ => 1100,
    }
}

#[test]
fn a_small_loss_is_as_good_although_it_is_clear() {
    let plan = plan(80, vec![model("m")], four());
    // The first one loses a trial in ten scenarios.
    let success = |cell: CellRef| match cell.condition {
        0 => in_trials(cell, 8 - u32::from(cell.scenario.is_multiple_of(8))),
        1 => in_trials(cell, 8),
        2 => in_trials(cell, if cell.scenario == 0 { 6 } else { 8 }),
        _ => in_trials(cell, 4),
    };
    let answer = assert_answer(
        &plan,
        &rows(&plan, success, |cell| [1000, 900, 800, 700][cell.condition]),
        &[
            "Use fusion-text (80%, 800 tokens/episode); fusion-xml (80%) and zod-json (79%) are as good, within 5 points, and cost 12% to 25% more; serde is worse than fusion-xml by 40 [37, 43].",
        ],
    );
    let [Finding::Choice(choice)] = &answer.findings[..] else { panic!("{answer:?}") };
    let gain = choice.others[1].gain.unwrap();
    assert!(gain.interval.unwrap().upper < 0.0 && gain.p_adjusted.unwrap() < 0.05, "{gain:?}");
    assert_eq!((gain.verdict, choice.others[1].verdict), (Verdict::AsGood, Verdict::AsGood));
}

#[test]
fn what_costs_about_as_much_has_one_figure() {
    let plan = plan(80, vec![model("m")], four());
    assert_answer(
        &plan,
        &rows(&plan, |cell| in_trials(cell, 5), |cell| [1099, 1101, 1104, 1000][cell.condition]),
        &[
            "Use serde (50%, 1,000 tokens/episode); zod-json (50%), fusion-xml (50%) and fusion-text (50%) are equal here and cost 10% more.",
        ],
    );
}

#[test]
fn a_saving_that_one_family_makes_names_it() {
    let plan = families(plan(80, vec![model("m")], four()));
    let records = |plan: &Plan| rows(plan, |cell| in_trials(cell, 5), less_in_lists(plan.conditions.len()));
    let answer = assert_answer(
        &plan,
        &records(&plan),
        &[
            "Use serde (50%, 850 tokens/episode); zod-json (50%), fusion-xml (50%) and fusion-text (50%) are equal here and cost 18% more (without lists 9% less), although less in at least 60 of 80 scenarios.",
        ],
    );
    let [Finding::Choice(choice)] = &answer.findings[..] else { panic!("{answer:?}") };
    let without = choice.saving_without.clone().unwrap();
    assert_eq!((without.left_out.as_str(), without.is_family), ("lists", true));
    assert!((without.saving + 0.1).abs() < 1e-9, "{without:?}");
    // The same where nothing may be recommended, and for two conditions.
    let once = Plan { trials: 1, ..plan };
    assert_answer(
        &once,
        &records(&once),
        &[
            "serde, zod-json and 2 more are equal here, in every trial; serde is the cheapest of them by 15% (without lists 10% dearer).",
        ],
    );
    let pair = Plan { conditions: two(), ..once };
    assert_answer(
        &pair,
        &records(&pair),
        &[
            "fusion-xml and zod-json are equal here, in every trial; fusion-xml costs 15% less (without lists 10% more).",
        ],
    );
    // A family without which less is saved, but something, is not named.
    let cheaper = |cell: CellRef| if cell.condition == 0 { 1000 } else { less_in_lists(2)(cell).min(990) };
    assert_answer(
        &pair,
        &rows(&pair, |cell| in_trials(cell, 5), cheaper),
        &["fusion-xml and zod-json are equal here, in every trial; fusion-xml costs 23% less."],
    );
}

#[test]
fn the_page_says_as_good_as_the_answer_does() {
    let plan = Plan { trials: 1, ..plan(200, vec![model("m")], two()) };
    let success = |cell: CellRef| in_trials(cell, if cell.scenario == cell.condition { 0 } else { 10 });
    let report = report(&plan, &rows(&plan, success, |_| 1000)).unwrap();
    let (manifest, transcripts) = (manifest(&plan), Transcripts::default());
    let html =
        page(&RunPage { name: "run", manifest: &manifest, report: &report, transcripts: &transcripts, served: false });
    let html = html.unwrap();
    assert!(html.contains(": as good, within 5 points</div>"), "{html}");
    assert!(html.contains("zod-json and fusion-xml are as good, within 5 points (0 ["), "{html}");
    assert!(!html.contains("no clear difference</div>"), "{html}");
}
