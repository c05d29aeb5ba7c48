//! Runs under named conditions.

use healbench_core::{
    AXES, Axis, AxisValues, CLIENTS, CONDITIONS, CONTENTS, ConditionEntry, DOMAIN_ERRORS, NamedEntry, UNDECLARED,
};
use serde_json::Value;

use super::*;

const AGENT: [&str; 4] = ["--agent", "scripted:typical", "--trials", "3"];

/// Runs all suites' quickstart under these conditions.
fn run(sandbox: &Sandbox, out: &str, options: &[&str]) -> CommandResult {
    sandbox.ok(&[&["run", "quickstart", "--out", out], options, &AGENT].concat())
}

fn report(sandbox: &Sandbox, run: &str) -> Value {
    serde_json::from_str(&sandbox.ok(&["report", run, "--output=json"]).out).unwrap()
}

const ALL: &str = "bare,sdk-typescript,sdk-typescript+recovery,sdk-python,fusion";

#[test]
fn a_named_condition_has_the_rows_of_its_parts() {
    let sandbox = Sandbox::new();
    run(&sandbox, "named", &["--condition", ALL]);
    let stripping = ["--guardrails", "healing", "--format", "zod-lines,pydantic", "--vary", "undeclared=strip"];
    run(&sandbox, "stripping", &stripping);
    run(&sandbox, "default", &["--format", "fusion-xml"]);
    let rows = |run: &str| -> Vec<Value> {
        let mut rows = report(&sandbox, run)["agents"][0]["rows"].as_array().unwrap().clone();
        for row in &mut rows {
            // Differences are to the condition without guardrails, which one run lacks.
            row.as_object_mut().unwrap().retain(|key, _| !key.contains("vs_reference"));
        }
        rows
    };
    let mut named = rows("named");
    let names: Vec<Value> =
        named.iter_mut().map(|row| row.as_object_mut().unwrap().remove("condition").unwrap()).collect();
    assert_eq!(names, ALL.split(',').collect::<Vec<_>>());
    let mut built = [rows("stripping"), rows("default")].concat();
    for row in &mut built {
        row.as_object_mut().unwrap().remove("condition").unwrap();
    }
    // Named conditions differ in more than their guardrails, so no difference is the effect of a guardrail.
    assert_eq!(report(&sandbox, "named")["ablation"], serde_json::json!([]));
    // The random numbers of bootstrap intervals differ.
    let metrics = |row: &Value| row["scenarios"].clone();
    assert_eq!(metrics(&named[1]), metrics(&built[0]));
    assert_eq!(metrics(&named[3]), metrics(&built[1]));
    assert_eq!(metrics(&named[0]), metrics(&built[2]));
    assert_eq!(metrics(&named[4]), metrics(&built[3]));
    assert_ne!(metrics(&named[2]), metrics(&named[1]), "the author's recovery has no effect");
}

#[test]
fn the_name_is_in_every_output() {
    let sandbox = Sandbox::new();
    let shown = run(&sandbox, "a", &["--condition", ALL, "--by-scenario"]);
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("a/manifest.json")).unwrap()).unwrap();
    let outputs = [
        ("run", shown.out),
        ("plan", sandbox.ok(&[&["plan", "quickstart", "--condition", ALL][..], &AGENT].concat()).out),
        ("manifest", manifest["plan"]["conditions"].to_string()),
        ("markdown", sandbox.ok(&["report", "a", "--output=markdown"]).out),
        ("csv", sandbox.ok(&["report", "a", "--output=csv"]).out),
        ("json", sandbox.ok(&["report", "a", "--output=json"]).out),
        ("html", sandbox.ok(&["report", "a", "--output", "html"]).out),
        ("matrix", sandbox.ok(&["compare", "a", "--by", "condition"]).out),
    ];
    for (what, text) in outputs {
        for name in ALL.split(',') {
            assert!(text.contains(name), "{what} has no {name}: {text}");
        }
    }
    let columns =
        healbench_frames::read_episodes(&healbench_store::RunDir::open(&sandbox.path("a")).unwrap().0).unwrap();
    let names = columns.column("condition").unwrap().str().unwrap();
    assert!(ALL.split(',').all(|name| names.iter().any(|found| found == Some(name))));
    for name in ALL.split(',') {
        let shown = sandbox.ok(&["show", "a", "0", "--condition", name]).out;
        assert!(shown.lines().next().unwrap().contains(name), "{shown}");
    }
}

