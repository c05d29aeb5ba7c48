//! Pages, held against the numbers of the report.

use std::collections::BTreeSet;

use healbench_reports::{Ablation, AgentReport, Effect, LATER, Metric, ReportRow};

use crate::forms::{
    Answer, SAMPLES, answer, arrow, at, badge, claim_condition, claim_row, heading, sections, shown, switches,
};
use crate::forms_text::{blocks, words};
use crate::numbers::{self, condition, count, joined, known, named, of_row, on_amount, on_points};
use crate::pages::{all, classed, read, table, table_of, text};

/// The tables of a page: the id, and its columns by their heads, what they show and what they are sorted by.
type Page = (&'static str, &'static [(&'static str, &'static [&'static str], &'static str)]);

const PAGE: [Page; 5] = [
    (
        "rates",
        &[
            ("success", &["success", "success interval"], "/success/rate"),
            ("points vs none", &["vs none", "vs none interval"], "/vs_none/difference"),
            ("p, Holm", &["p"], "/vs_none/p_adjusted"),
            ("recovered", &["recovered"], "/episode_recovery/rate"),
            ("calls/ok", &["calls/ok"], "/calls_per_success/rate"),
            ("tokens/ok", &["tokens/ok"], "/tokens_per_success/rate"),
            ("tokens wasted", &["wasted"], "/wasted_tokens/rate"),
        ],
    ),
    (
        "conduct",
        &[
            ("first call ok", &["first call"], "/first_call_success/rate"),
            ("calls repeated", &["repeated"], "/repeated_calls/rate"),
            ("error spirals", &["spirals"], "/stuck/rate"),
            ("hints taken", &["hints"], "/hints_followed/rate"),
            ("false success", &["false success"], "/false_success/rate"),
            ("fields leaked", &["leaked"], "/leaked_fields"),
        ],
    ),
    (
        "chains",
        &[
            ("error chains", &["chains"], "/errors_fixed/denominator"),
            ("mended", &["mended"], "/errors_fixed/rate"),
            ("median retries", &["median"], "/retries/median"),
            ("within 1", &["within 1"], "/repair_at/0/chains/rate"),
            ("within 2", &["within 2"], "/repair_at/1/chains/rate"),
            ("within 3", &["within 3"], "/repair_at/2/chains/rate"),
        ],
    ),
    (
        "cost",
        &[
            ("calls/episode", &["calls/episode"], "/calls_per_episode/rate"),
            ("tokens/episode", &["tokens/episode"], "/tokens_per_episode/rate"),
            ("tokens vs none", &["tokens vs none", "tokens vs none interval"], "/tokens_vs_none/difference"),
            ("guardrail tokens", &["guardrail tokens"], "/guardrail_tokens"),
            ("call efficiency", &["efficiency"], "/call_efficiency/rate"),
            ("US $/ok", &["usd/ok"], "/cost_per_success"),
        ],
    ),
    (
        "models",
        &[
            ("input/episode", &["input"], "/model/input_per_episode/rate"),
            ("of it cached", &["cached"], "/model/cache_read/rate"),
            ("output/episode", &["output"], "/model/output_per_episode/rate"),
            ("of it reasoned", &["reasoned"], "/model/reasoning/rate"),
            ("seconds/turn", &["seconds"], "/model/latency_ms_per_turn/rate"),
            ("US $/episode", &["usd/episode"], "/model/usd_per_episode"),
        ],
    ),
];

fn key(key: &Option<String>) -> Option<f64> {
    key.as_ref().filter(|key| !key.is_empty()).map(|key| key.parse().unwrap())
}

#[test]
fn the_tables_of_a_page_show_the_numbers_of_the_report() {
    for sample in SAMPLES.iter() {
        read(&sample.page(), |page| {
            for (id, columns) in PAGE {
                let found = table_of(page, id);
                let heads: Vec<&str> = ["agent", "setting"].into_iter().chain(columns.iter().map(|c| c.0)).collect();
                assert_eq!(found.heads, heads, "{}", sample.name);
                let mut rows = found.rows.iter();
                for (agent, row) in sample.rows() {
                    let (place, texts) = (format!("{}, {id}: {}", sample.name, condition(row)), of_row(row));
                    let cells = rows.next().unwrap();
                    assert_eq!([&cells[0].text, &cells[1].text], [&agent.title, &condition(row)], "{place}");
                    assert_eq!(cells.len(), heads.len());
                    for (cell, (head, keys, pointer)) in cells[2..].iter().zip(columns) {
                        assert_eq!(cell.text, shown(&texts, keys), "{place}, {head}");
                        assert_eq!(key(&cell.key), at(row, pointer), "{place}, what {head} is sorted by");
                    }
                }
                assert!(rows.next().is_none());
            }
            let found = table_of(page, "consistency");
            for ((agent, row), cells) in sample.rows().zip(&found.rows) {
                let any = row.passes.iter().map(|pass| (pass.any, known(pass.any, numbers::percent)));
                let all = row.passes.iter().map(|pass| {
                    let interval = numbers::share_interval(pass.all_interval);
                    (pass.all, joined(&[&known(pass.all, numbers::percent), &interval]))
                });
                let (keys, texts): (Vec<_>, Vec<_>) = any.chain(all).unzip();
                assert_eq!(cells.iter().skip(2).map(|cell| key(&cell.key)).collect::<Vec<_>>(), keys);
                let texts = [agent.title.clone(), condition(row)].into_iter().chain(texts);
                assert_eq!(cells.iter().map(|cell| cell.text.clone()).collect::<Vec<_>>(), texts.collect::<Vec<_>>());
            }
            assert_eq!(found.rows.len(), sample.rows().count());
        });
    }
}

#[test]
fn the_answer_of_a_page_is_that_of_the_report() {
    for sample in SAMPLES.iter() {
        let expected = sample.report.agents.iter().flat_map(|agent| match sample.beside(agent)[..] {
            [left, right] => vec![card(agent, &answer(agent, left, right), left, right)],
            _ => agent.rows.iter().map(|row| alone(agent, row)).collect(),
        });
        let found = read(&sample.page(), |page| classed(page.root(), "answer").map(text).collect::<Vec<_>>());
        assert_eq!(found, expected.collect::<Vec<_>>(), "{}", sample.name);
    }
}

fn card(agent: &AgentReport, answer: &Answer, left: &ReportRow, right: &ReportRow) -> String {
    let mut text = format!("{} {} of episodes succeed", badge(agent), arrow(&answer.success));
    match &answer.points {
        Some(points) => {
            let p = answer.p.as_ref().map(|p| format!(", p {p}:")).unwrap_or_default();
            text += &format!(" {points}{p} {}", answer.told);
        }
        None => text += " There is no pair of scored episodes.",
    }
    let more = |more: &Option<String>| more.as_ref().map(|more| format!(", {more}")).unwrap_or_default();
    text += &format!(" tokens an episode: {}{}", arrow(&answer.tokens), more(&answer.more_tokens));
    text += &format!(" tokens a success: {}", arrow(&answer.tokens_ok));
    text += &format!(" calls an episode: {}{}", arrow(&answer.calls), more(&answer.more_calls));
    if left.model.is_some() || right.model.is_some() {
        text += &format!(" US $ a success, of all scored episodes: {}", arrow(&answer.usd_ok));
    }
    if answer.unmatched > 0 {
        let trials = if answer.unmatched == 1 { "trial" } else { "trials" };
        text +=
            &format!(" Left out: {} {trials} of which one episode is missing or not scored.", count(answer.unmatched));
    }
    text
}

fn alone(agent: &AgentReport, row: &ReportRow) -> String {
    let texts = of_row(row);
    let mut parts = vec![format!("{} {} of episodes succeed", badge(agent), texts["success"])];
    parts.extend([texts["success interval"].clone(), named(row)]);
    parts.push(format!("tokens an episode: {}", texts["tokens/episode"]));
    parts.push(format!("tokens a success: {}", texts["tokens/ok"]));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

#[test]
fn the_effects_of_a_page_are_those_of_the_report() {
    for sample in SAMPLES.iter() {
        let mut ablations = sample.report.ablation.iter().peekable();
        read(&sample.page(), |page| {
            let figures: Vec<_> = all(page.root(), "figure")
                .filter(|figure| all(*figure, "th").any(|head| text(head) == "effect of"))
                .collect();
            for figure in &figures {
                let found = table(*figure);
                let heads = [
                    "agent and format",
                    "effect of",
                    "switch",
                    "success, points",
                    "tokens/episode",
                    "scenarios",
                    "trials matched",
                ];
                assert_eq!(found.heads, heads);
                let (mut expected, mut words, mut drawn) = (Vec::new(), Vec::new(), 0);
                let (mut abouts, mut of) = (BTreeSet::new(), BTreeSet::new());
                let first = ablations.peek().copied();
                let mut taken = 0;
                while let Some(ablation) = ablations.next_if(|next| {
                    let effects = sections(next, true).len();
                    taken == 0 || drawn + effects <= 16
                }) {
                    taken += 1;
                    drawn += sections(ablation, true).len();
                    expected.extend(sections(ablation, false).into_iter().map(|effect| row(ablation, effect)));
                    let effects = sections(ablation, true);
                    abouts.extend(effects.iter().map(|(about, _)| *about));
                    of.extend(effects.iter().map(|(_, effect)| switches(effect)));
                    let effects = effects
                        .into_iter()
                        .map(|(_, effect)| format!("{} {}", switches(effect), on_points(effect.success)));
                    words.push(format!("{}: {}", heading(ablation), effects.collect::<Vec<_>>().join("; ")));
                }
                assert_eq!(found.texts(), expected, "{}", sample.name);
                let described: Vec<_> = all(*figure, "desc").map(|node| node.text().unwrap()).collect();
                assert_eq!(described, [&words.join(". "); 2], "{}", sample.name);
                let caption = match (taken, abouts.len()) {
                    (1, _) => first.map(heading),
                    (_, 1) if of.len() == 1 => Some(format!("{}: {}", of.first().unwrap(), abouts.first().unwrap())),
                    (_, 1) => abouts.first().map(|about| (*about).to_owned()),
                    _ => None,
                };
                assert_eq!(all(*figure, "figcaption").map(text).next(), caption, "{}", sample.name);
            }
            assert!(ablations.next().is_none() || figures.len() == 8, "{}", sample.name);
        });
    }
}

fn row(ablation: &Ablation, (about, effect): (&str, &Effect)) -> [String; 7] {
    let matched = match effect.unmatched {
        0 => count(effect.matched),
        unmatched => format!("{}, {} not", count(effect.matched), count(unmatched)),
    };
    let [success, tokens] = [on_points(effect.success), on_amount(effect.tokens)];
    let (switch, scenarios) = (switches(effect), count(effect.scenarios));
    [heading(ablation), about.to_owned(), switch, success, tokens, scenarios, matched]
}

#[test]
fn the_heat_map_of_a_page_is_the_matrix_of_the_report() {
    let mut seen = 0;
    for sample in SAMPLES.iter() {
        let found = read(&sample.page(), |page| classed(page.root(), "heat").map(table).next());
        let Some(matrix) = &sample.report.matrix else {
            assert!(found.is_none(), "{}", sample.name);
            continue;
        };
        let found = found.unwrap();
        let expected = matrix.rows.iter().enumerate().map(|(index, name)| {
            let reference = if *name == matrix.reference { " reference" } else { "" };
            let cells = matrix.columns.iter().map(|column| {
                let Some(cell) = &column.cells[index] else { return "not in the plan".to_owned() };
                let rate = known(cell.success.rate, numbers::percent);
                let Some(entry) = cell.differences.iter().find(|entry| entry.metric == Metric::Success) else {
                    return joined(&[&rate, &numbers::share_interval(cell.success_interval)]);
                };
                let difference = entry.difference.map_or(String::new(), |difference| {
                    let told = entry.p_adjusted.is_some_and(|p| p < 0.05);
                    let mark = if !told {
                        ""
                    } else if difference > 0.0 {
                        "▲"
                    } else {
                        "▼"
                    };
                    joined(&[mark, &numbers::points(difference), &numbers::points_interval(entry.interval)])
                });
                let p = entry.p_adjusted.map_or(String::new(), |p| format!("p {}", numbers::p_value(p)));
                joined(&[&rate, &difference, &p])
            });
            std::iter::once(format!("{name}{reference}")).chain(cells).collect::<Vec<_>>()
        });
        assert_eq!(found.texts(), expected.collect::<Vec<_>>(), "{}", sample.name);
        let titles = matrix.columns.iter().map(|column| column.title.as_str());
        assert_eq!(found.heads[1..], titles.collect::<Vec<_>>());
        seen += 1;
    }
    assert!(seen > 2, "formats and sets of guardrails");
}

#[test]
fn the_curves_of_a_page_are_those_of_the_report() {
    for sample in SAMPLES.iter() {
        let rows = sample.report.agents.iter().flat_map(|agent| {
            sample.beside(agent).into_iter().flat_map(move |row| {
                row.retries.curve.iter().map(move |step| {
                    let label = format!("{} {}", agent.title, named(row));
                    [label, step.attempts.to_string(), numbers::percent(step.share), count(step.at_risk)]
                })
            })
        });
        let found = read(&sample.page(), |page| {
            let figures = all(page.root(), "figure");
            let tables = figures.filter(|figure| all(*figure, "th").any(|head| text(head) == "chains still tried"));
            tables.map(table).next()
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(found.is_some(), !rows.is_empty(), "{}", sample.name);
        if let Some(found) = found {
            assert_eq!(found.heads, ["agent and setting", "attempts", "mended", "chains still tried"]);
            assert_eq!(found.texts(), rows, "{}", sample.name);
        }
    }
}

#[test]
fn the_calls_of_a_page_are_those_of_the_report() {
    let mut seen = BTreeSet::new();
    for sample in SAMPLES.iter() {
        let classes = &sample.report.error_classes;
        let all_calls = || sample.rows().flat_map(|(_, row)| &row.calls_by_number);
        let others = all_calls().flat_map(|calls| calls.errors.keys()).any(|class| !classes.contains(class));
        seen.insert(others);
        let expected = sample.report.agents.iter().map(|agent| {
            let rows = sample.beside(agent).into_iter().flat_map(|row| {
                row.calls_by_number.iter().map(move |calls| {
                    let number = if calls.number == LATER { "13+".to_owned() } else { calls.number.to_string() };
                    let of = |class: &String| calls.errors.get(class).copied().unwrap_or(0);
                    let told: u64 = classes.iter().map(of).sum();
                    let other = calls.errors.values().sum::<u64>() - told;
                    let mut cells = vec![named(row), number, count(calls.ok)];
                    cells.extend(classes.iter().map(|class| count(of(class))));
                    cells.extend(others.then(|| count(other)));
                    cells
                })
            });
            (agent.title.clone(), rows.collect::<Vec<_>>())
        });
        let expected: Vec<_> = expected.filter(|(_, rows)| !rows.is_empty()).collect();
        read(&sample.page(), |page| {
            let figures = all(page.root(), "figure");
            let figures: Vec<_> =
                figures.filter(|figure| all(*figure, "th").any(|head| text(head) == "call")).collect();
            assert_eq!(figures.len(), expected.len(), "{}", sample.name);
            for (figure, (title, rows)) in figures.into_iter().zip(&expected) {
                assert_eq!(all(figure, "figcaption").map(text).next().as_ref(), Some(title));
                let found = table(figure);
                let heads = ["setting", "call", "ok"].into_iter().map(str::to_owned);
                let heads = heads.chain(classes.iter().cloned()).chain(others.then(|| "other".to_owned()));
                assert_eq!(found.heads, heads.collect::<Vec<_>>());
                assert_eq!(found.texts(), *rows, "{}", sample.name);
            }
        });
    }
    assert_eq!(seen.len(), 2, "with and without others");
}

#[test]
fn the_scenario_rows_of_a_page_are_those_of_the_report() {
    for sample in SAMPLES.iter() {
        let report = &sample.report;
        read(&sample.page(), |page| {
            let rows: Vec<_> = page.descendants().filter(|node| node.attribute("data-flips").is_some()).collect();
            assert_eq!(rows.len(), report.examples.len(), "{}", sample.name);
            for (node, example) in rows.into_iter().zip(&report.examples) {
                let agent = &report.agents[example.agent];
                let cells: Vec<_> =
                    sample.beside(agent).into_iter().map(|row| &row.scenarios[example.scenario]).collect();
                let last = cells[cells.len() - 1];
                let both = |of: &dyn Fn(&healbench_reports::ScenarioRate) -> String| {
                    cells.iter().map(|cell| of(cell)).collect::<Vec<_>>().join(" → ")
                };
                let scenario = &report.scenarios[example.scenario];
                let mut expected = vec![
                    scenario.clone(),
                    agent.title.clone(),
                    format!("success{}", both(&|cell| known(cell.success.rate, numbers::percent))),
                    format!("calls/episode{}", both(&|cell| known(cell.calls_per_episode.rate, numbers::per))),
                    format!("tokens/episode{}", both(&|cell| known(cell.tokens_per_episode.rate, numbers::amount))),
                ];
                expected.push(if example.flips { "ended differently".to_owned() } else { String::new() });
                let summary = all(node, "summary").next().unwrap();
                let spans = summary.children().filter(|node| node.has_tag_name("span"));
                assert_eq!(spans.map(text).collect::<Vec<_>>(), expected, "{}", sample.name);
                let keyed = |name: &str| key(&node.attribute(name).map(str::to_owned));
                assert_eq!(keyed("data-agent"), Some(example.agent as f64));
                assert_eq!(keyed("data-gain"), example.difference, "{}", sample.name);
                assert_eq!(keyed("data-tokens"), last.tokens_per_episode.rate, "{}", sample.name);
                assert_eq!(keyed("data-calls"), last.calls_per_episode.rate, "{}", sample.name);
                assert_eq!(node.attribute("data-flips"), Some(if example.flips { "1" } else { "0" }));
                let inside = text(classed(node, "inside").next().unwrap());
                for episode in [example.left, example.right].into_iter().flatten() {
                    assert!(inside.contains(&format!("healbench show run {episode}")), "{inside}");
                }
            }
        });
    }
}

#[test]
fn claims_are_shown_with_the_numbers_of_the_report() {
    let sample = SAMPLES.iter().find(|sample| sample.name == "claims").unwrap();
    let claims = &sample.report.claims;
    assert_eq!(claims.len(), 3);
    let shown = blocks(&sample.report).into_iter().find(|block| block.contains(&claims[0].claim.says)).unwrap();
    let shown = words(&shown).join(" ");
    read(&sample.page(), |page| {
        let tables = all(page.root(), "table").filter(|node| all(*node, "th").any(|head| text(head) == "borne out"));
        let tables: Vec<_> = tables.map(table).collect();
        assert_eq!(tables.len(), claims.len());
        for (found, claim) in tables.iter().zip(claims) {
            assert!(found.caption.starts_with(&format!("{}: {} — ", claim.scenario, claim.claim.says)));
            assert_eq!(found.heads, ["agent", "setting", "success", "measured", "claimed", "borne out"]);
            let expected = claim.rows.iter().map(|row| {
                let names = [row.title.clone(), claim_condition(row)];
                names.into_iter().chain(claim_row(claim, row)).collect::<Vec<_>>()
            });
            assert_eq!(found.texts(), expected.collect::<Vec<_>>());
            // The rows of an agent follow each other.
            for agent in &sample.report.agents {
                let mut line = String::new();
                for row in claim.rows.iter().filter(|row| row.title == agent.title) {
                    let cells = claim_row(claim, row);
                    line += &format!(" {} {}", claim_condition(row), joined(&cells.each_ref().map(String::as_str)));
                }
                assert!(shown.contains(&format!("{}{line}", agent.title)), "{line}\n{shown}");
            }
        }
    });
}

#[test]
fn charts_are_described_with_the_numbers_of_the_report() {
    for sample in SAMPLES.iter() {
        let described = read(&sample.page(), |page| {
            let svgs = all(page.root(), "svg");
            let pair =
                |svg| [all(svg, "title"), all(svg, "desc")].map(|mut n| n.next().unwrap().text().unwrap().to_owned());
            svgs.map(pair).collect::<Vec<_>>()
        });
        let of = |title: &str| {
            described.iter().filter(|[found, _]| found == title).map(|[_, text]| text.as_str()).collect::<Vec<_>>()
        };
        let spent = sample.rows().take(24).map(|(agent, row)| {
            let texts = of_row(row);
            format!("{} {}: {} at {}", agent.title, named(row), texts["success"], texts["tokens/episode"])
        });
        assert_eq!(
            of("Tokens an episode against success"),
            [&spent.collect::<Vec<_>>().join("; "); 2],
            "{}",
            sample.name
        );
        let mended = sample.report.agents.iter().flat_map(|agent| {
            sample.beside(agent).into_iter().filter(|row| !row.retries.curve.is_empty()).map(move |row| {
                let steps = row.retries.curve.iter().take(4);
                let steps = steps.map(|step| format!("{} within {}", numbers::percent(step.share), step.attempts));
                format!("{} {}: {}", agent.title, named(row), steps.collect::<Vec<_>>().join(", "))
            })
        });
        assert_eq!(
            of("Error chains mended within so many further attempts"),
            [&mended.collect::<Vec<_>>().join("; "); 2],
            "{}",
            sample.name
        );
    }
}
