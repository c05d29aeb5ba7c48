//! Audits of MCP servers, from a command to its exit code.

use std::path::Path;
use std::process::Stdio;

use jsonschema::draft202012;
use serde_json::{Value, json};

use super::*;
use crate::servers::test_server;

fn audit(sandbox: &Sandbox, mode: &str, args: &[&str]) -> CommandResult {
    let server = test_server().display().to_string();
    sandbox.start(&[&["audit"], args, &["--", &server, mode]].concat())
}

#[test]
fn an_audit_decides_by_its_score_and_its_baseline() {
    let sandbox = Sandbox::new();
    let first =
        audit(&sandbox, "audited", &["--output", "terminal", "--output", "json=base.json", "--output", "junit=a.xml"]);
    assert_eq!((first.code, first.err.as_str()), (Some(0), ""));
    assert!(first.out.starts_with("test, MCP 2025-06-18\n6 of 10 tools audited"), "{}", first.out);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.path("base.json")).unwrap()).unwrap();
    let schema: Value = serde_json::from_str(&sandbox.ok(&["schema", "audit"]).out).unwrap();
    let errors: Vec<String> = draft202012::new(&schema).unwrap().iter_errors(&report).map(|e| e.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert!(std::fs::read_to_string(sandbox.path("a.xml")).unwrap().contains("<testsuite name=\"tells\""));

    let code = |args: &[&str]| audit(&sandbox, "audited", args).code;
    let of_one = |limit: &str| code(&["--tool", "mutters", "--fail-under", limit]);
    assert_eq!((of_one("25"), of_one("25.1")), (Some(0), Some(1)));
    // A tool whose schema cannot be used has no score, and fails all the same.
    assert_eq!(code(&["--fail-under", "25"]), Some(1));
    let same = audit(&sandbox, "audited", &["--baseline", "base.json"]);
    assert!(same.code == Some(0) && same.out.contains("\nNothing changed since the baseline\n"), "{}", same.out);
    let mut better = report;
    better["tools"][0]["score"] = 100.5.into();
    sandbox.write("better.json", &better.to_string());
    let worse = audit(&sandbox, "audited", &["--baseline", "better.json"]);
    assert!(worse.code == Some(1) && worse.out.contains("  worse  tells: 100.5 → 100.0\n"), "{}", worse.out);
    // A server of which nothing can be said.
    let unknown = audit(&sandbox, "unmarked", &[]);
    assert!(unknown.code == Some(2) && unknown.out.contains("Score: none"), "{}", unknown.out);
    assert_eq!(audit(&sandbox, "unmarked", &["--fail-under", "0"]).code, Some(1));
}

#[test]
#[cfg(unix)]
fn a_file_of_the_working_directory_is_found_from_the_folder_of_the_server() {
    let sandbox = Sandbox::new();
    sandbox.write("server.sh", &format!("exec '{}' \"$@\"\n", test_server().display()));
    // A word that is no path stays as it is, though there is such a file.
    sandbox.write("audited", "");
    let found = sandbox.start(&["audit", "--", "sh", "server.sh", "audited"]);
    assert!(found.code == Some(0) && found.out.contains("6 of 10 tools audited"), "{} {}", found.out, found.err);
    // The folder of the server comes first.
    std::fs::create_dir(sandbox.path("fixture")).unwrap();
    sandbox.write("fixture/server.sh", "echo 'from the fixture' >&2; exit 1\n");
    let other = sandbox.start(&["audit", "--fixture", "fixture", "--", "sh", "server.sh", "audited"]);
    assert!(other.code == Some(4) && other.err.contains("from the fixture"), "{} {}", other.out, other.err);
    sandbox.ok(&["new", "--from-server", "--out", "mine", "--", "sh", "server.sh", "audited"]);
    let scenario = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
    assert!(scenario.contains("command: [\"sh\",\"/") && scenario.contains("/server.sh\",\"audited\"]"), "{scenario}");
}

/// The properties that GitHub requires, in the shape of SARIF 2.1.0.
fn sarif_schema() -> Value {
    let text =
        json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}});
    let rule = json!({"required": ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
        "properties": {"shortDescription": text, "fullDescription": text, "help": text}});
    let line = json!({"type": "integer", "minimum": 1});
    let region =
        json!({"required": ["startLine", "startColumn", "endLine", "endColumn"], "additionalProperties": line});
    let uri = json!({"type": "string", "format": "uri-reference", "pattern": "^[^/\\\\]"});
    let place = json!({"required": ["artifactLocation", "region"],
        "properties": {"artifactLocation": {"required": ["uri"], "properties": {"uri": uri}}, "region": region}});
    let result = json!({
        "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
        "properties": {
            "level": {"enum": ["error", "warning", "note"]},
            "message": text,
            "locations": {"minItems": 1, "items": {"required": ["physicalLocation", "logicalLocations"], "properties": {"physicalLocation": place}}},
            "partialFingerprints": {"required": ["primaryLocationLineHash"]},
        },
    });
    let driver = json!({"required": ["name", "semanticVersion", "rules"], "properties": {"rules": {"minItems": 1, "items": rule}}});
    let run = json!({
        "required": ["tool", "results", "automationDetails"],
        "properties": {
            "tool": {"required": ["driver"], "properties": {"driver": driver}},
            "results": {"type": "array", "items": result},
            "automationDetails": {"properties": {"id": {"type": "string", "pattern": "^healbench/[^/]+/$"}}},
        },
    });
    json!({
        "required": ["$schema", "version", "runs"],
        "properties": {"version": {"const": "2.1.0"}, "runs": {"minItems": 1, "maxItems": 1, "items": run}},
    })
}

