use healbench_store::FORMAT_VERSION;

use super::*;

/// Asserts that the program fails with exit code 2 and one error, and returns its text with the suggested fix.
fn usage_error(sandbox: &Sandbox, args: &[&str]) -> String {
    let result = sandbox.start(args);
    assert_eq!(result.code, Some(2), "{args:?}: {} {}", result.out, result.err);
    assert_eq!(result.out, "", "{args:?}");
    assert!(!sandbox.path("runs").exists(), "{args:?} left something behind");
    result.err.replace(&sandbox.dir.path().display().to_string(), "DIR")
}

#[test]
fn errors_of_a_scenario_name_position_and_fix() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "broken.yaml",
        "\
id: demo/broken
task: {prompt: Make a note., max_call: 4}
tools:
  notes:
    description: Keep notes.
    actions:
      create:
        input: {properties: {text: {type: strin}}, required: [text]}
        handler: {insert: note}
world:
  notes: {key: id, rows: []}
expect:
  - row: {in: notes, where: {text: hello}}
script:
  - call: {tool: notes, action: creat, arguments: {text: hello}}
    mistakes: [mising]
",
    );
    let shown = usage_error(&sandbox, &["validate", "broken.yaml"]);
    insta::assert_snapshot!(shown);
    assert!(shown.lines().count() <= 60, "one screen");
    assert_eq!(usage_error(&sandbox, &["run", "broken.yaml"]), shown);
}

#[test]
fn missing_files_and_unknown_names() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.write("notes.txt", "");
    let cases: [&[&str]; 15] = [
        &["run", "quickstar"],
        &["run", "empty"],
        &["run", "notes.txt"],
        &["run", "--agent", "scripted:typcal"],
        &["run", "--agent", "gpt"],
        &["run", "--agent", "scripted:no-such.toml"],
        &["run", "--agent", "scripted:blind,scripted:blind"],
        &["run", "--guardrails", "healng"],
        &["run", "--format", "xml"],
        &["run", "--format", "all,xml"],
        &["report", "nowhere"],
        &["report", "lates"],
        &["report", "empty"],
        &["show", "nowhere", "0"],
        &["run", "--resume", "empty"],
    ];
    let shown: Vec<String> =
        cases.iter().map(|args| format!("$ healbench {}\n{}", args.join(" "), usage_error(&sandbox, args))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn an_invalid_number_in_a_profile_names_its_position() {
    let sandbox = Sandbox::new();
    let shipped = include_str!("../../../../agents/reader/profiles/typical.toml");
    sandbox.write("mine.toml", &shipped.replacen("repeat = 0.5", "repeat = 1.5", 1));
    let shown = usage_error(&sandbox, &["run", "--agent", "scripted:mine.toml"]);
    assert!(shown.contains("mine.toml:") && shown.contains("`repeat` is 1.5"), "{shown}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_read_only_working_directory_is_an_error_with_a_way_out() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::new();
    let read_only = sandbox.path("read-only");
    std::fs::create_dir(&read_only).unwrap();
    std::fs::set_permissions(&read_only, std::fs::Permissions::from_mode(0o555)).unwrap();
    // Permissions do not stop root. Nobody creates folders in `/sys`.
    let ignored = std::fs::create_dir(read_only.join("tried")).is_ok();
    let directory = if ignored { Path::new("/sys") } else { &read_only };
    let mut command = sandbox.command(&["run", "quickstart", "--trials", "1"]);
    let result = CommandResult::new(command.current_dir(directory).output().unwrap());
    assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{}", result.err);
    assert!(result.err.starts_with("error: cannot create `runs`: "), "{}", result.err);
    assert!(result.err.ends_with("help: name a directory to write the run to, with `--out`\n"), "{}", result.err);
    let out = sandbox.path("elsewhere").display().to_string();
    let mut command = sandbox.command(&["run", "quickstart", "--trials", "1", "--quiet", "--out", &out]);
    let result = CommandResult::new(command.current_dir(directory).output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
}

#[test]
fn an_existing_output_directory_is_not_overwritten() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("out")).unwrap();
    sandbox.write("out/precious", "mine");
    insta::assert_snapshot!(usage_error(&sandbox, &["run", "--out", "out"]), @r"
    error: `out` exists already
    help: choose another `--out`, or remove it first
    ");
    assert_eq!(std::fs::read_dir(sandbox.path("out")).unwrap().count(), 1);
}

#[test]
fn a_run_that_is_foreign_newer_damaged_or_unfinished() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["run", "quickstart", "--out", "run", "--trials", "1", "--agent", "scripted:blind"]);
    let manifest = std::fs::read_to_string(sandbox.path("run/manifest.json")).unwrap();
    let shown = |text: &str| {
        sandbox.write("run/manifest.json", text);
        usage_error(&sandbox, &["report", "run"])
    };
    let edited = |from: &str, to: &str| sealed(&manifest.replacen(from, to, 1));
    let mut all = vec![
        shown("{}"),
        shown(&format!("{{\"format_version\": {}}}", FORMAT_VERSION - 1)),
        shown(&edited(&format!("\"format_version\": {FORMAT_VERSION}"), "\"format_version\": 99")),
        shown(&edited("\"status\": \"complete\"", "\"status\": \"running\"")),
        shown(&edited("\"trials\": 1", "\"trials\": \"many\"")),
        shown(&edited("\"calls.parquet\"", "\"../calls.parquet\"")),
    ];
    sandbox.write("run/manifest.json", &manifest);
    sandbox.ok(&["report", "run"]);
    std::fs::remove_file(sandbox.path("run/calls.parquet")).unwrap();
    all.push(usage_error(&sandbox, &["report", "run"]));
    insta::assert_snapshot!(all.join("\n"));
    // The suggested fix works.
    sandbox.ok(&["run", "--resume", "run"]);
    sandbox.ok(&["report", "run"]);
}

