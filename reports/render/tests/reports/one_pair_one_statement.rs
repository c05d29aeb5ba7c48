//! Whatever an output says of two conditions of an agent is the same in every place: difference, interval, p-value, verdict and color.

use std::path::PathBuf;

use healbench_analysis::{
    Ablation, Axis, CallInChain, Finding, Matrix, Metric, Report, ReportError, RunRows, Scope, Side, Verdict, matrix,
    summarize,
};
use healbench_core::{
    AgentKind, BilledTokens, CallRecord, CellRef, Condition, EndedBy, EpisodeCounts, EpisodeRecord, ErrorFormat,
    Guardrails, Outcome, Plan, ResponseRecord, Seed,
};
use healbench_render::html::{RunPage, Transcripts, run as page};
use healbench_render::{Detail, TerminalOptions, markdown, matrix as shown_matrix, matrix_markdown, terminal};
use healbench_text::plain_text;

use crate::numbers::{self, row_label};
use crate::pages::{all, classed, read, table, text};
use crate::sample::{Draw, manifest, plan as sample_plan};
use crate::statements::{Said, Statement};
use crate::two_runs_one_statement;

/// Episodes without calls.
#[derive(Debug)]
pub(crate) struct Memory(pub(crate) Vec<EpisodeRecord>);

impl RunRows for Memory {
    fn for_each_episode(
        &self,
        plan: &Plan,
        add: &mut dyn FnMut(CellRef, &EpisodeRecord) -> Result<(), ReportError>,
    ) -> Result<u64, ReportError> {
        self.0.iter().try_for_each(|row| add(plan.cell(row.episode).unwrap(), row))?;
        Ok(plan.len())
    }

