//! Tests that the terminal output and Markdown show the numbers of the report. `rendering` tests their layout.

use std::collections::BTreeSet;

use healbench_analysis::{AgentReport, Metric, Report, Verdict, select};
use healbench_core::AgentKind;
use healbench_render::{Detail, TerminalOptions, markdown, matrix, terminal};
use healbench_store::RunStatus;

use crate::numbers::{
    self, Column, UNKNOWN, amount_effect, condition, count, join_nonempty, known, points_effect, row_label, row_texts,
    terminal_columns,
};
use crate::renderers::{SAMPLES, arrow, badge, expected_headline, heading, sections, shown, switches};

/// Splits a line into words, with an interval as one word.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        match words.last_mut() {
            Some(last) if last.starts_with('[') && !last.ends_with(']') => *last = format!("{last} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// Joins texts with spaces and splits them into words.
fn in_words<S: AsRef<str>>(texts: impl IntoIterator<Item = S>) -> Vec<String> {
    texts.into_iter().flat_map(|text| words(text.as_ref())).collect()
}

fn terminal_table<'a>(table: &str, agents: impl Iterator<Item = &'a AgentReport>) -> Vec<String> {
    let columns: Vec<&Column> = terminal_columns(table).collect();
    let mut expected =
        in_words([0, 1].into_iter().flat_map(|line| columns.iter().map(move |column| column.header[line])));
    for agent in agents {
        expected.extend(words(&agent.title));
        for row in &agent.rows {
            let texts = row_texts(row);
            expected.extend(words(&condition(row)));
            expected.extend(in_words(columns.iter().map(|column| column.terminal_text(&texts))));
        }
    }
    expected
}

/// Returns the blocks of a report on a wide terminal; the last one explains the numbers.
pub(crate) fn blocks(report: &Report) -> Vec<String> {
    let text = terminal(report, TerminalOptions { width: 140, color: false, detail: Detail::Scenarios, lines: None });
    text.trim_end().split("\n\n").map(str::to_owned).collect()
}

/// Returns the notice about an incomplete run.
fn partial(report: &Report) -> String {
    if report.status != RunStatus::Interrupted {
        return String::new();
    }
    let rows = || report.agents.iter().flat_map(|agent| &agent.rows);
    let scored: BTreeSet<&str> = rows()
        .flat_map(|row| &row.scenarios)
        .filter(|scenario| scenario.success.denominator > 0)
        .map(|scenario| scenario.scenario.as_str())
        .collect();
    let (done, planned) = (count(report.totals.episodes), count(report.planned));
    let of = match report.scenarios.len() - scored.len() {
        0 => String::new(),
        _ => format!("; {} of {} scenarios are in it", scored.len(), report.scenarios.len()),
    };
    format!("The run was interrupted: this is {done} of {planned} episodes{of}.")
}

#[test]
fn a_terminal_shows_the_numbers_of_the_report() {
    for sample in SAMPLES.iter() {
        let report = &sample.report;
        let mut blocks = blocks(report).into_iter();
        let mut next = || words(&blocks.next().unwrap());
        assert_eq!(next(), words(&format!("{}\n{}", numbers::title(report), partial(report))), "{}", sample.name);
        for table in ["rates", "behavior", "chains", "cost"] {
            assert_eq!(next(), terminal_table(table, report.agents.iter()), "{}", sample.name);
        }
        assert_eq!(next(), consistency(report), "{}", sample.name);
        if sample.rows().any(|(_, row)| row.model.is_some()) {
            let models = report.agents.iter().filter(|agent| agent.kind != AgentKind::Scripted);
            assert_eq!(next(), terminal_table("models", models), "{}", sample.name);
        }
        if !report.ablation.is_empty() {
            assert_eq!(next(), effects(report), "{}", sample.name);
        }
    }
}

fn consistency(report: &Report) -> Vec<String> {
    let ks: Vec<u64> = report.agents[0].rows[0].passes.iter().map(|pass| pass.k).collect();
    let mut expected = vec!["pass".to_owned(); 2 * ks.len()];
    expected.extend(ks.iter().map(|k| format!("@{k}")));
    expected.extend(ks.iter().map(|k| format!("^{k}")));
    for agent in &report.agents {
        expected.extend(words(&agent.title));
        for row in &agent.rows {
            expected.extend(words(&condition(row)));
            expected.extend(row.passes.iter().map(|pass| known(pass.any, numbers::percent)));
            expected.extend(row.passes.iter().map(|pass| known(pass.all, numbers::percent)));
        }
    }
    expected
}

