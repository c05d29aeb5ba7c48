//! Tests of comparisons, baselines and the gate from the command line.

use healbench_store::FORMAT_VERSION;
use serde_json::{Value, json};

use super::*;

/// A small plan with several entries on each axis.
const AXES: [&str; 6] =
    ["--agent", "scripted:typical,scripted:perfect", "--trials", "4", "--format", "fusion-xml,serde"];

fn record_run(sandbox: &Sandbox, out: &str, more: &[&str]) {
    sandbox.ok(&[&["run", "quickstart", "--quiet", "--out", out][..], &AXES, more].concat());
}

/// Returns a template that describes each invalid field once or `times` times; `options` controls the hint about
/// allowed values.
fn template(times: usize, options: bool) -> String {
    let whole = "Field {{ issue.path }}: {{ issue.problem }}. {{ issue.correction }} ";
    let hint = match options {
        true => whole.to_owned(),
        false => format!(
            "{{% if issue.kind == 'not_an_option' %}}Field {{{{ issue.path }}}}: invalid. {{% else %}}{whole}{{% endif %}}"
        ),
    };
    let issues = format!("{{% for issue in issues %}}{hint}{{% endfor %}}");
    format!("{{% if issues %}}{issues}{{% else %}}{{{{ message }}}} {{% endif %}}\n").repeat(times)
}

#[test]
fn a_baseline_is_stable_and_passes_its_own_run() {
    let sandbox = Sandbox::new();
    record_run(&sandbox, "run", &[]);
    let blessed = sandbox.ok(&["bless", "run", "--out", "base.toml"]);
    assert_eq!((blessed.out.as_str(), blessed.err.as_str()), ("", "baseline: base.toml · 6 cells · 90 lines\n"));
    let text = std::fs::read_to_string(sandbox.path("base.toml")).unwrap();
    assert_eq!(sandbox.ok(&["bless", "run", "--out", "base.toml"]).err, "the baseline is unchanged\n");
    assert_eq!(std::fs::read_to_string(sandbox.path("base.toml")).unwrap(), text);
    // The same plan on one thread, compared with the run itself.
    record_run(&sandbox, "again", &["-j", "1"]);
    let passed = sandbox.ok(&["gate", "base.toml", "again"]);
    assert!(passed.out.starts_with("PASS  again · 80 pass\n"), "{}", passed.out);
    sandbox.ok(&["gate", "run", "again"]);
    assert!(!sandbox.path("base.toml.part").exists());
}

/// The mistakes and the rows are drawn by the earlier id, and the baseline's results are found under it.
#[test]
fn a_baseline_outlives_a_new_name() {
    let sandbox = Sandbox::new();
    let text = include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml");
    std::fs::create_dir(sandbox.path("suite")).unwrap();
    sandbox.write("suite/date.yaml", include_str!("../../../../scenarios/suites/quickstart/bad-date.yaml"));
    let run = |text: &str, out: &str| {
        sandbox.write("suite/enum.yaml", text);
        sandbox.ok(&[&["run", "suite", "--quiet", "--out", out][..], &AXES].concat());
    };
    run(text, "before");
    sandbox.ok(&["bless", "before", "--out", "base.toml"]);
    let renamed = text.replace("id: quickstart/wrong-enum\n", "id: shop/word\nrenamed_from: quickstart/wrong-enum\n");
    run(&renamed, "after");
    for base in ["base.toml", "before"] {
        let passed = sandbox.ok(&["gate", base, "after"]);
        assert!(passed.out.starts_with("PASS  after"), "{}", passed.out);
    }
    let compared = sandbox.ok(&["compare", "before", "after"]).out;
    assert!(compared.contains(" 0 changed") && !compared.contains("Not paired"), "{compared}");
    run(&renamed.replace("renamed_from: quickstart/wrong-enum\n", ""), "new");
    let compared = sandbox.ok(&["compare", "before", "new"]).out;
    assert!(compared.contains("`renamed_from: ID`"), "{compared}");
    let unknown = sandbox.start(&["gate", "base.toml", "new"]);
    assert!(unknown.code != Some(0) && unknown.out.contains("1 scenario removed"), "{}", unknown.out);
    run(&renamed.replace("max_calls: 8", "max_calls: 9"), "changed");
    let changed = sandbox.start(&["gate", "base.toml", "changed"]);
    assert!(changed.code != Some(0) && changed.out.contains("1 scenario changed"), "{}", changed.out);
}