#[test]
fn cells_are_paired_by_condition() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &["--condition", "sdk-typescript,sdk-typescript+recovery"]);
    run(&sandbox, "b", &["--condition", "fusion,sdk-typescript+recovery"]);
    run(&sandbox, "c", &["--guardrails", "healing", "--format", "zod-lines", "--vary", "undeclared=strip"]);
    let compared: Value = serde_json::from_str(&sandbox.ok(&["compare", "a", "b", "--output=json"]).out).unwrap();
    let cells = compared["cells"].as_array().unwrap();
    assert_eq!(cells.iter().map(|cell| &cell["condition"]).collect::<Vec<_>>(), ["sdk-typescript+recovery"]);
    assert_eq!((cells[0]["changed"].as_u64(), compared["unpaired"][0]["subject"].as_str()), (Some(0), Some("fusion")));
    sandbox.ok(&["bless", "a", "--out", "a.toml"]);
    let same = sandbox.ok(&["gate", "a.toml", "a"]);
    assert!(same.out.contains("PASS"), "{}", same.out);
    // The same guardrails and format are another cell.
    let other = sandbox.start(&["gate", "a.toml", "c"]);
    assert_ne!(other.code, Some(0), "{}", other.out);
    assert!(other.out.contains("sdk-typescript+recovery"), "{}", other.out);
    sandbox.write("policy.toml", "[[require]]\nagent = \"scripted:typical\"\ncondition = \"fusion\"\n");
    let missing = sandbox.start(&["gate", "a.toml", "a", "--policy", "policy.toml"]);
    assert!(missing.out.contains("fusion") && missing.code != Some(0), "{}", missing.out);
}

#[test]
fn a_policy_selects_cells_by_condition() {
    let sandbox = Sandbox::new();
    run(&sandbox, "a", &["--condition", "sdk-typescript"]);
    sandbox.ok(&["bless", "a", "--out", "a.toml"]);
    let gate = |policy: &str| {
        sandbox.write("policy.toml", policy);
        sandbox.start(&["gate", "a.toml", "a", "--policy", "policy.toml"])
    };
    let check =
        |name: &str| format!("[[check]]\nmetric = \"success\"\nmargin = \"5 points\"\ncondition = \"{name}\"\n");
    assert_eq!(gate(&check("sdk-typescript")).code, Some(0));
    let unused = gate(&check("fusion"));
    assert!(unused.out.contains("about no cell of the base: condition fusion"), "{}", unused.out);
    let required = "[[require]]\nagent = \"scripted:typical\"\ncondition = \"sdk-typescript\"\n";
    assert_eq!(gate(required).code, Some(0));
    let error = gate(&format!("{required}guardrails = \"healing\"\n")).err;
    assert!(error.contains("unknown key `require.guardrails`"), "{error}");
}

#[test]
fn a_condition_of_the_settings_file_is_made_of_parts() {
    let sandbox = Sandbox::new();
    let table = "guardrails = \"healing+truncation\"\nformat = \"zod-json\"\nundeclared = \"strip\"\ndomain_errors = \"recovery\"\n";
    sandbox
        .write("healbench.toml", &format!("[run]\ncondition = [\"sdk-python\", \"ours\"]\n[condition.ours]\n{table}"));
    let plan = |options: &[&str]| sandbox.ok(&[&["plan"], options, &AGENT].concat()).out;
    assert!(plan(&[]).contains("conditions sdk-python, ours\n"), "{}", plan(&[]));
    assert!(plan(&["--condition", "fusion"]).contains("conditions fusion\n"));
    assert!(plan(&["--guardrails", "all", "--format", "serde"]).contains("conditions all/serde\n"));
    run(&sandbox, "a", &[]);
    let manifest: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path("a/manifest.json")).unwrap()).unwrap();
    let ours = &manifest["plan"]["conditions"][1];
    let expected = [("name", "ours"), ("errors", "zod-json"), ("undeclared", "strip"), ("domain_errors", "recovery")];
    for (key, value) in expected {
        assert_eq!(ours[key], value, "{ours}");
    }
    assert_eq!((&ours["truncation"], &ours["contract"]["shown"]), (&true.into(), &false.into()));
    // A gate does not compare conditions of one name whose parts differ.
    sandbox.ok(&["bless", "a", "--out", "a.toml"]);
    let text = std::fs::read_to_string(sandbox.path("healbench.toml")).unwrap();
    sandbox.write("healbench.toml", &text.replace("\"recovery\"", "\"message\""));
    run(&sandbox, "b", &[]);
    let differing = sandbox.start(&["gate", "a.toml", "b"]);
    assert_eq!(differing.code, Some(4), "{}", differing.out);
    assert!(differing.err.contains("the other parts of condition `ours`"), "{}", differing.err);
    let compared = sandbox.ok(&["compare", "a", "b"]).out;
    assert!(compared.contains("condition ours: its parts") && compared.contains("\n  ours"), "{compared}");
}

