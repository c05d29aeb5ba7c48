//! What `validate` finds beyond the loader: scripts that cannot succeed, tasks that are done from the start.

use healbench_scenarios::{Findings, load_variants};

use super::*;

const LIBRARY: &str = include_str!("../../examples/library-state.yaml");
const CLINIC: &str = include_str!("../../examples/clinic-expectations.yaml");

fn findings(text: &str) -> Findings {
    scenario(text).findings()
}

/// Returns the problems of a text with a change, as lines with their messages.
fn problems(text: &str, from: &str, to: &str) -> Vec<String> {
    assert!(text.contains(from), "{from}");
    let problems = findings(&text.replacen(from, to, 1)).problems;
    problems.into_iter().map(|problem| format!("{}: {}", problem.line, problem.message)).collect()
}

#[test]
fn nothing_is_found_in_what_is_shipped() {
    let examples = load_suite(&[concat!(env!("CARGO_MANIFEST_DIR"), "/examples").into()]).unwrap();
    for scenario in built_in().into_iter().chain(examples) {
        let Findings { problems, warnings } = scenario.findings();
        assert!(problems.is_empty(), "{}: {problems:?}", scenario.id);
        assert!(warnings.is_empty(), "{}: {warnings:?}", scenario.id);
    }
}

#[test]
fn what_no_author_means_is_found_at_its_place() {
    let cases = [
        // Expectations that the script does not meet.
        (
            LIBRARY,
            "{id: B-2, shelf: C4, version: 4}",
            "{id: B-2, shelf: C5, version: 4}",
            "the calls of the script do not lead to a row in books",
        ),
        (CLINIC, "answer: Visit V-2 takes 1,250 minutes.", "answer: Done.", "do not lead to an answer with 1250"),
        (
            CLINIC,
            "  - call: {tool: visits, action: get, arguments: {id: V-2}}\n    alternatives",
            "  - call: {tool: visits, action: list}\n    optional: true\n    alternatives",
            "do not lead to successful calls, in order",
        ),
        // A call that fails, and one that does not.
        (LIBRARY, "arguments: {book: B-1}}", "arguments: {book: B-4}}", "this call of the script fails"),
        (CLINIC, "fails: NOT_FOUND", "fails: CONFLICT", "is to fail with CONFLICT, and the result is NOT_FOUND"),
        (
            CLINIC,
            "arguments: {id: V-9}",
            "arguments: {id: V-1}",
            "is to fail with NOT_FOUND, and the result is success",
        ),
    ];
    for (text, from, to, message) in cases {
        let found = problems(text, from, to);
        assert!(found.iter().any(|problem| problem.contains(message)), "{to}: {found:?}");
    }
    assert!(findings(LIBRARY).problems.is_empty() && findings(CLINIC).problems.is_empty());
}

#[test]
fn a_task_that_is_done_from_the_start_is_none() {
    let (head, _) = LIBRARY.split_once("expect:").unwrap();
    let script = "script:\n  - call: {tool: books, action: bring_back, arguments: {book: B-1}}\n";
    let with = |expect: &str| {
        findings(&format!("{head}expect:\n{expect}{script}"))
            .problems
            .into_iter()
            .map(|one| one.message)
            .collect::<Vec<_>>()
    };
    assert_eq!(with("  - row: {in: books, where: {id: B-2}}\n"), ["all expectations hold before anything is done"]);
    assert_eq!(with("  - row: {in: books, where: {id: B-1, status: shelved}}\n"), Vec::<String>::new());
    let removed = "  - no_row: {in: reminders, where: {book: B-1}}\n  - not_called: {tool: orders, action: place}\n";
    assert_eq!(with(removed), Vec::<String>::new());
}

