//! Tests that pages show the numbers of the report.

use std::collections::BTreeSet;

use healbench_analysis::{
    Ablation, AgentReport, Effect, LAST_CALL_NUMBER, MatrixColumn, Metric, ReportRow, Verdict, agents_by_information,
};
use healbench_core::{AgentKind, ErrorClass};

use crate::numbers::{
    self, Column, amount_effect, condition, count, join_nonempty, known, page_columns, points_effect, row_label,
    row_texts,
};
use crate::pages::{all, classed, read, table, table_of, text};
use crate::renderers::{
    ExpectedHeadline, SAMPLES, arrow, at, badge, claim_condition, claim_row, expected_headline, heading, sections,
    shown, switches,
};
use crate::renderers_text::{blocks, words};

fn key(key: &Option<String>) -> Option<f64> {
    key.as_ref().filter(|key| !key.is_empty()).map(|key| key.parse().unwrap())
}

#[test]
fn the_tables_of_a_page_show_the_numbers_of_the_report() {
    for sample in SAMPLES.iter() {
        let has_model = sample.report.agents.iter().any(|agent| agent.kind != AgentKind::Scripted);
        let ids = ["rates", "behavior", "chains", "cost"].into_iter().chain(has_model.then_some("models"));
        read(&sample.page(), |page| {
            for id in ids.clone() {
                let columns: Vec<&Column> = page_columns(id).collect();
                let found = table_of(page, id);
                let heads: Vec<&str> =
                    ["agent", "condition"].into_iter().chain(columns.iter().map(|c| c.title)).collect();
                assert_eq!(found.heads, heads, "{}", sample.name);
                let mut rows = found.rows.iter();
                for (agent, row) in sample.rows() {
                    let (place, texts) = (format!("{}, {id}: {}", sample.name, condition(row)), row_texts(row));
                    let cells = rows.next().unwrap();
                    assert_eq!([&cells[0].text, &cells[1].text], [&agent.title, &condition(row)], "{place}");
                    assert_eq!(cells.len(), heads.len());
                    for (cell, Column { title, texts: keys, pointer, .. }) in cells[2..].iter().zip(&columns) {
                        assert_eq!(cell.text, shown(&texts, keys), "{place}, {title}");
                        assert_eq!(key(&cell.key), at(row, pointer), "{place}, what {title} is sorted by");
                    }
                }
                assert!(rows.next().is_none());
            }
            let found = table_of(page, "consistency");
            for ((agent, row), cells) in sample.rows().zip(&found.rows) {
                let any = row.passes.iter().map(|pass| (pass.any, known(pass.any, numbers::percent)));
                let all = row.passes.iter().map(|pass| {
                    let interval = numbers::share_interval(pass.all_interval);
                    (pass.all, join_nonempty(&[&known(pass.all, numbers::percent), &interval]))
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
fn the_headline_of_a_page_is_that_of_the_report() {
    for sample in SAMPLES.iter() {
        let expected = sample.headline_agents().into_iter().flat_map(|agent| match sample.headline_rows(agent)[..] {
            [left, right] => vec![card(agent, &expected_headline(agent, left, right), left, right)],
            _ => agent.rows.iter().map(|row| alone(agent, row)).collect(),
        });
        let found = read(&sample.page(), |page| classed(page.root(), "answer").map(text).collect::<Vec<_>>());
        assert_eq!(found, expected.collect::<Vec<_>>(), "{}", sample.name);
    }
}

fn card(agent: &AgentReport, headline: &ExpectedHeadline, left: &ReportRow, right: &ReportRow) -> String {
    let mut text = format!("{} {} of episodes succeed", badge(agent), arrow(&headline.success));
    match &headline.points {
        Some(points) => {
            let all = match agent.rows.len() {
                2 => String::new(),
                _ => " adjusted for all pairs of conditions that differ".to_owned(),
            };
            let p = headline.p.as_ref().map(|p| format!(", p {p}{all}:")).unwrap_or_default();
            text += &format!(" {points}{p} {}", headline.conclusion);
        }
        None => text += " There is no pair of scored episodes.",
    }
    let more = |more: &Option<String>| more.as_ref().map(|more| format!(", {more}")).unwrap_or_default();
    let median = |at: usize| format!("; median over scenarios {}", arrow(&headline.medians[at]));
    let billed = format!("{}{}{}", arrow(&headline.billed), more(&headline.more_billed), median(0));
    text += &format!(" billed tokens per episode: {billed}");
    text += &format!(" billed tokens per success: {}{}", arrow(&headline.billed_ok), median(1));
    if let Some(provider) = &headline.provider {
        text += &format!(" the provider's count per episode: {}", arrow(provider));
    }
    let once = format!("{}{}", arrow(&headline.tokens), more(&headline.more_tokens));
    text += &format!(" tokens per episode, each text counted once: {once}");
    text += &format!(" calls per episode: {}{}", arrow(&headline.calls), more(&headline.more_calls));
    if left.model.is_some() || right.model.is_some() {
        text += &format!(" US $ per success, of all scored episodes: {}", arrow(&headline.usd_ok));
    }
    if headline.unmatched > 0 {
        let trials = if headline.unmatched == 1 { "trial" } else { "trials" };
        text += &format!(
            " Left out: {} {trials} of which one episode is missing or not scored.",
            count(headline.unmatched)
        );
    }
    text
}

fn alone(agent: &AgentReport, row: &ReportRow) -> String {
    let texts = row_texts(row);
    let mut parts = vec![format!("{} {} of episodes succeed", badge(agent), texts["success"])];
    parts.extend([texts["success interval"].clone(), row_label(row)]);
    parts.push(format!("billed tokens per episode: {}", texts["billed/episode"]));
    parts.push(format!("billed tokens per success: {}", texts["billed/success"]));
    parts.retain(|part| !part.is_empty());
    parts.join(" ")
}

#[test]
fn the_effects_of_a_page_are_those_of_the_report() {
    for sample in SAMPLES.iter() {
        // The most informative agents come first.
        let agents = agents_by_information(&sample.report);
        let title =
            |ablation: &&Ablation| agents.iter().position(|agent| sample.report.agents[*agent].title == ablation.title);
        let mut ablations: Vec<&Ablation> = sample.report.ablation.iter().collect();
        ablations.sort_by_key(title);
        let mut ablations = ablations.into_iter().peekable();
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
                        .map(|(_, effect)| format!("{} {}", switches(effect), points_effect(effect)));
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
    let [success, tokens] = [points_effect(effect), amount_effect(effect.tokens)];
    let (switch, scenarios) = (switches(effect), count(effect.scenarios));
    [heading(ablation), about.to_owned(), switch, success, tokens, scenarios, matched]
}

#[test]
fn the_heat_map_of_a_page_is_the_matrix_of_the_report() {
    let (mut seen, mut merged) = (0, 0);
    for sample in SAMPLES.iter() {
        let found = read(&sample.page(), |page| classed(page.root(), "heat").map(table).next());
        let Some(matrix) = &sample.report.matrix else {
            assert!(found.is_none(), "{}", sample.name);
            continue;
        };
        let found = found.unwrap();
        let shown = |row: usize, column: usize| cell_text(&matrix.columns[column], row);
        // Rows and columns that say the same are shown once, and named below.
        let mut columns: Vec<Vec<usize>> = Vec::new();
        for column in 0..matrix.columns.len() {
            let same = |other: &usize| (0..matrix.rows.len()).all(|row| shown(row, column) == shown(row, *other));
            match columns.iter_mut().find(|group| same(&group[0])) {
                Some(group) => group.push(column),
                None => columns.push(vec![column]),
            }
        }
        let mut rows: Vec<Vec<usize>> = Vec::new();
        for row in 0..matrix.rows.len() {
            let is_reference = |row: usize| matrix.rows[row] == matrix.reference;
            let same = |other: usize| columns.iter().all(|column| shown(row, column[0]) == shown(other, column[0]));
            match rows.iter_mut().find(|group| same(group[0]) && !is_reference(row) && !is_reference(group[0])) {
                Some(group) => group.push(row),
                None => rows.push(vec![row]),
            }
        }
        let more = |group: &[usize]| if group.len() > 1 { format!(" +{}", group.len() - 1) } else { String::new() };
        let expected = rows.iter().map(|row| {
            let name = &matrix.rows[row[0]];
            let reference = if *name == matrix.reference { " reference" } else { "" };
            let cells = columns.iter().map(|column| shown(row[0], column[0]));
            std::iter::once(format!("{name}{}{reference}", more(row))).chain(cells).collect::<Vec<_>>()
        });
        assert_eq!(found.texts(), expected.collect::<Vec<_>>(), "{}", sample.name);
        let titles = columns.iter().map(|column| format!("{}{}", matrix.columns[column[0]].title, more(column)));
        assert_eq!(found.heads[1..], titles.collect::<Vec<_>>());
        for group in columns.iter().filter(|group| group.len() > 1) {
            let names =
                group.iter().map(|column| matrix.columns[*column].title.as_str()).collect::<Vec<_>>().join(" = ");
            assert!(read(&sample.page(), |page| text(page.root()).contains(&names)), "{names}");
            merged += 1;
        }
        seen += 1;
    }
    assert!(seen > 2 && merged > 0, "{seen} matrices, {merged} merged columns");
}

/// Returns what a cell of a matrix says.
fn cell_text(column: &MatrixColumn, index: usize) -> String {
    let Some(cell) = &column.cells[index] else { return "not in the plan".to_owned() };
    let rate = known(cell.success.rate, numbers::percent);
    let Some(entry) = cell.differences.iter().find(|entry| entry.metric == Metric::Success) else {
        return join_nonempty(&[&rate, &numbers::share_interval(cell.success_interval)]);
    };
    let difference = entry.difference.map_or(String::new(), |difference| {
        let mark = if entry.verdict != Verdict::Clear {
            ""
        } else if difference > 0.0 {
            "▲"
        } else {
            "▼"
        };
        join_nonempty(&[
            mark,
            &numbers::points_or_equal((difference, entry.verdict)),
            &numbers::pair_interval(entry.interval, entry.verdict),
        ])
    });
    let p = entry.p_adjusted.map_or(String::new(), |p| format!("p {}", numbers::p_value(p)));
    let tokens = cell.differences.iter().find(|entry| entry.metric == Metric::BilledTokens);
    let tokens = tokens.filter(|entry| entry.difference.is_some()).map_or(String::new(), |entry| {
        let interval = numbers::amount_interval(entry.interval);
        join_nonempty(&["tokens", &numbers::signed_amount(entry.difference.unwrap()), &interval])
    });
    join_nonempty(&[&rate, &difference, &p, &tokens])
}

#[test]
fn the_curves_of_a_page_are_those_of_the_report() {
    for sample in SAMPLES.iter() {
        let rows = sample.report.agents.iter().flat_map(|agent| {
            sample.headline_rows(agent).into_iter().flat_map(move |row| {
                row.retries.curve.iter().map(move |step| {
                    let label = format!("{} {}", agent.title, row_label(row));
                    [label, step.attempts.to_string(), numbers::percent(step.share), count(step.at_risk)]
                })
            })
        });
        let found = read(&sample.page(), |page| {
            let details = all(page.root(), "details");
            let tables =
                details.filter(|details| all(*details, "th").any(|head| text(head) == "chains that came so far"));
            tables.map(table).next()
        });
        let rows: Vec<_> = rows.collect();
        assert_eq!(found.is_some(), !rows.is_empty(), "{}", sample.name);
        if let Some(found) = found {
            assert_eq!(found.heads, ["agent and condition", "attempts", "fixed", "chains that came so far"]);
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
            let rows = sample.headline_rows(agent).into_iter().flat_map(|row| {
                row.calls_by_number.iter().map(move |calls| {
                    let number =
                        if calls.number == LAST_CALL_NUMBER { "13+".to_owned() } else { calls.number.to_string() };
                    let of = |class: &ErrorClass| calls.errors.get(class).copied().unwrap_or(0);
                    let named_errors: u64 = classes.iter().map(of).sum();
                    let other = calls.errors.values().sum::<u64>() - named_errors;
                    let mut cells = vec![row_label(row), number, count(calls.ok)];
                    cells.extend(classes.iter().map(|class| count(of(class))));
                    cells.extend(others.then(|| count(other)));
                    cells
                })
            });
            (agent.title.clone(), rows.collect::<Vec<_>>())
        });
        let expected: Vec<_> = expected.filter(|(_, rows)| !rows.is_empty()).collect();
        read(&sample.page(), |page| {
            let details = all(page.root(), "details");
            let details: Vec<_> =
                details.filter(|details| all(*details, "th").any(|head| text(head) == "call")).collect();
            assert_eq!(details.len(), expected.len(), "{}", sample.name);
            for (details, (title, rows)) in details.into_iter().zip(&expected) {
                assert_eq!(all(details, "summary").map(text).next().as_ref(), Some(title));
                let found = table(details);
                let heads = ["condition", "call", "ok"].into_iter().map(str::to_owned);
                let heads =
                    heads.chain(classes.iter().map(ToString::to_string)).chain(others.then(|| "other".to_owned()));
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
            for (node, example) in rows.into_iter().zip(report.examples_by_spread()) {
                let agent = &report.agents[example.agent];
                let cells: Vec<_> =
                    sample.headline_rows(agent).into_iter().map(|row| &row.scenarios[example.scenario]).collect();
                let last = cells[cells.len() - 1];
                let both = |of: &dyn Fn(&healbench_analysis::ScenarioRate) -> String| {
                    cells.iter().map(|cell| of(cell)).collect::<Vec<_>>().join(" → ")
                };
                let scenario = &report.scenarios[example.scenario];
                let mut expected = vec![
                    scenario.clone(),
                    agent.title.clone(),
                    format!("success{}", both(&|cell| known(cell.success.rate, numbers::percent))),
                    format!("calls/episode{}", both(&|cell| known(cell.calls_per_episode.rate, numbers::rate_decimal))),
                    format!(
                        "billed tokens/episode{}",
                        both(&|cell| known(cell.billed_tokens_per_episode.rate, numbers::amount))
                    ),
                ];
                let trials = if example.trials > 1 {
                    format!(" in {} of {} trials", count(example.flipped), count(example.trials))
                } else {
                    String::new()
                };
                let flips = example.flipped > 0;
                expected.push(if flips { format!("ended differently{trials}") } else { String::new() });
                let summary = all(node, "summary").next().unwrap();
                let spans = summary.children().filter(|node| node.has_tag_name("span"));
                assert_eq!(spans.map(text).collect::<Vec<_>>(), expected, "{}", sample.name);
                let keyed = |name: &str| key(&node.attribute(name).map(str::to_owned));
                assert_eq!(keyed("data-agent"), Some(example.agent as f64));
                assert_eq!(keyed("data-gain"), example.difference, "{}", sample.name);
                assert_eq!(keyed("data-tokens"), last.billed_tokens_per_episode.rate, "{}", sample.name);
                assert_eq!(keyed("data-calls"), last.calls_per_episode.rate, "{}", sample.name);
                assert_eq!(node.attribute("data-flips"), Some(if flips { "1" } else { "0" }));
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
        let tables = all(page.root(), "table").filter(|node| all(*node, "th").any(|head| text(head) == "verdict"));
        let tables: Vec<_> = tables.map(table).collect();
        assert_eq!(tables.len(), claims.len());
        for (found, claim) in tables.iter().zip(claims) {
            assert!(found.caption.starts_with(&format!("{}: {} — ", claim.scenario, claim.claim.says)));
            assert_eq!(found.heads, ["agent", "condition", "success", "measured", "claimed", "verdict"]);
            let expected = claim.rows.iter().map(|row| {
                let names = [row.title.clone(), claim_condition(row)];
                names.into_iter().chain(claim_row(claim, row)).collect::<Vec<_>>()
            });
            assert_eq!(found.texts(), expected.collect::<Vec<_>>());
            // The rows of an agent are consecutive.
            for agent in &sample.report.agents {
                let mut line = String::new();
                for row in claim.rows.iter().filter(|row| row.title == agent.title) {
                    let cells = claim_row(claim, row);
                    line +=
                        &format!(" {} {}", claim_condition(row), join_nonempty(&cells.each_ref().map(String::as_str)));
                }
                assert!(shown.contains(&format!("{}{line}", agent.title)), "{line}\n{shown}");
            }
        }
    });
}