#[test]
fn two_agents_of_a_run_are_a_base_and_a_candidate() {
    let sandbox = Sandbox::new();
    record_run(&sandbox, "run", &[]);
    let (typical, perfect) = ("scripted:typical", "scripted:perfect");
    let gate = |base, candidate| sandbox.start(&["gate", "run", "--between", base, candidate, "--output", "json"]);
    let equal = gate(typical, typical);
    let report: Value = serde_json::from_str(&equal.out).unwrap();
    assert_eq!((equal.code, &report["verdict"], &report["run_apart"]), (Some(0), &json!("PASS"), &Value::Null));
    assert_eq!(
        (&report["base"], &report["candidate"]),
        (&json!("run, scripted:typical"), &json!("run, scripted:typical"))
    );
    // Runs of two agents of one name are decided alike.
    let failed: Value = serde_json::from_str(&gate(perfect, typical).out).unwrap();
    for (profile, out) in [("perfect", "base"), ("typical", "candidate")] {
        let path = format!("{}/../../agents/reader/profiles/{profile}.toml", env!("CARGO_MANIFEST_DIR"));
        sandbox.write("one.toml", &std::fs::read_to_string(path).unwrap());
        let alone = ["run", "quickstart", "--quiet", "--out", out, "--agent", "scripted:one.toml"];
        sandbox.ok(&[&alone[..], &AXES[2..]].concat());
    }
    sandbox.write("policy.toml", "may_differ = [\"agents\"]\n");
    let apart = sandbox.start(&["gate", "base", "candidate", "--policy", "policy.toml", "--output", "json"]);
    let apart: Value = serde_json::from_str(&apart.out).unwrap_or_else(|_| panic!("{}", apart.err));
    let decisions = |report: &Value| {
        let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["subject"]["run"].is_null());
        rows.map(|row| (row["metric"].clone(), row["verdict"].clone(), row["difference"].clone())).collect::<Vec<_>>()
    };
    assert_eq!((decisions(&failed), &failed["verdict"]), (decisions(&apart), &json!("FAIL")));

    // The transcript that it points to can be shown.
    let printed = sandbox.start(&["gate", "run", "--between", perfect, typical]).out;
    let command = printed.lines().find_map(|line| line.split("healbench show ").nth(1)).expect(&printed);
    let words: Vec<&str> = ["show"].into_iter().chain(command.split_whitespace()).collect();
    sandbox.ok(&words);

    let unknown = gate(typical, "scripted:tipical");
    assert_eq!((unknown.code, unknown.out.as_str()), (Some(2), ""));
    assert_eq!(
        unknown.err,
        "error: the run has no agent `scripted:tipical`\nhelp: its agents are `scripted:perfect`, `scripted:typical`\n"
    );
    assert_eq!(sandbox.start(&["gate", "run", "run", "--between", typical, perfect]).code, Some(2));
}