#[test]
fn one_call_is_answered_under_several_conditions() {
    let sandbox = Sandbox::new();
    sandbox.write("healbench.toml", "[condition.ours]\nguardrails = \"strict+healing\"\nformat = \"serde\"\n");
    let schema = r#"{"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}"#;
    sandbox.write("tools.json", &format!(r#"[{{"name": "invite", "inputSchema": {schema}}}]"#));
    let call = |arguments: &str| {
        let conditions = format!("{ALL},ours");
        let args =
            ["call", "--tools", "tools.json", "--condition", &conditions, "--output", "json", "invite", arguments];
        let answer: Value = serde_json::from_str(&sandbox.ok(&args).out).unwrap();
        let text = |name: &str| answer[name]["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        [ALL, "ours"].join(",").split(',').map(text).collect::<Vec<_>>()
    };
    let missing = call("{}");
    assert_eq!((missing[0].as_str(), &missing[1]), ("Error: Invalid arguments", &missing[2]));
    for (text, part) in missing.iter().zip([
        "Error",
        "MCP error -32602",
        "MCP error",
        "Field required",
        "<field name=",
        "missing field",
    ]) {
        assert!(text.contains(part), "{text}");
    }
    let undeclared = call(r#"{"email": "a@b.c", "admin": true}"#);
    assert_eq!(undeclared[..4], ["OK"; 4]);
    assert!(undeclared[4..].iter().all(|text| text.contains("admin")), "{undeclared:?}");
}

#[test]
fn wrong_conditions_are_explained() {
    let sandbox = Sandbox::new();
    let error = |args: &[&str]| {
        let result = sandbox.start(&[&["plan"], args].concat());
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{args:?}: {}", result.err);
        result.err
    };
    let unknown = error(&["--condition", "sdk-pyton"]);
    for text in [
        "unknown condition `sdk-pyton`",
        "did you mean `sdk-python`?",
        "`bare`",
        "`sdk-typescript+recovery`",
        "`fusion`",
    ] {
        assert!(unknown.contains(text), "{unknown}");
    }
    assert!(error(&["--condition", "fusion,bare,fusion"]).contains("`--condition` names `fusion` twice"));
    assert!(error(&["--condition", "fusion", "--guardrails", "all"]).contains("cannot be used with"));
    let cases = [
        ("[condition.fusion]\n", "is the name of a built-in condition"),
        ("[condition.\"a b\"]\n", "cannot name a condition"),
        ("[condition.\"\"]\n", "cannot name a condition"),
        ("[condition.none]\n", "`none` and `all` are guardrails"),
        ("[condition.all]\nguardrails = \"all\"\nformat = \"serde\"\n", "`none` and `all` are guardrails"),
        ("[condition.\"-x\"]\n", "begin with a letter or digit"),
        ("[condition.\"a\\nb\"]\n", "cannot name a condition"),
        ("[condition.a]\nguardrails = \"healing\"\n", "has no format"),
        ("[condition.a]\nformat = \"serde\"\n", "has no effect without `healing`"),
        ("[condition.a]\nundeclared = \"reject\"\n", "contradicts its guardrails"),
        ("[condition.a]\nguardrails = \"strict\"\nundeclared = \"strip\"\n", "contradicts its guardrails"),
        ("[condition.a]\nguardrails = \"strikt\"\n", "unknown guardrail `strikt`"),
        ("[condition.a]\ndomain_errors = \"mesage\"\n", "did you mean `message`?"),
        ("[condition.a]\nlists = \"cut\"\n", "unknown key `condition.a.lists`"),
        ("[run]\ncondition = [\"bare\"]\nformat = [\"serde\"]\n", "cannot be combined with `run.condition`"),
    ];
    for (text, message) in cases {
        sandbox.write("healbench.toml", text);
        let shown = error(&[]);
        assert!(shown.contains(message) && shown.contains("healbench.toml:"), "{text}: {shown}");
    }
    sandbox.write("healbench.toml", "[condition.ours]\n");
    assert!(error(&["--condition", "our"]).contains("did you mean `ours`?"));
}

#[test]
fn levels_of_content_are_conditions_of_a_run() {
    let sandbox = Sandbox::new();
    let axes = ["--format", "fusion-xml,zod-json", "--vary", "content=diagnosis,next-step"];
    let plan = sandbox.ok(&[&["plan"], &axes[..], &AGENT].concat()).out;
    let names =
        "none/bare, all/fusion-xml diagnosis, all/fusion-xml next-step, all/zod-json diagnosis, all/zod-json next-step";
    assert!(plan.contains(names), "{plan}");
    run(&sandbox, "a", &axes);
    let found = report(&sandbox, "a");
    let rows = found["agents"][0]["rows"].as_array().unwrap();
    let conditions: Vec<&str> = rows.iter().map(|row| row["condition"].as_str().unwrap()).collect();
    assert_eq!(conditions[..3], ["none bare", "all fusion-xml diagnosis", "all fusion-xml next-step"]);
    let shown = sandbox.ok(&["report", "a"]).out;
    assert!(shown.contains("all fusion-xml diagnosis") && shown.contains("all zod-json next-step"), "{shown}");
    for (axis, rows, columns) in [
        ("content", ["diagnosis", "next-step"], ["all fusion-xml", "all zod-json"]),
        ("format", ["fusion-xml", "zod-json"], ["all diagnosis", "all next-step"]),
    ] {
        let matrix: Value =
            serde_json::from_str(&sandbox.ok(&["compare", "a", "--by", axis, "--output=json"]).out).unwrap();
        assert_eq!(matrix["rows"], serde_json::json!(rows));
        let titles: Vec<&Value> =
            matrix["columns"].as_array().unwrap().iter().map(|column| &column["condition"]).collect();
        assert_eq!(titles, columns);
        assert!(matrix["columns"][0]["cells"][1]["differences"][0]["pairs"].as_u64().unwrap() > 0, "{matrix}");
        let interactions = matrix["interactions"].as_array().unwrap();
        assert_eq!(interactions.len(), 1, "{matrix}");
        assert!(interactions[0]["trials"].as_u64().unwrap() > 0, "{matrix}");
        let shown = sandbox.ok(&["compare", "a", "--by", axis]).out;
        assert!(shown.contains("interaction") && shown.contains("next-step in zod-json"), "{shown}");
    }
    let markdown = sandbox.ok(&["report", "a", "--output=markdown"]).out;
    assert!(markdown.contains("next-step in zod-json"), "{markdown}");
    let other = sandbox
        .ok(&["show", "a", "4", "--guardrails", "all", "--format", "fusion-xml", "--vary", "content=placebo"])
        .out;
    assert!(other.contains("all/fusion-xml placebo"), "{other}");
    let named = "[condition.short]\nguardrails = \"healing\"\nformat = \"zod-json\"\ncontent = \"diagnosis\"\n";
    sandbox.write("healbench.toml", named);
    assert!(sandbox.ok(&["plan", "quickstart", "--condition", "short"]).out.contains("short"));
    let error = sandbox.start(&["plan", "--vary", "content=hint"]).err;
    assert!(error.contains("unknown level of content `hint`"), "{error}");
}

#[test]
fn a_call_is_answered_at_several_levels_of_content() {
    let sandbox = Sandbox::new();
    let tools = r#"{"tools": [{"name": "users", "actions": {"create": {
        "properties": {"email": {"type": "string", "format": "email"}, "age": {"type": "integer", "minimum": 18}},
        "required": ["email", "age"]
    }}}]}"#;
    sandbox.write("tools.json", tools);
    let levels = "content=native,diagnosis,expected,next-step,example,placebo";
    let options = ["call", "--tools", "tools.json", "--format", "fusion-xml,zod-json", "--vary", levels];
    let call = ["users", r#"{"action": "create", "email": "none", "age": 7}"#];
    insta::assert_snapshot!(sandbox.ok(&[&options[..], &call].concat()).out);
}

