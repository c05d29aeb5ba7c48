use super::*;

#[test]
fn help_texts() {
    let sandbox = Sandbox::new();
    let commands = [
        "",
        "run",
        "plan",
        "new",
        "explain",
        "proxy",
        "audit",
        "validate",
        "call",
        "contract",
        "show",
        "merge",
        "status",
        "slurm",
        "report",
        "compare",
        "errors",
        "view",
        "gate",
        "bless",
        "cassette",
        "schema",
        "completions",
        "man",
    ];
    for command in commands {
        let args: Vec<&str> = [command, "--help"].into_iter().filter(|arg| !arg.is_empty()).collect();
        let text = sandbox.ok(&args).out;
        assert!(text.contains(&format!("Usage: healbench {command}").trim_end().to_owned()), "{text}");
        if command == "run" {
            insta::assert_snapshot!(text);
        }
    }
}

#[test]
fn completions_name_the_commands() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(sandbox.ok(&["completions", shell]).out.contains("validate"), "{shell}");
    }
}

#[test]
fn the_schemas_are_what_is_committed() {
    let sandbox = Sandbox::new();
    let committed = include_str!("../../../../scenarios/scenario.schema.json");
    assert!(sandbox.ok(&["schema"]).out == committed, "run `just schema-write`");
    assert!(sandbox.ok(&["schema", "scenario"]).out == committed);
    let committed = include_str!("../../../../reports/report.schema.json");
    assert!(sandbox.ok(&["schema", "report"]).out == committed, "run `just schema-write`");
    let committed = include_str!("../../../../harness/audit/audit.schema.json");
    assert!(sandbox.ok(&["schema", "audit"]).out == committed, "run `just schema-write`");
}