#[test]
#[cfg(unix)]
fn results_for_code_scanning_are_in_the_file_of_the_server() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("src")).unwrap();
    sandbox.write("src/server.sh", &format!("# mutters\nexec '{}' audited\n", test_server().display()));
    let places = |args: &[&str], out: &str| -> (String, u64) {
        let result = sandbox.start(&[&["audit", "--output", &format!("sarif={out}")], args].concat());
        assert_eq!(result.code, Some(0), "{}", result.err);
        let log: Value = serde_json::from_str(&std::fs::read_to_string(sandbox.path(out)).unwrap()).unwrap();
        let schema = draft202012::new(&sarif_schema()).unwrap();
        let errors: Vec<String> = schema.iter_errors(&log).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new());
        let results = log["runs"][0]["results"].as_array().unwrap();
        let muttered = results.iter().find(|result| result["ruleId"] == "no-remedy").unwrap();
        let place = &muttered["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap().to_owned();
        (uri, place["region"]["startLine"].as_u64().unwrap())
    };
    assert_eq!(places(&["--", "sh", "./src/server.sh"], "a.sarif"), ("src/server.sh".to_owned(), 1));
    // A program is no text; the calls file names the tools too.
    let server = test_server().display().to_string();
    assert_eq!(places(&["--", &server, "audited"], "b.sarif"), ("tools.json".to_owned(), 1));
    sandbox.write("calls.yaml", "tools:\n  tells: {right: {city: Oslo}}\n  mutters: {right: {city: Oslo}}\n");
    let with_calls = ["--calls", "calls.yaml", "--", &server, "audited"];
    assert_eq!(places(&with_calls, "c.sarif"), ("calls.yaml".to_owned(), 3));
    // A link leads to the file, and a file elsewhere is none of the repository.
    std::os::unix::fs::symlink("src/server.sh", sandbox.path("link.sh")).unwrap();
    assert_eq!(places(&["--", "sh", "link.sh"], "d.sarif"), ("src/server.sh".to_owned(), 1));
    // A program that starts it is installed, and not of the repository either.
    std::fs::create_dir_all(sandbox.path("node_modules/run")).unwrap();
    sandbox.write("node_modules/run/run.sh", "exec sh \"$@\"\n");
    let installed = ["--", "sh", "node_modules/run/run.sh", "src/server.sh"];
    assert_eq!(places(&installed, "f.sarif"), ("src/server.sh".to_owned(), 1));
    let elsewhere = tempfile::tempdir().unwrap();
    let script = elsewhere.path().join("server.sh");
    std::fs::copy(sandbox.path("src/server.sh"), &script).unwrap();
    assert_eq!(places(&["--", "sh", script.to_str().unwrap()], "e.sarif"), ("tools.json".to_owned(), 1));
}

