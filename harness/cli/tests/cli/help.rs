use super::*;

#[test]
fn help_texts() {
    let place = Place::new();
    let commands = [
        "",
        "run",
        "plan",
        "validate",
        "call",
        "contract",
        "show",
        "merge",
        "report",
        "compare",
        "view",
        "gate",
        "bless",
        "cassette",
        "schema",
        "completions",
    ];
    for command in commands {
        let words: Vec<&str> = [command, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let name = if command.is_empty() { "help" } else { command };
        insta::assert_snapshot!(name, place.ok(&words).out);
    }
}

#[test]
fn completions_name_the_commands() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.ok(&["completions", shell]).out.contains("validate"), "{shell}");
    }
}

#[test]
fn the_schemas_are_what_is_committed() {
    let place = Place::new();
    let committed = include_str!("../../../../scenarios/scenario.schema.json");
    assert!(place.ok(&["schema"]).out == committed, "run `just schema-write`");
    assert!(place.ok(&["schema", "scenario"]).out == committed);
    let committed = include_str!("../../../../reports/report.schema.json");
    assert!(place.ok(&["schema", "report"]).out == committed, "run `just schema-write`");
}