#[test]
fn blessing_prints_the_changes() {
    let sandbox = with_templates(&template(1, true), &template(2, true));
    let blessed = sandbox.ok(&["bless", "after"]);
    assert!(blessed.out.starts_with("scripted:perfect · all template:mine.jinja · tokens: "), "{}", blessed.out);
    assert!(blessed.out.ends_with("\n1 changed row\n") && !blessed.out.contains("FAIL"), "{}", blessed.out);
    sandbox.ok(&["gate", "baseline.toml", "after"]);
    // A baseline of another plan is replaced completely, with an explanation.
    sandbox.ok(&["run", "hostile", "--quiet", "--out", "other", "--agent", "scripted:perfect", "--trials", "3"]);
    let blessed = sandbox.ok(&["bless", "other"]);
    assert!(blessed.out.starts_with("the previous baseline is replaced completely: "), "{}", blessed.out);
    sandbox.ok(&["gate", "baseline.toml", "other"]);
    // A file that is not a baseline is replaced too.
    sandbox.write("baseline.toml", "mine");
    assert!(sandbox.ok(&["bless", "other"]).out.contains("it does not begin as a baseline does"));
    let left: Vec<String> = std::fs::read_dir(sandbox.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// Returns the exit code and the rows that do not pass, from the JSON output: the subject's format and the metric.
fn failing(sandbox: &Sandbox, args: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
    let result = sandbox.start(&[args, &["--output", "json"]].concat());
    let report: serde_json::Value =
        serde_json::from_str(&result.out).unwrap_or_else(|_| panic!("{}{}", result.out, result.err));
    let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] != "PASS");
    let failures = rows.map(|row| {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (text(&row["subject"]["format"]), text(&row["metric"]))
    });
    let mut failures: Vec<_> = failures.collect();
    failures.sort();
    failures.dedup();
    (result.code, failures)
}

