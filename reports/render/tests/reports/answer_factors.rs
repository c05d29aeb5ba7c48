//! Answers about conditions that vary by factors: content and form, and sets of guardrails.

use healbench_analysis::{Finding, Verdict};
use healbench_core::{CellRef, Condition, Content, ErrorFormat, Guardrails, Records};

use crate::answer::{assert_answer, in_trials, model, plan, rows, sentences, with_content};
use crate::summary::report;

/// The conditions of two levels of content in two formats.
fn grid() -> Vec<Condition> {
    let contents = [Content::NextStep, Content::Diagnosis];
    let formats = [ErrorFormat::ZodJson, ErrorFormat::FusionXml];
    contents.into_iter().flat_map(|content| formats.clone().map(|format| with_content(format, content))).collect()
}

#[test]
fn content_and_form() {
    let plan = plan(80, vec![model("m")], grid());
    // next-step zod-json, next-step fusion-xml, diagnosis zod-json, diagnosis fusion-xml. One scenario differs, so that there is an interval.
    let successes = |successes: [u32; 4]| {
        // Two scenarios differ, so that there are intervals: one in its form and one in its content.
        move |cell: CellRef| {
            let form = u32::from(cell.scenario == 0 && cell.condition % 2 == 1);
            in_trials(cell, successes[cell.condition] + form + u32::from(cell.scenario == 1 && cell.condition < 2))
        }
    };
    assert_answer(
        &plan,
        &rows(&plan, successes([8, 8, 4, 4]), |_| 1000),
        &[
            "next-step counts (+40 [40, 40] over diagnosis); form adds nothing clear (fusion-xml over zod-json +0.1 [-0.1, 0.4]).",
        ],
    );
    let report_of = |count| report(&plan, &rows(&plan, move |cell| in_trials(cell, count), |_| 1000)).unwrap();
    let depends = |cell: CellRef| {
        let bonus = u32::from(cell.scenario == 0 && cell.condition == 1);
        in_trials(cell, [4, 8, 4, 4][cell.condition] + bonus)
    };
    assert_answer(
        &plan,
        &rows(&plan, depends, |_| 1000),
        &[
            "Depends on the form: next-step gives 40 points [40, 40] more over diagnosis in fusion-xml than in zod-json.",
        ],
    );
    let flat = report_of(4);
    let Finding::ContentAndForm(found) = &flat.answer.findings[0] else { panic!("{:?}", flat.answer) };
    assert_eq!((found.content_gain.difference, found.content_gain.verdict), (Some(0.0), Verdict::Unknown));
    assert!(sentences(&flat)[0].starts_with("next-step 0 over diagnosis, without an interval; "), "{flat:?}");
}

fn sweep(word: &str) -> Vec<Condition> {
    let sets = Guardrails::sweep(word).unwrap();
    sets.into_iter()
        .map(|set| Condition::new(set, if set.healing { ErrorFormat::FusionXml } else { ErrorFormat::Bare }))
        .collect()
}

#[test]
fn without_each_guardrail() {
    let plan = plan(80, vec![model("m")], sweep("one-out"));
    // All, then without strict, healing, truncation and contract.
    let missed = |cell: CellRef| in_trials(cell, [8, 6, 3, 8, 8][cell.condition]);
    // Truncation saves by itself, and contract costs.
    let tokens = |cell: CellRef| [1000, 900, 900, 8000 + 10 * cell.scenario, 990 - cell.scenario % 3][cell.condition];
    let with_tokens = |mut records: Records, tokens: &dyn Fn(CellRef) -> usize| {
        for row in &mut records.episodes {
            row.counts.call_tokens = 0;
            row.prose_tokens = Some(tokens(plan.cell(row.episode).unwrap()) as u32);
        }
        records
    };
    assert_answer(
        &plan,
        &with_tokens(rows(&plan, missed, |_| 1000), &tokens),
        &[
            "healing matters most in fusion-xml: without it -50 points [-54, -46]; without strict -20 [-23, -17]; truncation and contract change nothing clear (truncation saves 7,395 tokens an episode, contract costs 11 tokens an episode).",
        ],
    );
    let harm = |cell: CellRef| in_trials(cell, [6, 6, 6, 8, 6][cell.condition]);
    assert_answer(
        &plan,
        &with_tokens(rows(&plan, harm, |_| 1000), &|_| 1000),
        &[
            "No single guardrail is missed in fusion-xml: the most without strict (0); truncation harms: without it +20 [17, 23]; strict, healing and contract change nothing clear.",
        ],
    );
    let none = |cell: CellRef| in_trials(cell, 6);
    assert_answer(
        &plan,
        &rows(&plan, none, |_| 1000),
        &["No single guardrail is missed in fusion-xml: the most without strict (0)."],
    );
}

#[test]
fn each_guardrail_alone_and_added_last() {
    let one_in = plan(80, vec![model("m")], sweep("one-in"));
    let alone = |cell: CellRef| in_trials(cell, [3, 4, 8, 3, 3][cell.condition]);
    assert_answer(
        &one_in,
        &rows(&one_in, alone, |_| 1000),
        &["Alone in fusion-xml, healing gives +50 points [46, 54]."],
    );
    let none = |cell: CellRef| in_trials(cell, 3);
    assert_answer(
        &one_in,
        &rows(&one_in, none, |_| 1000),
        &["Alone in fusion-xml, no guardrail gives a clear gain; the largest is that of strict, 0."],
    );
    let full = plan(80, vec![model("m")], sweep("full"));
    // Only sets with healing recover; together with strict a little more.
    let both = |cell: CellRef| {
        let bits = full.conditions[cell.condition].guardrails();
        in_trials(cell, 3 + 4 * u32::from(bits.healing) + u32::from(bits.healing && bits.strict))
    };
    assert_answer(
        &full,
        &rows(&full, both, |_| 1000),
        &["Alone in fusion-xml, healing gives +40 points [37, 43]; added last, +50 [46, 54]."],
    );
}