#[test]
fn a_badge_shows_the_score_or_that_there_is_none() {
    let sandbox = Sandbox::new();
    let shown = |mode: &str| -> (Value, String) {
        let result = audit(&sandbox, mode, &["--output", "badge=badge.json", "--output", "svg=badge.svg"]);
        assert_eq!(result.out, "");
        let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap();
        (serde_json::from_str(&read("badge.json")).unwrap(), read("badge.svg"))
    };
    let (badge, svg) = shown("audited");
    let expected = json!({"schemaVersion": 1, "label": "healbench audit", "message": "25.0", "color": "#e05d44"});
    assert_eq!(badge, expected);
    assert!(svg.contains("<title>healbench audit of test, MCP 2025-06-18: 25.0</title>"), "{svg}");
    assert!(svg.contains("fill=\"#e05d44\"") && svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    let (badge, svg) = shown("unmarked");
    assert_eq!((&badge["message"], &badge["color"]), (&json!("no score"), &json!("#9f9f9f")));
    assert!(svg.contains(": no score</title>") && svg.contains("fill=\"#9f9f9f\""), "{svg}");
}

#[test]
fn calls_are_written_once_and_read_again() {
    let sandbox = Sandbox::new();
    let written = audit(&sandbox, "audited", &["--write-calls", "calls.yaml"]);
    assert_eq!((written.code, written.err.as_str()), (Some(0), "calls: calls.yaml\n"));
    assert!(std::fs::read_to_string(sandbox.path("calls.yaml")).unwrap().contains("right: {\"city\":\"Oslo\"}"));
    let again = audit(&sandbox, "audited", &["--write-calls", "calls.yaml"]);
    assert!(
        again.code == Some(2) && again.err.contains("`calls.yaml` exists, and may have been edited"),
        "{}",
        again.err
    );
    assert_eq!(audit(&sandbox, "audited", &["--calls", "calls.yaml"]).code, Some(0));
}

#[test]
fn what_was_handed_on_is_not_shown() {
    let sandbox = Sandbox::new();
    let server = test_server().display().to_string();
    let args = ["audit", "--env", "TEST_TOKEN", "--output", "json", "--tool", "tells", "--", &server, "audited"];
    let result = CommandResult::new(sandbox.command(&args).env("TEST_TOKEN", "token-of-a-user").output().unwrap());
    assert!(result.code == Some(0) && result.out.contains("[key]"), "{} {}", result.out, result.err);
    assert!(!result.out.contains("token-of-a-user"));
}

#[test]
fn wrong_usage_is_refused_with_a_way_out() {
    let sandbox = Sandbox::new();
    sandbox.write("calls.yaml", "tools: {tells: {wright: {}}}");
    sandbox.write("other.json", "{\"format\": \"audit-score/0\"}");
    for (args, message) in [
        (&["--calls", "calls.yaml"][..], "cannot read calls.yaml: the calls file is invalid"),
        (&["--calls", "none.yaml"], "cannot read `none.yaml`"),
        (&["--tool", "tell"], "the server has no tool `tell`; did you mean `tells`?"),
        (
            &["--baseline", "other.json"],
            "its format is `audit-score/0`, and this version compares with `audit-score/2`",
        ),
        (&["--baseline", "none.json"], "write one with `healbench audit --output json=FILE`"),
        (
            &["--output", "xml"],
            "unknown form `xml`; known: `terminal`, `json`, `junit`, `markdown`, `sarif`, `badge`, `svg`",
        ),
        (&["--output", "json", "--output", "junit"], "2 reports cannot all go to standard output"),
        (&["--output", "json=calls.yaml", "--calls", "calls.yaml"], "it is an input"),
        (&["--fail-under", "101"], "a score is a number from 0 to 100"),
        (&["--fixture", "none"], "`none`: No such file or directory"),
    ] {
        let result = audit(&sandbox, "audited", args);
        assert!(result.code == Some(2) && result.err.contains(message), "{args:?}: {:?} {}", result.code, result.err);
    }
    let failed = audit(&sandbox, "exit", &[]);
    assert!(failed.code == Some(4) && failed.err.contains("no configuration found"), "{}", failed.err);
    let missing = sandbox.start(&["audit", "--", "no-such-program"]);
    assert!(missing.code == Some(4) && missing.err.contains("`no-such-program` cannot be started"), "{}", missing.err);
}

#[test]
fn a_proxy_is_started_by_its_client() {
    let sandbox = Sandbox::new();
    let server = test_server().display().to_string();
    let mut command = sandbox.command(&["proxy", "--log", "guard.jsonl", "--record", "rows", "--", &server, "proxied"]);
    let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = client.stdin.take().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":1}}}"#;
    std::io::Write::write_all(&mut input, format!("{call}\n").as_bytes()).unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(client.stdout.as_mut().unwrap()), &mut line).unwrap();
    assert!(line.contains("<validation_error"), "{line}");
    drop(input);
    assert_eq!(client.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(sandbox.path("guard.jsonl")).unwrap();
    assert!(log.contains("\"what\":\"refused\"") && log.contains("\"what\":\"end\""), "{log}");
    let mut rows: Vec<_> = std::fs::read_dir(sandbox.path("rows")).unwrap().map(|file| file.unwrap().path()).collect();
    rows.sort();
    let [calls, episodes] = &rows[..] else { panic!("{rows:?}") };
    let read = |path: &Path, word: &str| {
        assert!(path.file_name().unwrap().to_str().unwrap().starts_with(word), "{path:?}");
        serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    assert_eq!(read(calls, "calls-")["error_class"], "VALIDATION");
    assert!(read(episodes, "episodes-")["success"].is_null());

    // A log that cannot be written does not end the session, and is told at its end.
    #[cfg(target_os = "linux")]
    {
        let full = sandbox.start(&["proxy", "--log", "/dev/full", "--", &server, "proxied"]);
        assert!(full.code == Some(1) && full.err.contains("cannot write `/dev/full`"), "{:?} {}", full.code, full.err);
        assert!(full.err.contains("the disk is full"), "{}", full.err);
    }

    // A folder that cannot be written is told before the server starts.
    let taken = sandbox.start(&["proxy", "--record", "guard.jsonl", "--", "no-such-program"]);
    assert!(taken.code == Some(2) && taken.err.contains("guard.jsonl"), "{:?} {}", taken.code, taken.err);
    let missing = sandbox.start(&["proxy", "--", "no-such-program"]);
    assert!(missing.code == Some(4) && missing.err.contains("`no-such-program` cannot be started"), "{}", missing.err);
    assert_eq!(sandbox.start(&["proxy", "--format", "none", "--", "x"]).code, Some(2));
    let ended = sandbox.start(&["proxy", "--", &server, "exit"]);
    assert!(ended.err.contains("no configuration found"), "{}", ended.err);
}
