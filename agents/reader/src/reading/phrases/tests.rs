use healbench_core::{ActionSpec, Script, ToolSpec};
use serde_json::{Value, json};

use super::super::statement_reader::StatementReader;
use super::super::{Fault, Relation, Statement, Vocabulary, segments};
use super::*;

fn tools() -> Vec<ToolSpec> {
    let action = |name: &str, properties: Value| ActionSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object", "properties": properties}),
        read_only: false,
    };
    vec![ToolSpec {
        name: "billing".to_owned(),
        description: String::new(),
        discriminator: Some("action".to_owned()),
        actions: vec![
            action("create", json!({"age": {}, "length": {}, "results": {}, "role": {}, "status": {}, "type": {}})),
            action("list", json!({})),
        ],
    }]
}

type Read = (Vec<Statement>, Vec<(Option<String>, Fault)>);

fn statements_with(table: &PhraseTable, text: &str) -> Read {
    let (tools, script) = (tools(), Script::default());
    let vocabulary = Vocabulary::new(&tools, &script);
    let mut reader = StatementReader::new(&vocabulary, &Value::Null, &Value::Null, table);
    segments::walk(text, &mut reader);
    let (statements, _, faults) = reader.finish("");
    (statements, faults)
}

fn is_of_pattern(statement: &Statement, pattern: Meaning) -> bool {
    use Meaning::*;
    match statement {
        Statement::Missing { .. } | Statement::MissingDiscriminator { .. } => matches!(pattern, Missing | MissingNamed),
        Statement::WrongType { .. } => matches!(pattern, Expected | Valid | Invalid | Number | Integer | Boolean),
        Statement::Options { .. } => matches!(pattern, Expected | Options | Valid),
        Statement::Format { .. } => {
            matches!(
                pattern,
                Example
                    | Expected
                    | Layout
                    | Valid
                    | Invalid
                    | Format
                    | FormatName
                    | Regex
                    | Characters
                    | Without
                    | Prefix
                    | Suffix
                    | Folder
            )
        }
        Statement::Bound { relation, .. } => match relation {
            Relation::AtLeast => matches!(pattern, AtLeast | Between | NotNegative),
            Relation::AtMost => matches!(pattern, AtMost | Between),
            Relation::Above => matches!(pattern, Above | Positive),
            Relation::Below => pattern == Below,
            Relation::MultipleOf => pattern == MultipleOf,
        },
        Statement::Unrecognized { .. } => matches!(pattern, Unrecognized | Exclusive),
        Statement::Conflict { .. } => matches!(pattern, Conflict | ConflictNamed),
        Statement::Actions { .. } => pattern == Actions,
        Statement::Suggest { .. } => matches!(pattern, Call | Actions),
        Statement::Delay { .. } => pattern == Delay,
        Statement::Transient => matches!(pattern, Transient | Delay),
        Statement::UnknownTool => pattern == NotFound,
        Statement::Stop => pattern == Stop,
        Statement::Narrow { .. } => pattern == Truncated,
        Statement::Page { .. } => pattern == Page,
        Statement::Compared { relation, .. } => pattern == if *relation == Relation::Above { After } else { Before },
        Statement::Lookup { .. } => pattern == Lookup,
        Statement::SearchDifferently { .. } => pattern == SearchDifferently,
        Statement::Fault { fault, .. } => is_of_fault(*fault, pattern),
        Statement::Rename { .. } => pattern == Renamed,
        Statement::Value { .. } => matches!(pattern, AtFault | Default),
        Statement::Contract { .. } | Statement::Example { .. } => false,
    }
}

fn is_of_fault(fault: Fault, pattern: Meaning) -> bool {
    pattern
        == match fault {
            Fault::Invalid => Meaning::AtFault,
            Fault::NotFound => Meaning::NotFound,
            Fault::NothingFound => Meaning::NothingFound,
            Fault::State => Meaning::State,
            Fault::Internal => Meaning::Internal,
        }
}

