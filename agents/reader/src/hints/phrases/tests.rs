use healbench_core::{ActionSpec, Script, ToolSpec};
use serde_json::{Value, json};

use super::super::extractor::HintExtractor;
use super::super::{Hint, Relation, Vocabulary, segments};
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

fn hints_with(table: &PhraseTable, text: &str) -> Vec<Hint> {
    let (tools, script) = (tools(), Script::default());
    let vocabulary = Vocabulary::new(&tools, &script);
    let mut extractor = HintExtractor::new(&vocabulary, &Value::Null, table);
    segments::walk(text, &mut extractor);
    extractor.into_hints()
}

fn is_of_pattern(hint: &Hint, pattern: HintPattern) -> bool {
    use HintPattern::*;
    match hint {
        Hint::Missing { .. } | Hint::MissingDiscriminator { .. } => matches!(pattern, Missing | MissingNamed),
        Hint::WrongType { .. } => matches!(pattern, Expected | Valid | Invalid),
        Hint::Options { .. } => matches!(pattern, Expected | Options | Valid),
        Hint::Format { .. } => matches!(pattern, Valid | Invalid | Format | FormatName | Regex),
        Hint::Bound { relation, .. } => match relation {
            Relation::AtLeast => matches!(pattern, AtLeast | Between),
            Relation::AtMost => matches!(pattern, AtMost | Between),
            Relation::Above => pattern == Above,
            Relation::Below => pattern == Below,
            Relation::MultipleOf => pattern == MultipleOf,
        },
        Hint::Unrecognized { .. } => pattern == Unrecognized,
        Hint::Conflict { .. } => matches!(pattern, Conflict | ConflictNamed),
        Hint::Actions { .. } => pattern == Actions,
        Hint::Suggest { .. } => matches!(pattern, Call | Actions),
        Hint::Delay { .. } => pattern == Delay,
        Hint::Transient => matches!(pattern, Transient | Delay),
        Hint::Stop => pattern == Stop,
        Hint::Narrow { .. } => pattern == Truncated,
        Hint::Page { .. } => pattern == Page,
        Hint::Contract { .. } | Hint::Example { .. } => false,
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
        let with = hints_with(PhraseTable::built_in(), &example);
        let without = hints_with(&PhraseTable::new(others), &example);
        if *pattern == HintPattern::Ignored {
            assert!(without.iter().any(|hint| !with.contains(hint)), "`{phrase}` suppresses no hint of `{example}`");
        } else {
            let understood = with.iter().any(|hint| is_of_pattern(hint, *pattern));
            assert!(understood, "`{example}` yields no {pattern:?} hint: {with:?}");
            assert_ne!(with, without, "`{example}` is understood without `{phrase}`: delete one of the two lines");
        }
    }
}