/// A limit on file size simulates a full disk: the same writes fail.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_no_complete_run() {
    let sandbox = Sandbox::new();
    let program = env!("CARGO_BIN_EXE_healbench");
    // Each also without the shell's help, as the limit ends programs that do not expect it.
    for (blocks, trap) in [(16, "trap '' XFSZ"), (16, ":"), (40, ":"), (64, ":")] {
        let _ = std::fs::remove_dir_all(sandbox.path("run"));
        let script = format!("{trap}; ulimit -f {blocks}; exec {program} run quickstart --out run --trials 20");
        let output = Command::new("bash").args(["-c", &script]).current_dir(sandbox.dir.path()).output().unwrap();
        let result = CommandResult::new(output);
        assert_eq!(result.code, Some(2), "{} {}", result.out, result.err);
        assert!(result.err.contains("error: cannot write `run/"), "{}", result.err);
        assert!(result.err.contains("File too large") && result.err.contains("ulimit -f"), "{}", result.err);
        assert!(!sandbox.path("run/calls.parquet").exists() && !sandbox.path("run/episodes.parquet").exists());
    }
    let shown = usage_error(&sandbox, &["report", "run"]);
    assert!(shown.contains("did not finish"), "{shown}");
    // The run can be resumed when there is space again.
    sandbox.ok(&["run", "--resume", "run"]);
    sandbox.ok(&["report", "run"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error_and_a_closed_one_is_not() {
    let sandbox = Sandbox::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command(&["schema"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let program = env!("CARGO_BIN_EXE_healbench");
    let script = format!("{program} schema | true; exit ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test]
fn a_form_given_as_an_option_is_told_as_a_value_of_output() {
    let sandbox = Sandbox::new();
    for (args, tip) in [
        (["report", "latest", "--json"], Some("tip: use `--output json`, or `--output json=FILE`")),
        (["gate", "base.toml", "--junit=x.xml"], Some("tip: use `--output junit`, or `--output junit=FILE`")),
        (["calibrate", "latest", "--html"], None),
    ] {
        let shown = usage_error(&sandbox, &args);
        assert_eq!(shown.lines().find(|line| line.contains("`--output")).map(str::trim), tip, "{shown}");
    }
}

#[test]
fn unknown_names_in_scripts_and_profiles_out_of_range() {
    let sandbox = Sandbox::new();
    let scenario = include_str!("../../../../scenarios/suites/quickstart/wrong-type.yaml");
    let tool =
        scenario.lines().find(|line| line.trim_start().starts_with("tool:") || line.contains("{tool: ")).unwrap();
    let name = tool.split("tool: ").nth(1).unwrap().split([',', '}']).next().unwrap().trim();
    sandbox.write("tool.yaml", &scenario.replacen(&format!("tool: {name}"), "tool: nowhere", 1));
    let shown = usage_error(&sandbox, &["run", "tool.yaml"]);
    assert!(shown.contains("unknown tool `nowhere`") && shown.contains("--> tool.yaml:"), "{shown}");

    sandbox.write("mistake.yaml", &scenario.replacen("wrong_type", "wrong_tpye", 1));
    let shown = usage_error(&sandbox, &["run", "mistake.yaml"]);
    assert!(
        shown.contains("wrong_tpye") && shown.contains("--> mistake.yaml:") && shown.contains("wrong_type"),
        "{shown}"
    );

    let shipped = include_str!("../../../../agents/reader/profiles/typical.toml");
    for wrong in ["-0.1", "1.01", "nan", "inf"] {
        sandbox.write("mine.toml", &shipped.replacen("missing = 0.9", &format!("missing = {wrong}"), 1));
        let shown = usage_error(&sandbox, &["run", "--agent", "scripted:mine.toml"]);
        assert!(shown.contains("mine.toml:") && shown.contains("`uptake.missing`"), "{wrong}: {shown}");
    }
}

#[test]
fn invalid_claims() {
    let sandbox = Sandbox::new();
    let scenario = include_str!("../../../../scenarios/suites/claims/generic-errors.yaml");
    let with = |name: &str, more: &str| {
        let text = scenario.replacen("measure: repeated_calls", more, 1);
        assert_ne!(text, scenario);
        sandbox.write(name, &text);
    };
    with("unknown.yaml", "measure: repeated_cals");
    with("price.yaml", "measure: response_usd");
    with("priced.yaml", "measure: calls\n    usd_per_million_tokens: 2");
    with("turned.yaml", "measure: calls\n    with: {from: 3, to: 2}");
    with("half.yaml", "measure: calls\n    with: {from: 3}");
    with("huge.yaml", "measure: calls\n    with: {about: 1.7e308}");
    let files = ["unknown.yaml", "price.yaml", "priced.yaml", "turned.yaml", "half.yaml", "huge.yaml"];
    let shown: Vec<String> = files.iter().map(|file| usage_error(&sandbox, &["validate", file])).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[cfg(unix)]
#[test]
fn only_regular_files_of_a_stated_size_are_read() {
    let sandbox = Sandbox::new();
    assert!(std::process::Command::new("mkfifo").arg(sandbox.path("pipe.yaml")).status().unwrap().success());
    std::os::unix::fs::symlink(sandbox.path("pipe.yaml"), sandbox.path("pipe.jinja")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", sandbox.path("zero.toml")).unwrap();
    sandbox.write("long.yaml", &"# comment\n".repeat(1 << 20));
    // Each of these would block, or read until memory is gone.
    for (args, reason) in [
        (&["validate", "pipe.yaml"][..], "it is not a regular file"),
        (&["run", "quickstart", "--format", "template:pipe.jinja"], "it is not a regular file"),
        (&["run", "quickstart", "--config", "zero.toml"], "it is not a regular file"),
        (&["plan", "quickstart", "--agent", "openai:x", "--prices", "zero.toml"], "it is not a regular file"),
        (&["gate", "zero.toml", "zero.toml"], "it is not a regular file"),
        (&["validate", "long.yaml"], "it has more than 8 MiB, the most that is read"),
        (&["validate", "."], "it has more than 8 MiB, the most that is read"),
    ] {
        let ended = sandbox.start(args);
        assert!(ended.code != Some(0) && ended.err.contains(reason), "{args:?}: {:?} {}", ended.code, ended.err);
        assert!(!ended.err.contains("panicked"), "{}", ended.err);
    }

    // Files of a run.
    let run = sandbox.start(&["run", "quickstart", "--agent", "scripted:perfect", "--trials", "1", "--out", "r"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let scenario =
        std::fs::read_dir(sandbox.path("r/scenarios")).unwrap().map(|file| file.unwrap().path()).min().unwrap();
    std::fs::remove_file(&scenario).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&scenario).status().unwrap().success());
    let ended = sandbox.start(&["show", "r", "0"]);
    assert!(ended.code == Some(4) && ended.err.contains("not a regular file"), "{:?} {}", ended.code, ended.err);
}