#[test]
fn every_phrase_is_needed_by_its_example() {
    let text = include_str!("../phrases.tsv");
    let raw: Vec<&'static str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let lines: Vec<PhraseLine> = phrase_lines().collect();
    let malformed = raw.iter().find(|line| parse_line(line).is_none() || line.split('\t').count() != 3);
    assert_eq!(malformed, None, "a line is not `kind<TAB>phrase<TAB>example` with a known kind");
    for (index, (pattern, phrase, example)) in lines.iter().enumerate() {
        let others = lines.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, line)| *line);
        let example = example.replace("\\n", "\n");
        let with = statements_with(PhraseTable::built_in(), &example);
        let without = statements_with(&PhraseTable::new(others), &example);
        if *pattern == Meaning::Ignored {
            assert!(
                without.0.iter().any(|statement| !with.0.contains(statement)) || without.1.len() > with.1.len(),
                "`{phrase}` suppresses no statement of `{example}`"
            );
        } else {
            let is_fault = |(_, fault): &(Option<String>, Fault)| is_of_fault(*fault, *pattern);
            let understood =
                with.0.iter().any(|statement| is_of_pattern(statement, *pattern)) || with.1.iter().any(is_fault);
            assert!(understood, "`{example}` yields no {pattern:?} statement: {with:?}");
            assert_ne!(with, without, "`{example}` is understood without `{phrase}`: delete one of the two lines");
        }
    }
}

/// The page of the documentation that lists what the reader understands. With `HEALBENCH_WRITE_PAGES` it is written anew.
#[test]
fn the_page_lists_what_is_understood() {
    let lines: Vec<PhraseLine> = phrase_lines().collect();
    let mut page = String::from(
        "# What simulated readers understand\n\n\
         Simulated readers (`scripted:`), the audit and `healbench call --read` read texts with the same rules. They find the phrases below\n\
         in any error format, and the arguments, tools and values that a sentence mentions near them. They know the text, the call as it was\n\
         sent and the tools; in a run also the names of the arguments that the task needs. Where no phrase gives a remedy, they read in plain\n\
         words what contradicts the call: a limit that a sent number breaks, a list that lacks the sent value, a name close to it, a date, a\n\
         form, an argument that was not sent. A text in which they find nothing may still say something to a model.\n\n\
         The examples are about a tool `billing` with the actions `create` and `list`, and the arguments `age`, `length`, `results`, `role`,\n\
         `status` and `type`. This page is generated from `agents/reader/src/reading/phrases.tsv`.\n\n\
         | Kind | What the text says | Phrases | Example | What is read from it |\n|---|---|---|---|---|\n",
    );
    let cell = |text: &str| text.replace("\\n", " ⏎ ").replace('|', "\\|").replace('<', "&lt;");
    for (name, meaning, about) in MEANINGS {
        let phrases: Vec<&str> =
            lines.iter().filter(|(kind, ..)| kind == meaning).map(|(_, phrase, _)| *phrase).collect();
        let Some((_, _, example)) = lines.iter().find(|(kind, ..)| kind == meaning) else {
            panic!("no phrase is of the kind `{name}`")
        };
        let (statements, faults) = statements_with(PhraseTable::built_in(), &example.replace("\\n", "\n"));
        let mut read: Vec<String> = statements.iter().map(ToString::to_string).collect();
        read.extend(faults.iter().filter(|(field, _)| field.is_none()).map(|(_, fault)| format!("the call {fault}")));
        let phrases: Vec<String> = phrases.iter().map(|phrase| format!("*{}*", cell(phrase))).collect();
        page.push_str(&format!(
            "| `{name}` | {about} | {} | {} | {} |\n",
            phrases.join(", "),
            cell(example),
            cell(&read.join("; "))
        ));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reader.md");
    if std::env::var_os("HEALBENCH_WRITE_PAGES").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page, "docs/reader.md is not what the table says: run this test with HEALBENCH_WRITE_PAGES=1");
}
