//! The workflow of docs/ci.md that audits a server, with the action that it uses, played as a runner plays it.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::{Value, json};

use crate::Sandbox;
use crate::actions::{Played, Step, documented_inputs, play};
use crate::servers::test_server;

/// Stands for the client of GitHub: notes its calls, lists the comments of a file, and keeps the body that it is given.
const GH: &str = r#"#!/usr/bin/env bash
echo "$*" >> calls
[ ! -e denied ] || { echo "HTTP 403" >&2; exit 1; }
query=
while [ $# != 0 ]; do
    case $1 in
        --jq) query=$2; shift ;;
        body=@*) cp "${1#body=@}" body ;;
    esac
    shift
done
[ -n "$query" ] || exit 0
if command -v jq > /dev/null; then jq -r "$query" comments.json; else cat comments.txt; fi
"#;

/// Stands for curl: copies what is asked for from the folder `release`.
const CURL: &str = r#"#!/usr/bin/env bash
echo "$*" >> "$RELEASE/fetched"
while [ $# != 0 ]; do
    case $1 in
        --output) out=$2; shift ;;
        https://*) url=$1 ;;
    esac
    shift
done
cp "$RELEASE/${url##*/}" "$out"
"#;

fn program(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.write(name, text);
    std::fs::set_permissions(sandbox.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A repository with a server, an audit of it, and the programs that the action uses.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("bin")).unwrap();
    program(&sandbox, "bin/gh", GH);
    program(&sandbox, "bin/curl", CURL);
    std::fs::create_dir(sandbox.path("src")).unwrap();
    symlink(test_server(), sandbox.path("program")).unwrap();
    sandbox.write("src/server.sh", &format!("exec '{}' audited # mutters\n", test_server().display()));
    sandbox.ok(&["audit", "--output", "json=audit.json", "--", "sh", "src/server.sh"]);
    sandbox.write("comments.json", "[]");
    sandbox
}

/// Plays the action in a pull request of a repository.
fn play_in(sandbox: &Sandbox, inputs: &BTreeMap<String, String>, head: &str) -> Played {
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let expressions = [
        ("github.token", "token"),
        ("github.action_repository", "owner/healbench"),
        ("github.event.pull_request.number", "7"),
        ("github.event.pull_request.head.repo.full_name", head),
    ];
    let release = sandbox.path("release");
    let variables = [("PATH", Path::new(&path)), ("RELEASE", &release)];
    play(sandbox, &Step { folder: "audit", inputs, expressions: &expressions, variables: &variables })
}

/// The inputs of the documented workflow, with the server of the repository and the program.
fn inputs() -> BTreeMap<String, String> {
    let mut inputs = documented_inputs("healbench audit", "audit", "healbench/audit");
    assert_eq!((&*inputs["command"], &*inputs["baseline"]), ("node src/server.js", "audit.json"));
    inputs.insert("command".to_owned(), "sh src/server.sh".to_owned());
    // The server has a tool with a broken schema, for which any limit fails.
    assert!(inputs.insert("fail-under".to_owned(), String::new()).is_some());
    inputs.insert("healbench".to_owned(), env!("CARGO_BIN_EXE_healbench").to_owned());
    inputs
}

#[test]
fn a_pull_request_is_told_what_changed() {
    let sandbox = repository();
    let inputs = inputs();
    let read = |name: &str| std::fs::read_to_string(sandbox.path(name)).unwrap_or_default();
    let same = play_in(&sandbox, &inputs, "owner/server");
    assert_eq!((same.code, &*same.outputs["score"]), (0, "25.0"), "{}", same.log);
    assert!(
        same.summary.starts_with("## healbench audit: test") && same.summary.contains("### Findings"),
        "{}",
        same.summary
    );
    let sarif: Value = serde_json::from_str(&read(&inputs["sarif"])).unwrap();
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "src/server.sh");
    assert!(read("calls").contains("--method POST repos/owner/server/issues/7/comments"), "{}", read("calls"));
    let body = read("body");
    assert!(body.starts_with("<!-- healbench audit -->\n## healbench audit: test") && !body.contains("###"), "{body}");
    assert!(body.contains("Nothing changed since the baseline."), "{body}");

    // Worse: the step fails, and its own comment is edited, not that of a person with the same words.
    let mut better: Value = serde_json::from_str(&read("audit.json")).unwrap();
    better["tools"][0]["score"] = 100.5.into();
    sandbox.write("audit.json", &better.to_string());
    let comment = |id: u64, kind: &str, body: &str| json!({"id": id, "user": {"type": kind}, "body": body});
    let comments = json!([
        comment(3, "Bot", "<!-- healbench audit other -->\nof another audit"),
        comment(4, "Bot", "<!-- healbench audit -->\r\nearlier"),
        comment(5, "User", "<!-- healbench audit -->\nof a person"),
        comment(6, "Bot", "see <!-- healbench audit -->"),
    ]);
    sandbox.write("comments.json", &comments.to_string());
    sandbox.write("comments.txt", "4 <!-- healbench audit -->\n6 see <!-- healbench audit -->\n");
    sandbox.write("calls", "");
    let worse = play_in(&sandbox, &inputs, "owner/server");
    assert_eq!((worse.code, &*worse.outputs["exit-code"]), (1, "1"), "{}", worse.log);
    assert!(read("calls").contains("--method PATCH repos/owner/server/issues/comments/4 "), "{}", read("calls"));
    assert!(!read("calls").contains("POST"), "{}", read("calls"));
    assert!(read("body").contains("- **worse**: tells: 100.5 → 100.0"), "{}", read("body"));
    assert!(worse.summary.contains("**worse**: tells: 100.5 → 100.0"), "{}", worse.summary);

    // A fork has no token that may write, and nothing is tried.
    sandbox.write("calls", "");
    assert_eq!((play_in(&sandbox, &inputs, "stranger/server").code, read("calls")), (1, String::new()));
    // Without the permission the audit decides all the same.
    sandbox.write("denied", "");
    let denied = play_in(&sandbox, &inputs, "owner/server");
    assert!(denied.code == 1 && denied.log.contains("`pull-requests: write`"), "{}", denied.log);
}