#[test]
fn faults_records_and_mistakes_are_tried() {
    let faults = format!("{CLINIC}faults: [{{kind: busy, on: visits.move, from_call: 11}}]\n");
    let found = findings(&faults).problems;
    assert!(found.iter().any(|problem| problem.message == "the task allows 10 calls, and this needs 11"), "{found:?}");
    // A fault that passes is no problem.
    let passing = format!("{CLINIC}faults: [{{kind: rate_limited, on: visits.move, calls: 3, retry_after: 30}}]\n");
    assert!(findings(&passing).problems.is_empty());
    let step = "arguments: {book: B-3, reader: R-2}}";
    let find = |query: &str| {
        problems(LIBRARY, step, &format!("{step}\n    find: {{book: {{column: id, matching: {query}}}}}"))
    };
    assert!(find("{title: Moss}").is_empty(), "{:?}", find("{title: Moss}"));
    assert!(find("{title: Mos}")[0].contains("no row that has `id` matches"), "{:?}", find("{title: Mos}"));
    assert!(find("{status: shelved}")[0].contains("rows with different values in `id` match"));
    let mistake = "arguments: {id: B-2, version: 3, shelf: C4}}";
    let warnings =
        |kind: &str| findings(&LIBRARY.replace(mistake, &format!("{mistake}\n    mistakes: [{kind}]"))).warnings;
    assert!(warnings("{kind: stale_value, field: version, value: 2}").is_empty());
    let found = warnings("{kind: stale_value, field: shelf, value: C3}");
    assert!(found[0].message.contains("nothing refuses this mistake") && found[0].message.contains("C3"), "{found:?}");
}

/// A reader looks nothing up with an action that may change something.
#[test]
fn what_has_to_be_found_is_shown_by_an_action_that_only_reads() {
    let recipe = include_str!("../../examples/recipe-version.yaml");
    assert!(findings(recipe).problems.is_empty());
    let found = findings(&recipe.replace(", read_only: true}", "}")).problems;
    assert!(found[0].message.starts_with("no action with `read_only: true` shows the row"), "{found:?}");
    // A call of the script may have shown it before.
    let read = "script:\n  - call: {tool: recipes, action: list, arguments: {name: Rye bread}}\n";
    let text = recipe.replace(", read_only: true}", "}").replace("script:\n", read);
    assert!(findings(&text).problems.is_empty());
}

#[test]
fn a_misspelt_keyword_of_a_schema_is_an_error() {
    let cases = [
        ("format: date", "fromat: date", "`format`?"),
        ("minimum: 1", "minmum: 1", "`minimum`?"),
        ("{type: string}", "{tyep: string}", "`type`?"),
    ];
    let text = include_str!("../../examples/warehouse-mistakes.yaml");
    for (from, to, help) in cases {
        let text = text.replacen(from, to, 1).replace("maximum: 500", "x-most: 500");
        let problems = load_str("test.yaml", &text, Syntax::Yaml).map(|_| ()).unwrap_err();
        let found = problems.iter().any(|problem| {
            problem.message.contains("is no keyword of JSON Schema") && problem.help.as_ref().unwrap().contains(help)
        });
        assert!(found && problems.len() == 1, "{problems:?}");
    }
}

/// Returns the warnings of a text with a change, as lines with their messages.
fn warnings(text: &str, from: &str, to: &str) -> Vec<String> {
    assert!(text.contains(from), "{from}");
    let warnings = findings(&text.replacen(from, to, 1)).warnings;
    warnings.into_iter().map(|warning| format!("{}: {}", warning.message, warning.help.unwrap_or_default())).collect()
}

#[test]
fn names_that_are_nearly_others_are_warned_about() {
    let list = "properties: {title: {type: string}, status: {type: string}}";
    let changed = |from: &str, to: &str| warnings(LIBRARY, from, to);
    let filters = |to: &str| changed(list, &format!("properties: {{title: {{type: string}}, {to}: {{type: string}}}}"));
    assert_eq!(filters("statsu"), ["`statsu` filters nothing: did you mean the column `status`?"]);
    // Whatever is no misspelling may be left unused.
    assert!(filters("language").is_empty());
    let options =
        changed("status: {type: string}}}\n        handler: {select", "status: {enum: []}}}\n        handler: {select");
    assert_eq!(options, ["no value is one of no options: list the options, or leave `enum` out"]);
    let row = changed("status: shelved, shelf: A3", "status: shelved, shefl: A3");
    assert_eq!(row, ["only this row has `shefl`: did you mean `shelf`, as in the other rows?"]);
    assert!(changed("status: shelved, shelf: A3", "status: shelved, lost: true, shelf: A3").is_empty());
    let other = changed("status: shelved, shelf: A3", "status: shelved, shelf: 3");
    assert_eq!(other, ["only in this row, `shelf` is of type number: in the others it is of type string"]);
    let options = "status: {enum: [lent, shelved, lost]}}}\n        handler: {select";
    let listed = |row: &str| {
        let text = LIBRARY.replacen("status: {type: string}}}\n        handler: {select", options, 1);
        warnings(&text, "status: shelved, shelf: A3", row)
    };
    assert_eq!(
        listed("status: shelvd, shelf: A3"),
        [
            "`shelvd` is no option of the argument of that name: did you mean `shelved`? Known: `lent`, `lost`, `shelved`"
        ]
    );
    assert!(listed("status: burnt, shelf: A3").is_empty());
    let any = changed("where: {book: B-3, reader: R-2, shelf: A3}", "where: {}");
    assert_eq!(any, ["every row of `history` is such a row: write the columns that tell the row from others"]);
}

