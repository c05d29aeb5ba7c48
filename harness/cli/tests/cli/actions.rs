//! The scripts of an action, played as a runner plays them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Sandbox;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the text of a file of the repository.
pub(crate) fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

/// Returns the inputs that a job of a workflow in docs/ci.md gives to an action.
pub(crate) fn documented_inputs(workflow: &str, job: &str, action: &str) -> BTreeMap<String, String> {
    let guide = read("docs/ci.md");
    let (_, rest) = guide.split_once(&format!("```yaml\nname: {workflow}\n")).unwrap();
    let workflow = yaml(rest.split_once("\n```").unwrap().0);
    let steps = workflow["jobs"][job]["steps"].as_array().unwrap();
    let uses = format!("OWNER/{action}@");
    let step = steps.iter().find(|step| step["uses"].as_str().is_some_and(|used| used.starts_with(&uses)));
    let inputs = step.unwrap()["with"].as_object().unwrap();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    inputs.iter().map(|(name, value)| (name.clone(), text(value))).collect()
}

/// A step of a job that uses an action.
pub(crate) struct Step<'s> {
    /// The folder of the action in the repository.
    pub(crate) folder: &'s str,
    pub(crate) inputs: &'s BTreeMap<String, String>,
    /// The values of expressions such as `github.token`.
    pub(crate) expressions: &'s [(&'s str, &'s str)],
    /// The environment variables of the job.
    pub(crate) variables: &'s [(&'s str, &'s Path)],
}

/// The outcome of a step.
pub(crate) struct Played {
    pub(crate) code: i32,
    /// Lines of the log, with the annotations.
    pub(crate) log: String,
    pub(crate) summary: String,
    pub(crate) outputs: BTreeMap<String, String>,
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

/// Plays the scripts of an action in the sandbox. Of the steps with a condition, those for want of a program run if the input
/// `healbench` is empty, and all others are left out.
pub(crate) fn play(sandbox: &Sandbox, step: &Step<'_>) -> Played {
    let folder = Path::new(ROOT).join(step.folder);
    let action = yaml(&std::fs::read_to_string(folder.join("action.yml")).unwrap());
    let temp = tempfile::tempdir().unwrap();
    let file = |name: &str| -> PathBuf { temp.path().join(name) };
    let summary = file("summary");
    std::fs::write(&summary, "").unwrap();
    let mut context = Context(step.expressions.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect());
    for (name, input) in action["inputs"].as_object().unwrap() {
        let default = context.expand(input["default"].as_str().unwrap_or_default());
        context.0.insert(format!("inputs.{name}"), step.inputs.get(name).cloned().unwrap_or(default));
    }
    for name in step.inputs.keys() {
        assert!(action["inputs"].get(name).is_some(), "the action has no input `{name}`");
    }
    let (mut log, mut code) = (String::new(), 0);
    for part in action["runs"]["steps"].as_array().unwrap() {
        if let Some(condition) = part["if"].as_str() {
            assert!(condition.starts_with("inputs.healbench == ''"), "{condition}");
            if condition != "inputs.healbench == ''" || !context.0["inputs.healbench"].is_empty() {
                continue;
            }
        }
        let output = file("output");
        std::fs::write(&output, "").unwrap();
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", part["run"].as_str().unwrap()]);
        command.current_dir(sandbox.dir.path()).env("NO_COLOR", "1").env("GITHUB_ACTION_PATH", &folder);
        command.env("GITHUB_REPOSITORY", "owner/server").env("GITHUB_SERVER_URL", "https://forge.example");
        command.env("RUNNER_OS", "Linux").env("RUNNER_ARCH", "X64");
        command.env("RUNNER_TEMP", temp.path()).env("GITHUB_OUTPUT", &output).env("GITHUB_STEP_SUMMARY", &summary);
        command.envs(step.variables.iter().copied());
        for (name, value) in part["env"].as_object().into_iter().flatten() {
            command.env(name, context.expand(value.as_str().unwrap()));
        }
        let result = command.output().unwrap();
        log.push_str(&String::from_utf8(result.stdout).unwrap());
        log.push_str(&String::from_utf8(result.stderr).unwrap());
        for line in std::fs::read_to_string(&output).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            let id = part["id"].as_str().unwrap();
            context.0.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
        }
        code = result.status.code().unwrap();
        if code != 0 {
            break;
        }
    }
    let outputs = action["outputs"].as_object().unwrap().iter();
    let outputs = outputs.map(|(name, output)| (name.clone(), context.expand(output["value"].as_str().unwrap())));
    Played { code, log, summary: std::fs::read_to_string(summary).unwrap(), outputs: outputs.collect() }
}