fn effects(report: &Report) -> Vec<String> {
    let mut expected = words("success tokens trials points /episode scenarios matched");
    for ablation in &report.ablation {
        expected.extend(words(&heading(ablation)));
        let mut before = "";
        for (about, effect) in sections(ablation, false) {
            if about != before {
                expected.extend(words(about));
                before = about;
            }
            let matched = match effect.unmatched {
                0 => count(effect.matched),
                unmatched => format!("{}/{}", count(effect.matched), count(effect.matched + unmatched)),
            };
            let texts = [switches(effect), points_effect(effect), amount_effect(effect.tokens)];
            expected.extend(in_words(texts.iter().chain([&count(effect.scenarios), &matched])));
        }
    }
    expected
}

#[test]
fn a_terminal_shows_the_scenarios_of_the_report() {
    for sample in SAMPLES.iter() {
        let report = &sample.report;
        let blocks = blocks(report);
        for agent in &report.agents {
            let title = |block: &&String| block.lines().any(|line| line == agent.title);
            let is_scenario = |block: &&String| block.lines().any(|line| line.trim().starts_with(&report.scenarios[0]));
            let mut done = 0;
            for block in blocks.iter().filter(title).filter(is_scenario).filter(|block| !block.contains(": ")) {
                let columns = words(block.lines().next().unwrap()).len();
                let rows = &agent.rows[done..done + columns];
                let mut expected = in_words(rows.iter().map(|row| row.condition.guardrails().to_string()));
                expected.extend(
                    rows.iter().map(|row| row.condition.format().to_string()).filter(|format| format != "bare"),
                );
                expected.extend(words(&agent.title));
                for (index, scenario) in report.scenarios.iter().enumerate() {
                    expected.push(scenario.clone());
                    expected.extend(rows.iter().map(|row| match row.scenarios[index].success {
                        rate if rate.denominator == 0 => UNKNOWN.to_owned(),
                        rate => format!("{}/{}", rate.numerator, rate.denominator),
                    }));
                }
                assert_eq!(words(block), expected, "{}", sample.name);
                done += columns;
            }
            assert_eq!(done, agent.rows.len(), "{}: {}", sample.name, blocks.join("\n\n"));
        }
    }
}

/// Reverses Markdown escapes.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("&#") {
        let (number, after) = after.split_once(';').unwrap();
        let c = char::from_u32(number.parse().unwrap()).unwrap();
        out.push_str(before);
        // Inserted to prevent mentions.
        out.extend(Some(c).filter(|c| *c != '\u{200b}'));
        rest = after;
    }
    out + rest
}

/// Returns the rows of the table whose heading starts with `head`; empty if there is none.
fn markdown_table(text: &str, head: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
    let cells = |line: &str| {
        let inner = line.strip_prefix('|').unwrap().strip_suffix('|').unwrap();
        inner.split('|').map(|cell| unescaped(cell.trim())).collect()
    };
    lines.take_while(|line| line.starts_with('|')).map(cells).collect()
}

#[test]
fn markdown_shows_the_numbers_of_the_report() {
    let (mut effects_seen, mut matrices_seen) = (0, 0);
    for sample in SAMPLES.iter() {
        let (report, text) = (&sample.report, markdown(&sample.report));
        assert_eq!(text.lines().next(), Some(format!("## healbench: {}", numbers::title(report)).as_str()));
        let blank = |text: &str| if text == UNKNOWN { String::new() } else { text.to_owned() };
        let rows = sample.rows().map(|(agent, row)| {
            let texts = row_texts(row);
            let versus = blank(&shown(&texts, &["vs reference", "vs reference interval"]));
            let success = shown(&texts, &["success", "success interval"]);
            let rest = ["recovered", "billed/success", "wasted"].map(|key| texts[key].clone());
            [agent.title.clone(), condition(row), success, versus].into_iter().chain(rest).collect::<Vec<_>>()
        });
        let found = markdown_table(
            &text,
            "| agent | condition | success | points vs reference | recovered | billed tokens/success | wasted tokens |",
        );
        let rows: Vec<_> = rows.collect();
        // A row that stands for others has their labels after its own.
        let own_label = |mut row: Vec<String>| {
            row[1] = row[1].split(" = ").next().unwrap().to_owned();
            row
        };
        let found: Vec<_> = found.into_iter().map(own_label).collect();
        assert!(found.iter().all(|row| rows.contains(row)), "{}: {found:?} of {rows:?}", sample.name);
        let selection = select(report, usize::MAX, 0);
        let groups: usize = selection.agents.iter().map(|agent| agent.rows.len()).sum();
        assert!(found.len() == groups || text.contains(&format!("of {} rows", rows.len())), "{}", sample.name);
        let effects = report.ablation.iter().flat_map(|ablation| {
            sections(ablation, true).into_iter().map(move |(about, effect)| {
                vec![
                    heading(ablation),
                    about.into(),
                    switches(effect),
                    points_effect(effect),
                    amount_effect(effect.tokens),
                ]
            })
        });
        let found = markdown_table(&text, "| agent | effect of | switch | points | tokens/episode |");
        let left_out = text
            .lines()
            .find(|line| line.starts_with("Left out here; `healbench report RUN --output html=FILE` has: "));
        let is_there = |what: &str| !left_out.is_some_and(|line| line.contains(what));
        if is_there("effects of guardrails") {
            effects_seen += found.len();
            assert_eq!(found, effects.collect::<Vec<_>>(), "{}", sample.name);
        }
        if let Some(matrix) = report.matrix.as_ref().filter(|_| is_there("matrix")) {
            matrices_seen += 1;
            let expected = matrix.rows.iter().enumerate().map(|(index, name)| {
                let cells = matrix.columns.iter().map(|column| {
                    let Some(cell) = &column.cells[index] else { return String::new() };
                    let success = cell.differences.iter().find(|entry| entry.metric == Metric::Success);
                    let comparison = success.filter(|entry| entry.difference.is_some()).map(|entry| {
                        let points = numbers::points(entry.difference.unwrap());
                        join_nonempty(&[&points, &numbers::pair_interval(entry.interval, entry.verdict)])
                    });
                    join_nonempty(&[&known(cell.success.rate, numbers::percent), &comparison.unwrap_or_default()])
                });
                std::iter::once(name.clone()).chain(cells).collect()
            });
            let expected: Vec<Vec<String>> = expected.collect();
            assert_eq!(markdown_table(&text, &format!("| vs {} |", matrix.reference)), expected, "{}", sample.name);
        }
    }
    assert!(effects_seen > 10 && matrices_seen > 2, "{effects_seen} {matrices_seen}");
}