#[test]
fn constants_that_are_nearly_what_can_be_are_warned_about() {
    let changed = |from: &str, to: &str| warnings(LIBRARY, from, to);
    let rule = LIBRARY.lines().find(|line| line.contains("when: {row: {status:")).unwrap().trim();
    let state = rule.split("status: ").nth(1).unwrap().split(['}', ',']).next().unwrap();
    let misspelt = rule.replace(state, &format!("{state}d"));
    let found = findings(&LIBRARY.replacen(rule, &misspelt, 1)).warnings;
    assert!(found.iter().any(|one| one.message.ends_with("is no value that a row can have")), "{misspelt}: {found:?}");
    let expected = "  - count: {in: reminders, equals: 1}";
    let none =
        |column: &str, value: &str| format!("{expected}\n  - no_row: {{in: books, where: {{{column}: {value}}}}}");
    assert_eq!(
        changed(expected, &none("status", "shelvde")),
        ["`shelvde` is no value that a row can have: did you mean `shelved`? Known: `lent`, `shelved`"]
    );
    assert!(changed(expected, &none("status", "burnt")).is_empty());
    // A column that no row can have is an error.
    for (column, near) in [("statsu", "status"), ("shelff", "shelf")] {
        let text = LIBRARY.replacen(expected, &none(column, "x"), 1);
        let problems = load_str("test.yaml", &text, Syntax::Yaml).unwrap_err();
        assert!(problems[0].message.contains(&format!("unknown column of `books`: `{column}`")), "{problems:?}");
        assert!(problems[0].help.as_ref().unwrap().contains(near), "{problems:?}");
    }
}

#[test]
fn a_schema_that_contains_itself_has_options() {
    let text = LIBRARY.replacen(
        "properties: {title: {type: string}, status: {type: string}}",
        "properties: {title: {type: string}, status: {$ref: '#/$defs/S'}}, $defs: {S: {anyOf: [{enum: [lent, shelved]}, {$ref: '#/$defs/S'}]}}",
        1,
    );
    assert_ne!(text, LIBRARY);
    assert!(findings(&text).warnings.is_empty(), "{:?}", findings(&text).warnings);
    let near = findings(&text.replacen("status: shelved, shelf: A3", "status: shelvd, shelf: A3", 1)).warnings;
    assert!(near[0].message.starts_with("`shelvd` is no option"), "{near:?}");
    // Types of values that two rows have are nobody's slip.
    let two = LIBRARY.replacen("status: shelved, shelf: A3", "status: shelved, note: 5, shelf: A3", 1);
    let two = two.replacen("status: shelved, shelf: A4", "status: shelved, note: five, shelf: A4", 1);
    assert!(findings(&two).warnings.is_empty(), "{:?}", findings(&two).warnings);
}

#[test]
fn a_script_longer_than_the_task_allows_is_a_problem() {
    let limit = LIBRARY.split("max_calls: ").nth(1).unwrap().split_whitespace().next().unwrap();
    for calls in ["1", "2"] {
        let found = problems(LIBRARY, &format!("max_calls: {limit}"), &format!("max_calls: {calls}"));
        assert!(
            found
                .iter()
                .any(|one| one.contains("the script makes") && one.contains(&format!("the task allows {calls}"))),
            "{found:?}"
        );
    }
}

