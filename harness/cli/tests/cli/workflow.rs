//! The workflow of docs/ci.md, with the action that it uses, played as a runner plays it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Sandbox;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Returns the inputs that a job of the documented workflow gives to the action.
fn documented_inputs(job: &str) -> BTreeMap<String, String> {
    let guide = read("docs/ci.md");
    let (_, rest) = guide.split_once("```yaml\nname: healbench\n").unwrap();
    let workflow = yaml(rest.split_once("\n```").unwrap().0);
    let steps = workflow["jobs"][job]["steps"].as_array().unwrap();
    let step = steps.iter().find(|step| step["uses"].as_str().is_some_and(|uses| uses.starts_with("OWNER/healbench@")));
    let inputs = step.unwrap()["with"].as_object().unwrap();
    inputs.iter().map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// The outcome of a step that uses the action.
struct Played {
    code: i32,
    /// Lines of the log, with the annotations.
    log: String,
    summary: String,
    verdict: String,
}

/// The values of expressions: `inputs.base`, `steps.gate.outputs.verdict`.
struct Context(BTreeMap<String, String>);

impl Context {
    /// Replaces `${{ … }}` by the first of its alternatives that is not empty.
    fn expand(&self, text: &str) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, expression)) = rest.split_once("${{") {
            let (expression, after) = expression.split_once("}}").unwrap();
            let mut values = expression.split("||").map(|name| self.0.get(name.trim()).map_or("", String::as_str));
            expanded.push_str(before);
            expanded.push_str(values.find(|value| !value.is_empty()).unwrap_or_default());
            rest = after;
        }
        expanded + rest
    }
}

/// Plays the action's scripts. The program is given, so that steps which get one do not run.
fn play(sandbox: &Sandbox, inputs: &BTreeMap<String, String>) -> Played {
    let action = yaml(&read("action.yml"));
    let temp = tempfile::tempdir().unwrap();
    let file = |name: &str| -> PathBuf { temp.path().join(name) };
    let summary = file("summary");
    std::fs::write(&summary, "").unwrap();
    let mut context = Context(BTreeMap::new());
    for (name, input) in action["inputs"].as_object().unwrap() {
        let default = input["default"].as_str().unwrap_or_default().to_owned();
        context.0.insert(format!("inputs.{name}"), inputs.get(name).cloned().unwrap_or(default));
    }
    for name in inputs.keys() {
        assert!(action["inputs"].get(name).is_some(), "the action has no input `{name}`");
    }
    context.0.insert("inputs.healbench".to_owned(), env!("CARGO_BIN_EXE_healbench").to_owned());
    let (mut log, mut code) = (String::new(), 0);
    for step in action["runs"]["steps"].as_array().unwrap() {
        if let Some(condition) = step["if"].as_str() {
            assert!(condition.starts_with("inputs.healbench == ''"), "{condition}");
            continue;
        }
        let output = file("output");
        std::fs::write(&output, "").unwrap();
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"].as_str().unwrap()]);
        command.current_dir(sandbox.dir.path()).env("NO_COLOR", "1");
        command.env("RUNNER_TEMP", temp.path()).env("GITHUB_OUTPUT", &output).env("GITHUB_STEP_SUMMARY", &summary);
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            command.env(name, context.expand(value.as_str().unwrap()));
        }
        let result = command.output().unwrap();
        log.push_str(&String::from_utf8(result.stdout).unwrap());
        log.push_str(&String::from_utf8(result.stderr).unwrap());
        for line in std::fs::read_to_string(&output).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            let id = step["id"].as_str().unwrap();
            context.0.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        code = result.status.code().unwrap();
        if code != 0 {
            break;
        }
    }
    let verdict = context.expand(action["outputs"]["verdict"]["value"].as_str().unwrap());
    Played { code, log, summary: std::fs::read_to_string(summary).unwrap(), verdict }
}

#[test]
fn the_documented_workflow_decides_as_it_says() {
    let inputs = documented_inputs("scripted");
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("scenarios")).unwrap();
    for name in ["wrong-enum", "unknown-id", "missing-field"] {
        sandbox.write(&format!("scenarios/{name}.yaml"), &read(&format!("scenarios/suites/quickstart/{name}.yaml")));
    }
    let template = read("scenarios/templates/teaching.jinja");
    sandbox.write("errors.jinja", &template);
    // The base, made with the arguments of the workflow.
    let mut base = vec!["run", "scenarios", "--quiet", "--out", "base"];
    base.extend(inputs["run-args"].split(' '));
    sandbox.ok(&base);
    sandbox.ok(&["bless", "base", "--out", &inputs["base"]]);
    let played = || {
        let played = play(&sandbox, &inputs);
        std::fs::remove_dir_all(sandbox.path("healbench-run")).unwrap();
        played
    };
    let check = |what: &str, played: &Played, expected: (i32, &str), log: &[&str], summary: &[&str]| {
        assert_eq!((played.code, played.verdict.as_str()), expected, "{what}: {}", played.log);
        for part in log {
            assert!(played.log.contains(part), "{what}: {part}: {}", played.log);
        }
        for part in summary {
            assert!(played.summary.contains(part), "{what}: {part}: {}", played.summary);
        }
    };

    check("nothing changed", &played(), (0, "PASS"), &["::notice title=healbench::PASS: "], &["**PASS**"]);

    // A template that does not say which values are allowed any more.
    let (head, body) = template.split_once("-#}").unwrap();
    let worse = "\nInvalid call.\n";
    assert!(body.contains("issue.correction"));
    sandbox.write("errors.jinja", &format!("{head}-#}}{worse}"));
    let failed = played();
    let fails = ["::notice title=healbench::FAIL: 1 fail, ", "points of success in ", "::error file=scenarios/"];
    check("a template", &failed, (1, "FAIL"), &fails, &["**FAIL**", "Changed: template:errors.jinja"]);
    assert_eq!(failed.log.matches("title=changed%3A").count(), 1, "{}", failed.log);
    sandbox.write("errors.jinja", &template);

    let text = read("scenarios/suites/quickstart/wrong-enum.yaml");
    sandbox.write("scenarios/wrong-enum.yaml", &text.replace("max_calls: ", "max_calls: 1"));
    let named = ["::error file=scenarios/wrong-enum.yaml,line=1,title=MISSING", "with another text in the candidate"];
    check("a scenario", &played(), (4, "MISSING"), &named, &["1 scenario with another text"]);
    sandbox.write("scenarios/wrong-enum.yaml", &text);

    sandbox.write("scenarios/new.yaml", &text.replace("id: quickstart/wrong-enum", "id: quickstart/new"));
    let named = ["::error file=scenarios/new.yaml,line=1,title=MISSING", "1 scenario new in the candidate"];
    check("an added one", &played(), (4, "MISSING"), &named, &["bless the candidate"]);
    // The others are compared.
    sandbox.write("errors.jinja", &format!("{head}-#}}{worse}"));
    check("an added one and a template", &played(), (1, "FAIL"), &["not compared: 1 scenario"], &["**FAIL**"]);
    sandbox.write("errors.jinja", &template);

    std::fs::remove_file(sandbox.path("scenarios/new.yaml")).unwrap();
    std::fs::remove_file(sandbox.path("scenarios/unknown-id.yaml")).unwrap();
    check("a removed one", &played(), (4, "MISSING"), &["1 scenario not there in the candidate"], &[]);
}
