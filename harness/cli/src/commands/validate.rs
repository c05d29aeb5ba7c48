use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use healbench_core::Seed;
use healbench_runner::{LeakAudit, LeakKind, LeakMatch, LeakPlace, audit_leaks};
use healbench_text::{plain_text, pluralize};

use super::outputs;
use crate::args::{TextForm, ValidateArgs};
use crate::error::{CliError, ExitStatus};
use crate::load::{findings, scenarios};
use crate::terminal::Terminal;

/// The seed and the number of trials whose mistakes are audited: the default seed, and enough trials for rare mistakes.
const AUDITED: (Seed, u32) = (Seed(1), 20);

/// Checks scenario files. Problems are returned as one error.
pub(crate) fn validate(args: &ValidateArgs, terminal: &Terminal) -> Result<ExitStatus, CliError> {
    let scenarios = scenarios(&args.files, terminal)?;
    let warnings = findings(&scenarios, terminal)?;
    if args.leaks {
        let audits = scenarios.iter().map(|scenario| audit_leaks(scenario, AUDITED.0, AUDITED.1));
        let audits: Vec<LeakAudit> = audits.collect::<Result<_, _>>()?;
        outputs::check(&args.output, args.files.iter().map(PathBuf::as_path).filter(|path| path.is_file()))?;
        outputs::write(&args.output, TextForm::Terminal, terminal, |form, _| {
            Ok(match form {
                TextForm::Terminal => render_leaks(&audits),
                TextForm::Json => {
                    let json = serde_json::json!({"seed": AUDITED.0, "trials": AUDITED.1, "scenarios": audits});
                    format!("{json:#}\n")
                }
            })
        })?;
        return Ok(ExitStatus::Success);
    }
    let count = pluralize(scenarios.len() as u64, "scenario");
    let warned = match warnings {
        0 => String::new(),
        warnings => format!(", with {}", pluralize(warnings as u64, "warning")),
    };
    terminal.result(&format!("{count} without a problem{warned}\n"))?;
    Ok(ExitStatus::Success)
}

/// The parts of a match that lines with different locations share.
type LineKey<'a> = (LeakKind, usize, &'a str, LeakPlace, String, String);

fn render_leaks(audits: &[LeakAudit]) -> String {
    let mut out = String::new();
    let kinds = [(LeakKind::Leak, "leak"), (LeakKind::Chance, "chance")];
    for audit in audits {
        let mut lines: BTreeMap<LineKey<'_>, Vec<&str>> = BTreeMap::new();
        for found in &audit.matches {
            let (value, chance) = (found.value.to_string(), chance_text(found));
            let key = (found.kind, found.step, found.argument.as_str(), found.place, value, chance);
            lines.entry(key).or_default().extend(found.location.as_deref());
        }
        lines.retain(|(kind, ..), _| *kind != LeakKind::Task);
        if !lines.is_empty() {
            let _ = writeln!(out, "{}", plain_text(&audit.scenario));
        }
        for ((kind, step, argument, place, value, chance), locations) in &lines {
            let kind = kinds.iter().find(|(known, _)| known == kind).map_or("", |(_, name)| name);
            let at = if locations.is_empty() { String::new() } else { format!(" ({})", locations.join(", ")) };
            let line = format!("{kind:<6}  step {step}  {argument} = {value}  {}{at}  {chance}", place.name());
            let _ = writeln!(out, "  {}", plain_text(&line));
        }
    }
    let count = |kind, place| {
        let matches = audits.iter().flat_map(|audit| &audit.matches);
        matches.filter(|found| found.kind == kind && found.place == place).count()
    };
    if !out.is_empty() {
        out.push('\n');
    }
    for (kind, name) in kinds {
        let [prompt, tools, errors] =
            [LeakPlace::Prompt, LeakPlace::Tools, LeakPlace::Error].map(|place| count(kind, place));
        let _ = writeln!(out, "{name:<6}  {prompt} in prompts, {tools} in tool texts, {errors} in error texts");
    }
    let expected: usize = audits.iter().map(|audit| audit.expected_values).sum();
    let stated = count(LeakKind::Task, LeakPlace::Prompt);
    let scenarios = pluralize(audits.len() as u64, "scenario");
    let _ = writeln!(
        out,
        "{scenarios}, {}; prompts state {stated} as facts of the task",
        pluralize(expected as u64, "expected value")
    );
    out
}

/// Returns the rate that chance gives: `1 of 4 by chance`.
fn chance_text(found: &LeakMatch) -> String {
    match found.possible_values {
        Some(count) => format!("{:.0} of {count} by chance", found.chance * count as f64),
        None => "0 by chance".to_owned(),
    }
}