#[test]
fn the_program_is_that_of_the_release() {
    let sandbox = repository();
    let mut inputs = inputs();
    inputs.insert("healbench".to_owned(), String::new());
    let folder = format!("healbench-{}-x86_64-unknown-linux-gnu", env!("CARGO_PKG_VERSION"));
    std::fs::create_dir_all(sandbox.path(&format!("release/{folder}"))).unwrap();
    program(
        &sandbox,
        &format!("release/{folder}/healbench"),
        &format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_healbench")),
    );
    let make = format!("cd release && tar -czf {folder}.tar.gz {folder} && sha256sum {folder}.tar.gz > SHA256SUMS");
    let made = std::process::Command::new("sh").args(["-c", &make]).current_dir(sandbox.dir.path()).status().unwrap();
    assert!(made.success());
    let taken = play_in(&sandbox, &inputs, "owner/server");
    assert_eq!((taken.code, &*taken.outputs["score"]), (0, "25.0"), "{}", taken.log);
    let address = format!(
        "https://forge.example/owner/healbench/releases/download/v{}/{folder}.tar.gz",
        env!("CARGO_PKG_VERSION")
    );
    let fetched = std::fs::read_to_string(sandbox.path("release/fetched")).unwrap();
    assert!(fetched.contains(&address), "{fetched}");

    // Another archive than the one of the checksum is not started.
    let sums = sandbox.path("release/SHA256SUMS");
    let text = std::fs::read_to_string(&sums).unwrap();
    std::fs::write(&sums, format!("{}{}", "0".repeat(64), &text[64..])).unwrap();
    let refused = play_in(&sandbox, &inputs, "owner/server");
    assert!(refused.code == 2 && refused.log.contains("does not have its checksum"), "{}", refused.log);
    assert!(
        refused.log.contains("has no program for this runner") && refused.outputs["score"].is_empty(),
        "{}",
        refused.log
    );
    // None at all.
    std::fs::remove_file(sums).unwrap();
    let missing = play_in(&sandbox, &inputs, "owner/server");
    assert!(missing.code == 2 && missing.log.contains("has no program for this runner"), "{}", missing.log);
}

#[test]
fn wrong_inputs_and_servers_that_do_not_start_are_told() {
    let sandbox = repository();
    let told = |changes: &[(&str, &str)], code: i32, expected: &str| -> Played {
        let mut inputs = inputs();
        inputs.extend(changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let played = play_in(&sandbox, &inputs, "owner/server");
        assert!(played.code == code && played.log.contains(expected), "{changes:?}: {} {}", played.code, played.log);
        played
    };
    told(&[("command", "")], 2, "command: name the server's program");
    told(&[("url", "http://127.0.0.1:1")], 2, "not both");
    told(&[("baseline", "none.json")], 2, "baseline: there is no none.json");
    told(&[("comment", "yes")], 2, "comment: true or false");
    told(&[("name", "a -->")], 2, "name: letters");
    let of_one = [("args", "--tool mutters"), ("baseline", "")];
    told(&[&of_one[..], &[("fail-under", "25")]].concat(), 0, "Score 25.0");
    told(&[&of_one[..], &[("fail-under", "25.1")]].concat(), 1, "Score 25.0");
    told(&[("args", "--tool tells"), ("baseline", "")], 0, "Score 100.0");
    let dead = told(
        &[("command", "./program exit")],
        4,
        "::error title=healbench::the server could not be audited: exit code 4",
    );
    assert!(dead.summary.contains("no configuration found"), "{}", dead.summary);
}