#[test]
fn what_is_written_twice_is_warned_about() {
    let changed = |from: &str, to: &str| warnings(CLINIC, from, to);
    let tags =
        format!("tags: [clinic, rule, clinic]\n{}", CLINIC.lines().find(|line| line.starts_with("title:")).unwrap());
    let title = CLINIC.lines().find(|line| line.starts_with("title:")).unwrap();
    assert_eq!(changed(title, &tags), ["a tag that is listed already: remove it"]);
    let status = "status: {type: string}}}";
    let options = |list: &str| warnings(LIBRARY, status, &format!("status: {{enum: [{list}]}}}}}}"));
    assert_eq!(options("lent, shelved, lent"), ["this option is listed twice: remove it"]);
    assert!(options("lent, shelved").is_empty());
    let format = |name: &str| warnings(LIBRARY, status, &format!("status: {{type: string, format: {name}}}}}}}"));
    assert_eq!(format("dtae"), ["`dtae` is no format of JSON Schema: did you mean `date`?"]);
    // Formats of one's own are allowed.
    assert!(format("date").is_empty() && format("isbn-13").is_empty());
    let expected = "  - row: {in: books, where: {id: B-2, shelf: C4, version: 4}}";
    assert_eq!(
        warnings(LIBRARY, expected, &format!("{expected}\n{expected}")),
        ["an expectation that is listed already: remove it"]
    );
}

#[test]
fn a_placeholder_in_capitals_is_reported() {
    let text = LIBRARY.replacen("{row.status}, so", "{Row.status}, so", 1);
    let problems = load_str("test.yaml", &text, Syntax::Yaml).unwrap_err();
    assert!(problems[0].message.contains("`{Row.status}` is shown as it stands"), "{problems:?}");
    for other in ["args.book", "params.book"] {
        let text = LIBRARY.replacen("{row.status}, so", &format!("{{{other}}}, so"), 1);
        let problems = load_str("test.yaml", &text, Syntax::Yaml).unwrap_err();
        assert!(problems[0].message.contains(&format!("`{{{other}}}` is shown as it stands")), "{problems:?}");
    }
}

/// A list shows the ids, so that only a step that does not say so cannot be repaired.
#[test]
fn mistakes_that_no_reader_can_repair_are_warned_about() {
    const IDS: &str = include_str!("../../examples/market-ids.yaml");
    let variants = |text: &str| load_variants("test.yaml", text, Syntax::Yaml).unwrap();
    let warnings = |text: &str| -> Vec<String> {
        let warnings = variants(text).into_iter().flat_map(|one| one.findings().warnings);
        warnings.map(|warning| warning.message.split(" (in").next().unwrap().to_owned()).collect()
    };
    let without = IDS.replace("    find: {farm: {column: id, matching: {name: Hill}}}\n", "");
    assert_eq!(warnings(&without), ["no simulated reader finds the right `farm` after this mistake"; 2]);
    assert!(warnings(IDS).is_empty() && warnings(&format!("{without}tags: [control]\n")).is_empty());
    // A mistake that the schema refuses is told.
    let missing = without
        .replace("mistake: unknown_id", "mistake: missing")
        .replace("mistake: other_kind_id", "mistake: missing");
    assert!(warnings(&missing).is_empty(), "{:?}", warnings(&missing));
    // Another action asks for more than the step has.
    let asks = "`pay` asks for `fee`, which a simulated reader does not know in this step";
    let step = "action: approve, arguments: {id: V-7}}\n";
    let skipped = STATES.replace("required: [id]}, handler: {update", "required: [id, fee]}, handler: {update");
    let skipped = skipped.replace(
        "pay: {description: Pay., input: {properties: {",
        "pay: {description: Pay., input: {properties: {fee: {type: integer}, ",
    );
    let skipped = skipped.replace("action: pay, arguments: {id: V-7}", "action: pay, arguments: {id: V-7, fee: 80}");
    let mistaken = |value: &str| {
        findings(&skipped.replace(step, &format!("{step}    mistakes: [{{kind: other_tool, value: {value}}}]\n")))
            .warnings
    };
    assert_eq!(mistaken("visas.pay")[0].message, asks);
    assert!(mistaken("{tool: visas, action: pay, arguments: {id: V-8, fee: 80}}").is_empty());
    let few = IDS.replace("max_calls: 6", "max_calls: 1");
    assert_eq!(warnings(&few), ["with its mistakes, the script makes 2 calls, and the task allows 1"; 2]);
    assert!(warnings(&IDS.replace("max_calls: 6", "max_calls: 2")).is_empty());
}