/// Returns the changed scenarios of all rows.
fn changed(sandbox: &Sandbox, args: &[&str]) -> Vec<String> {
    let result = sandbox.start(&[args, &["--output", "json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&result.out).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let changes = rows.iter().flat_map(|row| row["changes"].as_array().unwrap());
    let mut ids: Vec<String> = changes.map(|change| change["scenario"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Runs with a template before and after a change, and writes a policy that allows the change.
fn with_templates(before: &str, after: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("gate.toml", "may_differ = [\"formats\"]\n");
    let args = [
        "run",
        "quickstart",
        "--quiet",
        "--agent",
        "scripted:perfect",
        "--trials",
        "3",
        "--format",
        "all,template:mine.jinja",
    ];
    for (text, out) in [(before, "before"), (after, "after")] {
        sandbox.write("mine.jinja", text);
        sandbox.ok(&[&args[..], &["--out", out]].concat());
    }
    sandbox.ok(&["bless", "before"]);
    sandbox
}

#[test]
fn doubled_tokens_of_one_format_fail_its_token_rows() {
    let sandbox = with_templates(&template(1, true), &template(2, true));
    let args = ["gate", "baseline.toml", "after", "--policy", "gate.toml"];
    let (code, failures) = failing(&sandbox, &args);
    let format = "template:mine.jinja".to_owned();
    let expected = ["billed_tokens", "guardrail_tokens", "tokens", "wasted_tokens"];
    let expected = expected.map(|metric| (format.clone(), metric.to_owned()));
    assert_eq!((code, failures), (Some(1), expected.to_vec()));
    // They are rows of one cause, and the text is shown.
    let failed = sandbox.start(&["gate", "baseline.toml", "after"]);
    assert!(failed.out.starts_with("FAIL  after · 1 fail, "), "{}", failed.out);
    assert_eq!(failed.out.matches("\nFAIL  ").count(), 1, "{}", failed.out);
    assert!(failed.out.contains("\nchanged: template:mine.jinja\n  @@ "), "{}", failed.out);
}

#[test]
fn a_changed_text_without_effect_passes_and_is_shown() {
    let closing = |arg: &str| format!("{}Please {arg} the call.\n", template(1, true));
    let sandbox = with_templates(&closing("check"), &closing("spoil"));
    for base in ["baseline.toml", "before"] {
        assert_eq!(failing(&sandbox, &["gate", base, "after", "--policy", "gate.toml"]), (Some(0), Vec::new()));
        let passed = sandbox.ok(&["gate", base, "after"]);
        assert!(passed.out.contains("\n  -Please check the call.\n  +Please spoil the call.\n"), "{}", passed.out);
    }
}

#[test]
fn a_broken_hint_fails_the_scenarios_that_need_it() {
    let sandbox = with_templates(&template(1, true), &template(1, false));
    let args = ["gate", "baseline.toml", "after", "--policy", "gate.toml"];
    let (code, failures) = failing(&sandbox, &args);
    assert_eq!(code, Some(1));
    assert!(failures.iter().all(|(format, _)| format == "template:mine.jinja"), "{failures:?}");
    assert!(failures.iter().any(|(_, metric)| metric == "success"), "{failures:?}");
    // Only scenarios in which an agent chooses an invalid option are affected.
    assert_eq!(changed(&sandbox, &args), ["quickstart/several-at-once", "quickstart/wrong-enum"]);
    let compared = sandbox.ok(&["compare", "before", "after"]);
    assert!(compared.out.contains("differs: error format template:mine.jinja: its text\n"), "{}", compared.out);
    assert!(compared.out.contains("6 successes lost, 0 gained:\n"), "{}", compared.out);
    // The printed commands show the transcripts of both runs.
    let commands = compared.out.lines().filter_map(|line| line.trim().strip_prefix("healbench "));
    let shown: Vec<String> = commands.map(|line| sandbox.ok(&line.split(' ').collect::<Vec<_>>()).out).collect();
    assert_eq!(shown.len(), 4, "an example of each scenario");
    assert!(shown[0].contains("gave up") && shown[1].contains("success"), "{}{}", shown[0], shown[1]);
}

#[test]
fn incompatible_runs_are_never_compared() {
    let sandbox = Sandbox::new();
    record_run(&sandbox, "run", &[]);
    sandbox.ok(&["bless", "run"]);
    let refused = |args: &[&str], reason: &str| {
        let result = sandbox.start(args);
        assert_eq!(result.code, Some(4), "{args:?}: {}{}", result.out, result.err);
        assert!(result.err.contains(reason) && result.err.contains("help: "), "{args:?}: {}", result.err);
        assert_eq!(result.out, "", "{args:?}");
    };
    record_run(&sandbox, "seed", &["--seed", "2"]);
    refused(&["gate", "baseline.toml", "seed"], "the seed is 1 in the base, 2 in the candidate");
    refused(&["gate", "run", "seed"], "the seed is 1 in the base, 2 in the candidate");
    refused(&["compare", "run", "seed"], "one has the seed 1, the other 2");
    sandbox.ok(&[&["run", "hostile", "--quiet", "--out", "others"][..], &AXES].concat());
    refused(
        &["gate", "baseline.toml", "others"],
        "no scenario is the same: `quickstart/bad-date` is there in the base, removed in the candidate",
    );
    let text = std::fs::read_to_string(sandbox.path("baseline.toml")).unwrap();
    sandbox.write("cut.toml", &text[..text.len() - 200]);
    refused(&["gate", "cut.toml", "run"], "it was truncated or edited");
    sandbox.write("edited.toml", &text.replacen("calls = ", "calls = 1", 1));
    refused(&["gate", "edited.toml", "run"], "it was truncated or edited");
    sandbox.write("older.toml", &text.replacen("version = 2", "version = 1", 1));
    refused(&["gate", "older.toml", "run"], "its version is 1; this program reads 2");
    sandbox.write("foreign.toml", "[tool]\n");
    refused(&["gate", "foreign.toml", "run"], "it does not begin as a baseline does");
    // A run of a newer version, as base and as candidate.
    let manifest = std::fs::read_to_string(sandbox.path("seed/manifest.json")).unwrap();
    let version = |version: u32| format!("\"format_version\": {version}");
    sandbox.write(
        "seed/manifest.json",
        &sealed(&manifest.replacen(&version(FORMAT_VERSION), &version(FORMAT_VERSION + 1), 1)),
    );
    let newer = format!("has run format {}", FORMAT_VERSION + 1);
    refused(&["gate", "seed", "run"], &newer);
    refused(&["gate", "baseline.toml", "seed"], &newer);
    refused(&["bless", "seed"], &newer);
    // A run that was interrupted, and one with fewer episodes than planned.
    let other = manifest.replacen("\"status\": \"complete\"", "\"status\": \"interrupted\"", 1);
    sandbox.write("seed/manifest.json", &sealed(&other));
    refused(&["bless", "seed"], "the run is incomplete");
    refused(&["gate", "baseline.toml", "seed"], "the run is incomplete");
    sandbox.write("seed/manifest.json", &sealed(&other.replacen("interrupted", "running", 1)));
    refused(&["bless", "seed"], "did not finish");
    assert_eq!(std::fs::read_to_string(sandbox.path("baseline.toml")).unwrap(), text);
}

#[test]
fn absent_cells_are_missing() {
    let sandbox = Sandbox::new();
    record_run(&sandbox, "run", &[]);
    sandbox.ok(&["bless", "run"]);
    let fewer = [
        "run",
        "quickstart",
        "--quiet",
        "--trials",
        "4",
        "--agent",
        "scripted:typical",
        "--format",
        "serde",
        "--out",
        "few",
    ];
    sandbox.ok(&fewer);
    let result = sandbox.start(&["gate", "baseline.toml", "few"]);
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.out.starts_with("MISSING  few · 4 missing, "), "{}", result.out);
}

#[test]
fn every_renderer_can_write_to_a_file() {
    let sandbox = with_templates(&template(1, true), &template(2, true));
    let mut args = vec!["gate", "baseline.toml", "after", "--policy", "gate.toml", "--output", "github"];
    let files = ["terminal=t.txt", "json=t.json", "junit=t.xml", "markdown=t.md", "github=t.gh"];
    args.extend(files.iter().flat_map(|file| ["--output", file]));
    let result = sandbox.start(&args);
    assert_eq!(result.code, Some(1));
    let file = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
    assert_eq!(result.out, file("t.gh"));
    assert!(result.out.contains("::error "), "{}", result.out);
    assert!(file("t.txt").starts_with("FAIL  after · 1 fail, "), "{}", file("t.txt"));
    assert!(file("t.xml").starts_with("<?xml "), "{}", file("t.xml"));
    assert!(file("t.md").contains("FAIL"), "{}", file("t.md"));
    let json: serde_json::Value = serde_json::from_str(&file("t.json")).unwrap();
    assert_eq!((&json["verdict"], &json["counts"]["FAIL"]), (&"FAIL".into(), &1.into()));
    let twice = sandbox.start(&["gate", "baseline.toml", "after", "--output", "json", "--output", "junit"]);
    assert_eq!(twice.code, Some(2));
    for clash in ["json=x", "json=./baseline.toml", "json=after/manifest.json", "json=gate.toml"] {
        let outputs = ["--output", "junit=x", "--output", clash, "--policy", "gate.toml"];
        let result = sandbox.start(&[&["gate", "baseline.toml", "after"][..], &outputs].concat());
        assert_eq!(result.code, Some(2), "{clash}");
        assert!(result.err.contains("`--output` cannot write `"), "{}", result.err);
    }
    for (arg, reason) in [("yaml", "unknown form `yaml`"), ("json=", "the file has no name")] {
        let result = sandbox.start(&["gate", "baseline.toml", "after", "--output", arg]);
        assert_eq!(result.code, Some(2));
        assert!(result.err.contains(reason), "{}", result.err);
    }
    // The printed command shows a transcript.
    let line = file("t.txt").lines().find(|line| line.contains("healbench show")).unwrap().trim().to_owned();
    let shown: Vec<&str> = line.split(' ').skip(1).collect();
    assert!(sandbox.ok(&shown).out.contains("quickstart/"), "{line}");
}

#[test]
fn invalid_arguments_have_distinct_errors() {
    let sandbox = Sandbox::new();
    record_run(&sandbox, "run", &[]);
    sandbox.write("bad.toml", "[[check]]\nmetric = \"success\"\nmargin = \"5%\"\n");
    let table: [(&[&str], &str); 6] = [
        (&["gate", "nowhere.toml", "run"], "cannot read `nowhere.toml`"),
        (&["gate", "run"], "<CANDIDATE>"),
        (
            &["gate", "run", "run", "--policy", "bad.toml"],
            "bad.toml:3:10: `check.margin` does not fit: success is a rate",
        ),
        (&["gate", "run", "run", "--policy", "none.toml"], "cannot read `none.toml`"),
        (&["compare", "run"], "<CANDIDATE>"),
        (&["compare", "run", "--by", "format", "--reference", "zod"], "unknown reference `zod`"),
    ];
    for (args, reason) in table {
        let result = sandbox.start(args);
        assert_eq!(result.code, Some(2), "{args:?}: {}", result.err);
        assert!(result.err.contains(reason), "{args:?}: {}", result.err);
    }
}

/// Returns paired rounds with the given ratio and a stable control.
fn rounds(invalid: f64, slower_invalid: f64) -> String {
    let pair = |name: &str, role: &str, ratio: f64| {
        // The ratio varies by half a percent, equally in every file.
        let rounds: Vec<String> = (0..501)
            .map(|round| {
                let jitter = 1.0 + 0.00001 * f64::from(round % 101 - 50);
                let b = (50_000.0 * ratio * jitter) as u64;
                format!("[50000,{b},{b},50000]")
            })
            .collect();
        format!(
            "{{\"name\":\"{name}\",\"role\":\"{role}\",\"reference\":\"r\",\"candidate\":\"c\",\"iterations\":[10,10],\"rounds\":[{}]}}",
            rounds.join(",")
        )
    };
    let pairs = [
        pair("control", "control", 1.0),
        pair("identity", "equal", 1.0),
        pair("invalid call", "equal", invalid),
        pair("valid call over reference workload", "reference_workload", 2.0),
        pair("invalid call over reference workload", "reference_workload", 9.0 * slower_invalid),
    ];
    format!(
        "{{\"format_version\":2,\"healbench\":\"0.1.0\",\"revision\":null,\"cpu\":\"x\",\"optimized\":true,\"epoch_ns\":50000,\"pairs\":[{}]}}\n",
        pairs.join(",")
    )
}

#[test]
fn a_slower_invalid_call_fails_its_own_row() {
    let sandbox = Sandbox::new();
    sandbox.write("base.json", &rounds(1.0, 1.0));
    sandbox.write("same.json", &rounds(1.0, 1.001));
    sandbox.write("slow.json", &rounds(1.2, 1.2));
    let failures = |args: &[&str]| {
        let result = sandbox.start(&[args, &["--output", "json"]].concat());
        let report: serde_json::Value = serde_json::from_str(&result.out).unwrap_or_else(|_| panic!("{}", result.err));
        let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] != "PASS");
        let rows: Vec<String> = rows
            .map(|row| {
                format!("{} {}", row["verdict"].as_str().unwrap(), row["subject"]["pair"].as_str().unwrap_or_default())
            })
            .collect();
        (result.code, rows)
    };
    assert_eq!(failures(&["gate", "--perf", "base.json"]), (Some(0), vec![]));
    assert_eq!(failures(&["gate", "base.json", "--perf", "same.json"]), (Some(0), vec![]));
    assert_eq!(failures(&["gate", "--perf", "slow.json"]), (Some(1), vec!["FAIL invalid call".to_owned()]));
    assert_eq!(
        failures(&["gate", "base.json", "--perf", "slow.json"]),
        (Some(1), vec!["FAIL invalid call".to_owned(), "FAIL invalid call over reference workload".to_owned()])
    );
    // A noisy machine and too few rounds are both inconclusive.
    let shaken = rounds(1.2, 1.2).replacen("50000,50", "50000,51", 501);
    sandbox.write("shaken.json", &shaken);
    let (code, rows) = failures(&["gate", "--perf", "shaken.json"]);
    assert_eq!((code, rows.len()), (Some(3), 4), "{rows:?}");
    assert!(rows.iter().all(|row| row.starts_with("INCONCLUSIVE")), "{rows:?}");
    // A measurement on another machine cannot be the base.
    sandbox.write("other.json", &rounds(1.0, 1.0).replace("\"cpu\":\"x\"", "\"cpu\":\"y\""));
    let result = sandbox.start(&["gate", "other.json", "--perf", "same.json"]);
    assert_eq!(result.code, Some(4));
    assert!(result.err.contains("the processor is y in the base, x in the candidate"), "{}", result.err);
    // Pairs named in a policy must exist, and may have their own margin.
    sandbox.write("gate.toml", "[perf]\nequal = \"30%\"\n[[perf.check]]\npair = \"gone\"\n");
    let (code, rows) = failures(&["gate", "--perf", "slow.json", "--policy", "gate.toml"]);
    assert_eq!((code, rows), (Some(4), vec!["MISSING gone".to_owned()]));
    sandbox.write("gate.toml", "[[perf.check]]\npair = \"invalid call\"\ntier = \"advisory\"\n");
    assert_eq!(failures(&["gate", "--perf", "slow.json", "--policy", "gate.toml"]).0, Some(0));
    // An undecided row is not a pass, even if the policy makes it advisory.
    let without = |role: &str| {
        let text = rounds(1.5, 1.5);
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        run["pairs"].as_array_mut().unwrap().retain(|pair| pair["role"] != role);
        run.to_string()
    };
    sandbox.write("gate.toml", "[[perf.check]]\npair = \"invalid call\"\ntier = \"advisory\"\n");
    sandbox.write("no-control.json", &without("control"));
    assert_eq!(failures(&["gate", "--perf", "no-control.json", "--policy", "gate.toml"]).0, Some(3));
    sandbox.write("gate.toml", "[[perf.check]]\npair = \"invalid call over reference workload\"\n");
    assert_eq!(failures(&["gate", "--perf", "base.json", "--policy", "gate.toml"]).0, Some(4));
    sandbox.write("gate.toml", "[[perf.check]]\npair = \"control\"\n");
    assert_eq!(failures(&["gate", "--perf", "base.json", "--policy", "gate.toml"]).0, Some(4));
    let mut run: serde_json::Value = serde_json::from_str(&rounds(1.0, 1.0)).unwrap();
    run["pairs"].as_array_mut().unwrap().truncate(1);
    sandbox.write("only-control.json", &run.to_string());
    assert_eq!(failures(&["gate", "--perf", "only-control.json"]).0, Some(4));
    // An earlier measurement on a noisy machine cannot be the base.
    assert_eq!(failures(&["gate", "shaken.json", "--perf", "same.json"]).0, Some(3));
    sandbox.write("slower.json", &rounds(1.0, 1.3));
    assert_eq!(failures(&["gate", "shaken.json", "--perf", "slower.json"]).0, Some(3));
    assert_eq!(failures(&["gate", "base.json", "--perf", "slower.json"]).0, Some(1));
    sandbox.write("role.json", &rounds(1.0, 1.0).replace("\"role\":\"equal\"", "\"role\":\"reference_workload\""));
    assert_eq!(sandbox.start(&["gate", "role.json", "--perf", "same.json"]).code, Some(4));
    // Files that are not measurements.
    sandbox.write("cut.json", &rounds(1.0, 1.0)[..500]);
    assert_eq!(sandbox.start(&["gate", "--perf", "cut.json"]).code, Some(4));
    assert_eq!(sandbox.start(&["gate", "--perf", "none.json"]).code, Some(2));
}
