//! Agents read text and know no format: they must read randomly generated templates as well as the shipped formats.

use healbench_core::{DrawKey, Draws, TemplateSource};

use super::suites::{run_profile, transcript};
use super::*;

/// One phrase for each fact of a failure: a line with placeholders.
struct Phrases {
    opening: &'static str,
    missing: &'static str,
    wrong_type: &'static str,
    options: &'static str,
    bounds: &'static str,
    format: &'static str,
    pattern: &'static str,
    undeclared: &'static str,
    other: &'static str,
    actions: &'static str,
    discriminator: &'static str,
    wait: &'static str,
}

fn pick(draws: &mut Draws, from: &[&'static str]) -> &'static str {
    draws.pick(from).copied().unwrap()
}

impl Phrases {
    fn draw(draws: &mut Draws) -> Phrases {
        Phrases {
            opening: pick(draws, &["Sorry, that did not work.", "The call was turned down", "## Refused", "ERR"]),
            missing: pick(
                draws,
                &[
                    "{p} is required.",
                    "{p} is missing",
                    "you did not give {p}, which is required",
                    "missing: {p}",
                    "Please supply a value for {p}.",
                    "You forgot {p}.",
                    "Expected {p} to be present.",
                    "{p} has no value",
                    "{p} cannot be empty",
                    "no {p} was given",
                ],
            ),
            wrong_type: pick(
                draws,
                &[
                    "{p} must be {t}",
                    "{p} should be of type {t}",
                    "{p}: expected {t}",
                    "{p} wants a {t}",
                    "{p} takes {t}",
                    "Only {t} will do for {p}",
                ],
            ),
            options: pick(
                draws,
                &[
                    "{p} must be one of {o}",
                    "{p}: allowed values are {o}",
                    "valid options for {p}: {o}",
                    "{p} accepts only {o}",
                    "{p} can be {o}",
                    "Choose {p} from {o}",
                    "Bad {p}. Options: {o}",
                    "{p} is not a legal value; choose from: {o}",
                ],
            ),
            bounds: pick(
                draws,
                &["{p} must be {b}", "{p}: expected {b}", "{p} has to be {b}", "Keep {p} {b}", "{p} can only be {b}"],
            ),
            format: pick(draws, &["{p} must be a valid {f}", "{p}: expected format {f}", "{p} is not a valid {f}"]),
            pattern: pick(
                draws,
                &["{p} must match {r}", "{p}: expected pattern {r}", "{p} does not match the pattern {r}"],
            ),
            undeclared: pick(
                draws,
                &[
                    "unknown field {u}",
                    "{u} is not allowed here, remove it",
                    "unexpected field: {u}",
                    "there is no field {u}",
                    "drop {u}",
                ],
            ),
            other: pick(draws, &["{p}: {m}", "{p} - {m}"]),
            actions: pick(
                draws,
                &[
                    "Available actions: {a}",
                    "Try one of: {a}",
                    "Valid actions are {a}",
                    "You can use {a}",
                    "| available actions | {a} |",
                ],
            ),
            discriminator: pick(
                draws,
                &["{d} is required: say which action", "missing field {d}", "You did not give {d}; it is required."],
            ),
            wait: pick(draws, &["Retry after {w} seconds.", "Wait {w} s and try again.", "Try again in {w} seconds"]),
        }
    }

    /// Returns the Jinja template.
    fn template(&self, draws: &mut Draws) -> String {
        let quote = pick(draws, &["'", "`", "\""]);
        let bullet = pick(draws, &["- ", "* ", "• ", ""]);
        // Use quotes that the separator does not contain.
        let between = if quote == "'" { "\"', '\"".to_owned() } else { format!("'{quote}, {quote}'") };
        // One line per issue, a key with a line, or a row of a table.
        let layout = pick(draws, &["lines", "keys", "table"]);
        let layout_line = |line: &str| match layout {
            "keys" => format!("{bullet}field: {{{{ issue.path | line }}}}\n  problem: {line}"),
            "table" => format!("| {{{{ issue.path | line }}}} | {line} |"),
            _ => format!("{bullet}{line}"),
        };
        let fill = |line: &str| {
            let value = |name: &str| format!("{quote}{{{{ {name} | line }}}}{quote}");
            line.replace("{p}", &value("issue.path"))
                .replace("{t}", "{{ issue.types | join(' or ') | line }}")
                .replace("{o}", &format!("{quote}{{{{ issue.options | join({between}) | line }}}}{quote}"))
                .replace(
                    "{b}",
                    "{{ issue.relation }} {{ issue.limit }}{% if issue.measure %} {{ issue.measure }}{% endif %}",
                )
                .replace("{f}", "{{ issue.format | line }}")
                .replace("{r}", "{{ issue.pattern | line }}")
                .replace("{u}", &format!("{quote}{{{{ issue.fields | join({between}) | line }}}}{quote}"))
                .replace("{m}", "{{ issue.problem | line }} {{ issue.correction | line }}")
                .replace("{a}", "{{ available | join(', ') | line }}")
                .replace("{d}", &value("field"))
                .replace("{w}", "{{ retry_after }}")
        };
        let cases = [
            ("missing", self.missing),
            ("wrong_type", self.wrong_type),
            ("not_an_option", self.options),
            ("out_of_bounds", self.bounds),
            ("bad_format", self.format),
            ("bad_pattern", self.pattern),
            ("undeclared", self.undeclared),
        ];
        let mut issues = String::new();
        for (index, (kind, line)) in cases.into_iter().enumerate() {
            let test = if index == 0 { "if" } else { "elif" };
            issues.push_str(&format!("{{%- {test} issue.kind == \"{kind}\" %}}\n{}\n", layout_line(&fill(line))));
        }
        format!(
            "{}\n{{%- if kind == \"validation\" %}}{{%- for issue in issues %}}{issues}{{%- else %}}\n{bullet}{}\n{{%- endif %}}{{%- \
             endfor %}}{{%- else %}}\n{{{{ message | line }}}}\n{{%- if recovery %}}\n{{{{ recovery | line }}}}{{%- endif %}}{{%- if field \
             %}}\n{}{{%- endif %}}{{%- if available %}}\n{}{{%- endif %}}{{%- for detail in details %}}\n{{{{ detail.key | line }}}}: {{{{ \
             detail.value | line }}}}{{%- endfor %}}{{%- if retry_after %}}\n{}{{%- endif %}}{{%- endif %}}",
            self.opening,
            fill(self.other),
            fill(self.discriminator),
            fill(self.actions),
            fill(self.wait),
        )
    }
}

/// Scenarios with nested arguments, lists of objects, alternatives and unknown actions, whose mistakes can all be mended.
const NESTED: [&str; 14] = [
    "fields/claim-form",
    "fields/concert-hall",
    "fields/payout-union",
    "fields/post-as-user",
    "fields/shelf-without-action",
    "strictness/courier-stops",
    "strictness/flight-bag",
    "strictness/loan-verbs",
    "strictness/mailbox-near-names",
    "values/batch-of-transfers",
    "values/claim-form-at-once",
    "values/company-record",
    "values/labels-with-commas",
    "values/order-lines-as-text",
];

/// Requirements are read from any text that names the field next to a phrase that the reader knows. Not read are
/// unknown verbs (`{p} feeds on {t}`), and problems that name a field without a reason.
#[test]
fn random_templates_are_read_as_well_as_shipped_formats() {
    let names = ["quickstart"].into_iter().chain(NESTED);
    let scenarios = load_suite(&names.map(PathBuf::from).collect::<Vec<_>>()).unwrap();
    let templates = (1..5).flat_map(|seed| (0..10).map(move |index| (seed, index)));
    let formats: Vec<ErrorFormat> = templates
        .map(|(seed, index)| {
            let mut draws = DrawKey::of_trial(Seed(seed), "made-up", 0).draws("template", index);
            let text = Phrases::draw(&mut draws).template(&mut draws);
            ErrorFormat::Template(TemplateSource { file: format!("made-up-{seed}-{index}.jinja"), text })
        })
        .collect();
    let (plan, records) = run_profile("perfect", &scenarios, &["strict+healing+truncation"], &formats, 2);
    let mut failed = Vec::new();
    for row in records.episodes.iter().filter(|row| row.outcome != Outcome::Success) {
        let cell = plan.cell(row.episode).unwrap();
        failed.push(format!(
            "{} {}{}",
            scenarios[cell.scenario].id,
            plan.conditions[cell.condition].format(),
            transcript("perfect", &plan, &scenarios, row.episode)
        ));
    }
    let lost = failed.len() as f64 / records.episodes.len() as f64;
    assert!(failed.is_empty(), "{lost} of all:\n##### {}", failed.join("\n##### "));
}