#[test]
fn what_forbids_a_call_that_cannot_be_is_warned_about() {
    let expected = |expectation: &str| warnings(LIBRARY, "expect:\n", &format!("expect:\n  - {expectation}\n"));
    let near = expected("not_called: {tool: books, action: bring_back, arguments: {boook: B-1}}");
    assert_eq!(near, ["the action declares no argument `boook`, so that no call is meant: did you mean `book`?"]);
    let typed = expected("at_most: {calls: 1, tool: books, action: bring_back, arguments: {book: 1}}");
    assert_eq!(typed, ["the input schema rejects 1, so that no call is meant: "]);
    assert!(expected("not_called: {tool: books, action: bring_back, arguments: {book: B-9}}").is_empty());
}

#[test]
fn names_in_rules_and_writes_that_are_nearly_others_are_warned_about() {
    let found = |from: &str, to: &str| warnings(STATES, from, to);
    assert!(findings(STATES).warnings.is_empty(), "{:?}", findings(STATES).warnings);
    assert_eq!(
        found("Call visas.pay first", "Call visas.pays first"),
        ["the tool has no action `pays`: did you mean `pay`? Known: `show`, `pay`, `approve`"]
    );
    assert_eq!(
        found("meanwhile: []", "meanwhile: [{update: visas, where: {id: V-9}, set: {stat: paid}}]")[0],
        "no row of `visas` has `stat`: did you mean `state`? Known: `fee`, `id`, `state`"
    );
    let doubled = STATES.replace("{row.state}", "{{row.state}}");
    let problems = load_str("test.yaml", &doubled, Syntax::Yaml).map(|_| ()).unwrap_err();
    assert!(problems[0].message == "`{{row.state}` is shown as it stands", "{problems:?}");
}

const STATES: &str = r#"
id: consulate/visa
title: A visa
task: {prompt: Approve the visa V-7., max_calls: 8}
tools:
  visas:
    description: Visas.
    actions:
      show: {description: Show., input: {properties: {id: {type: string}}, required: [id]}, handler: {get: visas}, read_only: true}
      pay: {description: Pay., input: {properties: {id: {type: string}}, required: [id]}, handler: {update: visas, set: {state: paid}}}
      approve:
        description: Approve.
        input: {properties: {id: {type: string}}, required: [id]}
        rules: [{deny: {when: {row: {state: {not: paid}}}, code: STATE, message: "It is {row.state}.", recovery: Call visas.pay first.}}]
        meanwhile: []
        handler: {update: visas, set: {state: approved}}
world: {visas: {rows: [{id: V-7, state: submitted, fee: 80}]}}
expect: [{row: {in: visas, where: {id: V-7, state: approved}}}]
script:
  - call: {tool: visas, action: pay, arguments: {id: V-7}}
  - call: {tool: visas, action: approve, arguments: {id: V-7}}
"#;

/// An argument may be declared behind a reference.
#[test]
fn arguments_behind_references_are_known() {
    let input = "input: {$ref: \"#/$defs/Visa\", $defs: {Visa: {allOf: [{$ref: \"#/$defs/Id\"}], properties: {fees: {enum: [low, high]}}}, Id: {type: object, properties: {id: {type: string}}, required: [id]}}}";
    let text = STATES.replacen(
        "input: {properties: {id: {type: string}}, required: [id]}, handler: {update",
        &format!("{input}, handler: {{update"),
        1,
    );
    let missing = "arguments: {id: V-7}}\n  - call: {tool: visas, action: approve";
    let text = text.replace(missing, &format!("arguments: {{id: V-7}}}}\n    mistakes: [missing]{}", &missing[21..]));
    assert!(text.contains("mistakes: [missing]"), "{text}");
    // `fees` is a column that an update may write, and nearly another one.
    let text = text.replace("state: approved}}}]", "state: approved}}}, {no_row: {in: visas, where: {fees: high}}}]");
    assert!(findings(&text).warnings.is_empty(), "{:?}", findings(&text).warnings);
    let rule = text.replace("{row: {state: {not: paid}}}", "{fees: hihg}");
    let problems = load_str("test.yaml", &rule, Syntax::Yaml).map(|_| ()).unwrap_err();
    assert!(problems[0].message.contains("declares no argument `fees`"), "{problems:?}");
}