#[test]
fn the_headline_in_markdown_is_that_of_the_report() {
    for sample in SAMPLES.iter().filter(|sample| sample.report.headline.is_some()) {
        let text = markdown(&sample.report);
        let found: Vec<String> = text.lines().filter(|line| line.starts_with("- **")).map(unescaped).collect();
        let expected = sample.headline_agents().into_iter().map(|agent| {
            let [left, right] = sample.headline_rows(agent)[..] else { panic!() };
            let headline = expected_headline(agent, left, right);
            let [before, after] = &headline.success;
            let mut text = format!(
                "- **{}**: {before} of episodes succeed with {}, {after} with {}",
                if agent.kind == AgentKind::Scripted { badge(agent) } else { agent.title.clone() },
                row_label(left),
                row_label(right)
            );
            if let Some(points) = &headline.points {
                let p = headline.p.as_deref().unwrap_or("—");
                let is_clear = agent.headline.is_some_and(|headline| headline.success.verdict == Verdict::Clear);
                text += &match points.as_str() {
                    "equal" => ": equal".to_owned(),
                    points if is_clear => format!(": **{}, p {p}", points.replace(" points", " points**")),
                    points => format!(": {points}, p {p}"),
                };
            }
            if let Some(more) = &headline.more_billed {
                text += &format!("; billed tokens per episode {more}");
            }
            text += &format!("; billed tokens per success {}", arrow(&headline.billed_ok));
            if left.model.is_some() || right.model.is_some() {
                text += &format!("; US $ per success {}", arrow(&headline.usd_ok));
            }
            if headline.unmatched > 0 {
                let trials = if headline.unmatched == 1 { "trial" } else { "trials" };
                text += &format!("; {} {trials} left out, without a scored partner", headline.unmatched);
            }
            text
        });
        assert_eq!(found, expected.collect::<Vec<_>>(), "{}", sample.name);
    }
}

#[test]
fn a_matrix_on_a_terminal_shows_the_same_numbers() {
    for sample in SAMPLES.iter() {
        let Some(found) = &sample.report.matrix else { continue };
        let text = matrix(found, 140, false);
        let details = text.split("\n\n").find(|block| block.contains("Holm\n") || block.contains("Holm ")).unwrap();
        let mut expected = words("success delta p delta % points Holm billed");
        for column in &found.columns {
            expected.extend(words(&column.title));
            for (name, cell) in found.rows.iter().zip(&column.cells) {
                let Some(cell) = cell else { continue };
                let entry = |metric| cell.differences.iter().find(|entry| entry.metric == metric);
                let (success, tokens) = (entry(Metric::Success), entry(Metric::BilledTokens));
                let points = success.map_or(UNKNOWN.to_owned(), |entry| {
                    let interval = numbers::pair_interval(entry.interval, entry.verdict);
                    join_nonempty(&[&known(entry.difference, numbers::points), &interval])
                });
                let change = tokens.map_or(UNKNOWN.to_owned(), |entry| {
                    let interval = numbers::amount_interval(entry.interval);
                    join_nonempty(&[&known(entry.difference, numbers::signed_amount), &interval])
                });
                let p = known(success.and_then(|entry| entry.p_adjusted), numbers::p_value);
                let rate = known(cell.success.rate, numbers::digits);
                expected.extend(in_words([name, &rate, &points, &p, &change]));
            }
        }
        assert_eq!(words(details), expected, "{}", sample.name);
    }
}