/// Returns the lines of a table of documents with the entries of a registry.
fn table_lines<T>(title: &str, entries: &[NamedEntry<T>]) -> String {
    let line = |entry: &NamedEntry<T>| format!("| `{}` | {} |\n", entry.name, entry.summary);
    format!("| `{title}` | |\n|---|---|\n{}", entries.iter().map(line).collect::<String>())
}

#[test]
fn the_reference_has_the_entries_of_the_registries() {
    let condition = |entry: &ConditionEntry| {
        let AxisValues { undeclared, domain_errors, content, .. } = entry.values;
        let (guardrails, format) = (entry.values.guardrails(), &entry.values.errors);
        let (undeclared, domain_errors, content) = (undeclared.name(), domain_errors.name(), content.name());
        format!("| `{}` | {undeclared} | {guardrails} | {format} | {domain_errors} | {content} |\n", entry.name)
    };
    let summary = |entry: &ConditionEntry| format!("- `{}`: {}\n", entry.name, entry.summary);
    let axis = |axis: &Axis| format!("| `{}` | {} |\n", axis.key, axis.summary);
    let page = include_str!("../../../../docs/conditions.md");
    for expected in [
        CONDITIONS.iter().map(condition).collect::<String>(),
        CONDITIONS.iter().map(summary).collect(),
        AXES.iter().map(axis).collect(),
        table_lines("undeclared", &UNDECLARED),
        table_lines("domain_errors", &DOMAIN_ERRORS),
        table_lines("content", &CONTENTS),
        table_lines("client", &CLIENTS),
    ] {
        assert!(page.contains(&expected), "docs/conditions.md lacks:\n{expected}");
    }
}