    fn for_each_call_in_chain(&self, _: bool, _: &mut dyn FnMut(CallInChain<'_>)) -> Result<u64, ReportError> {
        Ok(0)
    }

    fn for_each_call(&self, _: &mut dyn FnMut(CallRecord) -> Result<(), ReportError>) -> Result<(), ReportError> {
        Ok(())
    }

    fn for_each_error_response(&self, _: &mut dyn FnMut(&ResponseRecord)) -> Result<(), ReportError> {
        Ok(())
    }

    fn calls_path(&self) -> PathBuf {
        PathBuf::new()
    }
}

/// Returns a random plan: sets of guardrails in one format, or formats, over scenarios of one or two families.
fn random_plan(draw: &mut Draw) -> Plan {
    let mut plan = sample_plan(1 + draw.below(2) as u32);
    plan.seed = Seed(draw.below(1000));
    let count = 2 + draw.below(3) as usize;
    plan.conditions = match draw.below(3) {
        0 => {
            let formats =
                [ErrorFormat::FusionXml, ErrorFormat::FusionText, ErrorFormat::ZodJson, ErrorFormat::Pydantic];
            let all = formats.into_iter().map(|format| Condition::new(Guardrails::ALL, format));
            std::iter::once(Condition::new(Guardrails::NONE, ErrorFormat::Bare)).chain(all).collect()
        }
        _ => [0, 2, 15, 14, 7]
            .map(|bits| {
                let guardrails = Guardrails::from_bits(bits);
                Condition::new(guardrails, if guardrails.healing { ErrorFormat::FusionXml } else { ErrorFormat::Bare })
            })
            .to_vec(),
    };
    plan.conditions.truncate(count);
    let scenario = plan.scenarios.remove(0);
    let families = 1 + draw.below(2);
    // Some are as large as a recommendation needs.
    let is_large = draw.below(25) == 0;
    plan.trials = if is_large { 5 } else { plan.trials };
    let scenarios = match draw.below(3) {
        _ if is_large => 64,
        0 => 15,
        _ => 2 + draw.below(6),
    };
    plan.scenarios = (0..scenarios)
        .map(|at| {
            let mut scenario = scenario.clone();
            scenario.id = format!("family{}/s{at}", at % families);
            let is_alike = at % 5 == 4 && !is_large;
            scenario.cluster = format!("family{}/s{}", at % families, if is_alike { at - families } else { at });
            scenario
        })
        .collect();
    match draw.below(3) {
        0 => plan.agents.truncate(1),
        1 => plan.agents.reverse(),
        _ => plan.agents[0].kind = AgentKind::Llm,
    }
    plan
}

/// Returns the row of a failed episode that made no call.
pub(crate) fn episode(plan: &Plan, episode: u64, input: u64) -> EpisodeRecord {
    let cell = plan.cell(episode).unwrap();
    EpisodeRecord {
        episode,
        outcome: Outcome::TaskFail,
        ended_by: EndedBy::Done,
        claimed_done: true,
        scheduled: true,
        schedule_hash: format!("{:016x}", cell.scenario as u64 * 1000 + u64::from(cell.trial)),
        turns: Some(2),
        calls: 0,
        perfect_calls: 1,
        tags: Vec::new(),
        prompt_tokens: 100,
        prose_tokens: Some(50),
        counts: EpisodeCounts::default(),
        billed: Some(BilledTokens { input, output: 50, unsent: 0 }),
        model: None,
    }
}

/// Returns rows with chances of success by scenario and condition. Some conditions repeat the outcomes of the one before.
fn random_rows(plan: &Plan, draw: &mut Draw) -> Memory {
    let chances: Vec<u64> = plan.conditions.iter().map(|_| [3, 50, 97][draw.below(3) as usize]).collect();
    let repeats: Vec<bool> = plan.conditions.iter().map(|_| draw.below(6) == 0).collect();
    let hard: Vec<bool> = plan.scenarios.iter().map(|_| draw.below(8) == 0).collect();
    let mut rows: Vec<EpisodeRecord> = Vec::new();
    for episode in 0..plan.len() {
        let cell = plan.cell(episode).unwrap();
        let earlier = cell.condition.checked_sub(1).filter(|_| repeats[cell.condition]);
        let outcome = match earlier {
            Some(condition) => rows[plan.episode(CellRef { condition, ..cell }) as usize].outcome,
            None if draw.below(40) == 0 => Outcome::Infra,
            None if draw.below(100) < chances[cell.condition] && !hard[cell.scenario] => Outcome::Success,
            None => Outcome::TaskFail,
        };
        let prose_tokens = Some(10 + draw.below(90) as u32);
        rows.push(EpisodeRecord { outcome, prose_tokens, ..self::episode(plan, episode, 500 + draw.below(500)) });
    }
    Memory(rows)
}

/// Returns the condition of a row of a matrix.
fn of_row(plan: &Plan, axis: Axis, row: &str) -> Option<usize> {
    plan.conditions.iter().position(|condition| match axis {
        Axis::Condition => condition.short_label() == row,
        Axis::Guardrails => condition.guardrails().to_string() == row,
        _ => condition.guardrails().healing && condition.format().to_string() == row,
    })
}

fn note_matrix(said: &mut Said, plan: &Plan, place: &'static str, found: &Matrix) {
    let Some(reference) = of_row(plan, found.axis, &found.reference) else { return };
    for column in &found.columns {
        for (row, cell) in found.rows.iter().zip(&column.cells) {
            let success = cell.iter().flat_map(|cell| &cell.differences).find(|entry| entry.metric == Metric::Success);
            if let (Some(success), Some(condition)) = (success, of_row(plan, found.axis, row)) {
                said.note(place, column.agent.as_ref().unwrap(), [condition, reference], success.into());
            }
        }
    }
}

fn note_effects(said: &mut Said, plan: &Plan, ablation: &Ablation) {
    let with = |bits: usize| plan.conditions.iter().position(|condition| condition.guardrails().bits() == bits);
    for (effects, sets) in [(&ablation.one_in, [0, 15]), (&ablation.one_out, [15, 0])] {
        for effect in effects {
            let bit = effect.switches.bits();
            let pair = if sets[0] == 0 { [with(bit), with(0)] } else { [with(15), with(15 & !bit)] };
            let [Some(condition), Some(other)] = pair else { continue };
            let statement = Statement {
                difference: effect.success.difference,
                interval: effect.success.interval,
                p_adjusted: effect.p_adjusted,
                verdict: effect.verdict,
            };
            said.note("effects", &ablation.title, [condition, other], statement);
        }
    }
}

fn note_answer(said: &mut Said, plan: &Plan, report: &Report) {
    let at = |label: &str| plan.conditions.iter().position(|condition| condition.label() == label).unwrap();
    for finding in &report.answer.findings {
        match finding {
            Finding::Pair(pair) => {
                let conditions = [at(&pair.first.condition), at(&pair.second.condition)];
                said.note("answer", &pair.agent.title, conditions, pair.gain.into());
            }
            Finding::Agents(of) => {
                for agent in &of.agents {
                    let conditions = [at(&of.first.condition), at(&of.second.condition)];
                    said.note("answer", &agent.agent.title, conditions, agent.gain.into());
                }
            }
            Finding::Choice(choice) => {
                let others = choice.others.iter().map(|other| (&other.result.condition, other.gain));
                let all: Vec<_> = std::iter::once((&choice.choice.condition, choice.gain)).chain(others).collect();
                let best = at(all.iter().find(|(_, gain)| gain.is_none()).unwrap().0);
                for (condition, gain) in all {
                    if let Some(gain) = gain {
                        said.note("answer", &choice.agent.title, [at(condition), best], gain.into());
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the text of a line of a terminal in the color of its first colored word, which is 1 for green and -1 for red.
fn read_line(line: &str) -> (String, i8) {
    let sign = match (line.find("\u{1b}[32m"), line.find("\u{1b}[31m")) {
        (Some(green), red) if red.is_none_or(|red| green < red) => 1,
        (_, Some(_)) => -1,
        _ => 0,
    };
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    (plain + rest, sign)
}

/// Returns Markdown without the escapes of a number.
fn unescaped(text: &str) -> String {
    text.replace('\\', "").replace("&#91;", "[").replace("&#93;", "]").replace("&lt;", "<").replace("&#60;", "<")
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the lines below the title of an agent in the first table that has it, without color, each with its sign.
fn rows_of<'a>(text: &'a str, title: &'a str) -> impl Iterator<Item = (String, i8)> + 'a {
    let lines = text.lines().map(read_line).skip_while(move |(line, _)| line.trim() != title).skip(1);
    lines.take_while(|(line, _)| line.starts_with("  ") || line.starts_with("* "))
}

fn check_terminal(said: &Said, report: &Report, reference: usize, shown: &str) {
    for agent in &report.agents {
        let mut rows = rows_of(shown, &agent.title);
        for (condition, row) in agent.rows.iter().enumerate() {
            let (line, sign) = rows.next().unwrap();
            assert!(line[2..].starts_with(&row.condition.short_label()), "{line}");
            let Some(statement) = said.get(&agent.title, condition, reference).filter(|_| condition != reference)
            else {
                continue;
            };
            assert!(words(&line).contains(&statement.text()), "{} is not in {line}", statement.text());
            assert_eq!(sign, statement.sign(), "{line}: {statement:?}");
        }
    }
}

/// Checks that the estimates of the answer's sentences are those of pairs, in either direction, that an interval is said to be of its pair
/// alone where it is, and that what is worse by an estimate is so clearly.
fn check_sentences(said: &Said, sentences: &str) {
    let unsigned = |text: &str| text.trim_start_matches(['+', '(']).replace(" points", "");
    let known: Vec<(String, bool, bool)> = said
        .statements()
        .flat_map(|one| [one, one.reversed()])
        .map(|of| (unsigned(&of.estimate()), of.is_of_pair_alone(), of.verdict == Verdict::Clear))
        .collect();
    for (at, _) in sentences.match_indices(" [") {
        let end = at + sentences[at..].find(']').unwrap();
        let before = sentences[..at].trim_end_matches(" points");
        let start = before.rfind(' ').map_or(0, |space| space + 1);
        let estimate = unsigned(&sentences[start..=end]);
        let is_of_pair_alone = sentences[end + 1..].starts_with(" of this pair alone, adjusted p ");
        let is_loss = sentences[..start].ends_with(" by ");
        let is_of = |(text, alone, is_clear): &(String, bool, bool)| {
            *text == estimate && *alone == is_of_pair_alone && (*is_clear || !is_loss)
        };
        assert!(known.iter().any(is_of), "{estimate} is of no pair: {sentences}");
    }
}

fn check_page(said: &Said, plan: &Plan, report: &Report, reference: usize, html: &str) {
    let sign = |is_up: bool, is_down: bool| i8::from(is_up) - i8::from(is_down);
    read(html, |page| {
        for list in classed(page.root(), "ranked") {
            let details = list.ancestors().find(|node| node.has_tag_name("details")).unwrap();
            let agent = text(all(details, "summary").next().unwrap());
            let names: Vec<String> = report.agents[0].rows.iter().map(row_label).collect();
            let dots: Vec<bool> =
                classed(list, "dot").map(|dot| dot.attribute("class").unwrap().contains("hollow")).collect();
            let mut dots = dots.into_iter();
            for cells in &table(list).rows {
                let condition = names.iter().position(|name| *name == cells[1].text).unwrap();
                if condition == reference {
                    continue;
                }
                let statement = said.get(&agent, condition, reference).unwrap();
                assert_eq!(cells[3].text, statement.text());
                if statement.difference.is_some() {
                    assert_eq!(dots.next(), Some(statement.verdict != Verdict::Clear), "{statement:?}");
                }
            }
        }
        let headline = report.headline.unwrap();
        let cards = classed(page.root(), "answers").next().unwrap();
        for (card, agent) in all(cards, "li")
            .filter(|card| card.attribute("class").is_some_and(|class| class.starts_with("answer")))
            .zip(report.headline_agents())
        {
            let statement = said.get(&agent.title, headline.right, headline.left).unwrap();
            let class = card.attribute("class").unwrap();
            assert_eq!(sign(class.contains("up"), class.contains("down")), statement.sign(), "{statement:?}");
            let all = match agent.rows.len() {
                2 => String::new(),
                _ => " adjusted for all pairs of conditions that differ".to_owned(),
            };
            let alone = if statement.is_of_pair_alone() { " of this pair alone" } else { "" };
            let p = statement.p_adjusted.map(|p| format!(", p {}{all}:", numbers::p_value(p))).unwrap_or_default();
            assert!(statement.difference.is_none() || text(card).contains(&p), "{p} is not in {}", text(card));
            let estimate = format!("{} points{}{alone}", statement.points(), statement.interval());
            let has_estimate = statement.difference.is_some() && statement.verdict != Verdict::Equal;
            assert!(!has_estimate || text(card).contains(&estimate), "{estimate} is not in {}", text(card));
            assert_eq!(text(card).contains("of this pair alone"), statement.is_of_pair_alone(), "{}", text(card));
        }
        for heat in classed(page.root(), "heat").filter(|node| all(*node, "tbody").next().is_some()) {
            let Some(found) = &report.matrix else { continue };
            let Some(reference) = of_row(plan, found.axis, &found.reference) else { continue };
            let body = all(heat, "tbody").next().unwrap();
            for line in all(body, "tr") {
                let label = text(all(line, "th").next().unwrap());
                // A row of several conditions with the same numbers says how many there are.
                let label = label.split(" +").next().unwrap();
                let Some(condition) = of_row(plan, found.axis, label).filter(|condition| *condition != reference)
                else {
                    continue;
                };
                if found.columns.len() > 1 && found.columns.iter().any(|column| column.agent != found.columns[0].agent)
                {
                    continue;
                }
                let statement = said.get(&report.agents[0].title, condition, reference).unwrap();
                let shown = text(all(line, "td").next().unwrap());
                assert!(statement.difference.is_none() || shown.contains(&statement.text()), "{shown}: {statement:?}");
                assert_eq!(sign(shown.contains('▲'), shown.contains('▼')), statement.sign(), "{shown}");
            }
        }
    });
}

/// Returns how many differences are clear, and how many have an interval of their pair alone; then how often the answer recommends, and whether
/// two runs differ in success.
fn check_run(seed: u64) -> [usize; 5] {
    let mut draw = Draw(seed);
    let plan = random_plan(&mut draw);
    let rows = random_rows(&plan, &mut draw);
    let manifest = manifest(&plan);
    let report = summarize(&rows, &manifest, Scope::Full).unwrap();
    let side = Side { name: "run", run: &rows, manifest: &manifest };
    let compared = matrix(side, Axis::Condition, None).unwrap();
    let reference = plan.reference_condition().unwrap();
    // What the numbers say, which JSON holds.
    let mut said = Said::default();
    for agent in &report.agents {
        for (condition, row) in agent.rows.iter().enumerate() {
            if let Some(paired) = row.vs_reference {
                said.note("rows", &agent.title, [condition, reference], paired.into());
            }
        }
        if let Some((headline, compared)) = report.headline.zip(agent.headline) {
            said.note("headline", &agent.title, [headline.right, headline.left], compared.success.into());
        }
    }
    report.ablation.iter().for_each(|ablation| note_effects(&mut said, &plan, ablation));
    note_answer(&mut said, &plan, &report);
    report.matrix.iter().for_each(|found| note_matrix(&mut said, &plan, "matrix", found));
    note_matrix(&mut said, &plan, "compare --by", &compared);
    // What the texts say.
    let options = TerminalOptions { width: 250, color: true, detail: Detail::Summary, lines: None };
    let shown = terminal(&report, options);
    check_terminal(&said, &report, reference, &shown);
    // An interval that is marked is explained in the same output.
    let has_note = |text: &str| words(text).contains("†: an interval of this pair alone.");
    let is_marked = |text: &str| text.contains("]†");
    assert!(!is_marked(&shown) || has_note(&shown), "{shown}");
    let answer = shown.trim_end().rsplit("\n\n").next().unwrap();
    let answer = words(&read_line(answer).0);
    // The last line is about recorded models, or about readers beside models.
    let ends = ["Recorded models", "No model has", "Rows of simulated"].iter().filter_map(|end| answer.find(end));
    check_sentences(&said, &answer[..ends.min().unwrap_or(answer.len())]);
    let by_condition = shown_matrix(&compared, 250, true);
    let shown_markdown = markdown(&report);
    let matrix_text = matrix_markdown(&compared);
    for text in [&by_condition, &unescaped(&shown_markdown), &unescaped(&matrix_text)] {
        assert!(!is_marked(text) || has_note(text), "{text}");
    }
    for (agent, column) in report.agents.iter().zip(&compared.columns) {
        let detail = by_condition.rsplit_once(&agent.title).map_or("", |(_, after)| after);
        let lines: Vec<(String, i8)> = detail.lines().skip(1).map(read_line).collect();
        for (condition, row) in agent.rows.iter().enumerate().filter(|(condition, _)| *condition != reference) {
            let statement = said.get(&agent.title, condition, reference).unwrap();
            let (label, text) = (plain_text(&row.condition.short_label()).into_owned(), statement.text());
            let (line, sign) = lines.iter().find(|(line, _)| line[2..].starts_with(&format!("{label} "))).unwrap();
            let p = statement.p_adjusted.map_or(numbers::UNKNOWN.to_owned(), numbers::p_value);
            assert!(words(line).contains(&format!("{text} {p}")), "{text} {p} is not in {line}");
            if statement.sign() != 0 {
                assert_eq!(*sign, statement.sign(), "{line}");
            }
            if statement.difference.is_some() {
                assert!(unescaped(&matrix_text).contains(&text), "{text} is not in {matrix_text}");
            }
            assert!(column.cells[condition].is_some());
        }
        if let Some(headline) = report.headline.filter(|_| agent.headline.is_some()) {
            let statement = said.get(&agent.title, headline.right, headline.left).unwrap();
            if let (Some(p), true) = (statement.p_adjusted, report.headline_agents().count() <= 6) {
                assert!(shown_markdown.contains(&format!(", p {}", numbers::p_value(p))), "{shown_markdown}");
            }
        }
    }
    let transcripts = Transcripts::default();
    let html =
        page(&RunPage { name: "run", manifest: &manifest, report: &report, transcripts: &transcripts, served: false });
    let html = html.unwrap();
    assert!(!is_marked(&html) || has_note(&html));
    check_page(&said, &plan, &report, reference, &html);
    let count = |is: fn(&Statement) -> bool| said.statements().filter(is).count();
    let differs = two_runs_one_statement::check(&plan, &rows, &mut draw);
    [
        count(|statement| statement.verdict == Verdict::Clear),
        count(Statement::is_of_pair_alone),
        answer.matches("Use ").count(),
        usize::from(differs),
        count(|statement| statement.verdict == Verdict::AsGood),
    ]
}

#[test]
fn no_output_contradicts_itself_about_a_pair() {
    let check = |part| (0..500).filter(move |seed| seed % 2 == part).map(check_run).collect::<Vec<_>>();
    let threads: Vec<_> = (0..2).map(|part| std::thread::spawn(move || check(part))).collect();
    let counts: Vec<[usize; 5]> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    let sum = |at: usize| counts.iter().map(|count| count[at]).sum::<usize>();
    assert!(sum(0) > 100, "{} clear differences", sum(0));
    assert!(sum(1) > 20, "{} intervals of a pair alone", sum(1));
    assert!(sum(2) > 5, "{} recommendations", sum(2));
    assert!(sum(3) > 50, "{} pairs of runs", sum(3));
    assert!(sum(4) > 3, "{} pairs that are as good", sum(4));
}
