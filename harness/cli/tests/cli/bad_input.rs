use super::*;

/// The program refuses with exit code 2, one error and, where there is one, a way out.
fn refused(place: &Place, words: &[&str]) -> String {
    let ended = place.start(words);
    assert_eq!(ended.code, Some(2), "{words:?}: {} {}", ended.out, ended.err);
    assert_eq!(ended.out, "", "{words:?}");
    assert!(!place.path("runs").exists(), "{words:?} left something behind");
    ended.err.replace(&place.dir.path().display().to_string(), "DIR")
}

#[test]
fn a_broken_scenario_says_what_where_and_how() {
    let place = Place::new();
    place.write(
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
    let shown = refused(&place, &["validate", "broken.yaml"]);
    insta::assert_snapshot!(shown);
    assert!(shown.lines().count() <= 60, "one screen");
    assert_eq!(refused(&place, &["run", "broken.yaml"]), shown);
}

#[test]
fn what_is_not_there_or_not_known() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).unwrap();
    place.write("notes.txt", "");
    let cases: [&[&str]; 14] = [
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
        &["report", "empty"],
        &["show", "nowhere", "0"],
        &["run", "--resume", "empty"],
    ];
    let shown: Vec<String> =
        cases.iter().map(|words| format!("$ healbench {}\n{}", words.join(" "), refused(&place, words))).collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn a_profile_with_a_wrong_number_names_its_place() {
    let place = Place::new();
    let shipped = include_str!("../../../../agents/profiles/typical.toml");
    place.write("mine.toml", &shipped.replacen("repeat = 0.5", "repeat = 1.5", 1));
    let shown = refused(&place, &["run", "--agent", "scripted:mine.toml"]);
    assert!(shown.contains("mine.toml:") && shown.contains("`repeat` is 1.5"), "{shown}");
}

#[test]
fn an_output_directory_that_exists_is_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path("out")).unwrap();
    place.write("out/precious", "mine");
    insta::assert_snapshot!(refused(&place, &["run", "--out", "out"]), @r"
    error: `out` exists already
    help: choose another `--out`, or remove it first
    ");
    assert_eq!(std::fs::read_dir(place.path("out")).unwrap().count(), 1);
}

#[test]
fn a_run_that_is_foreign_newer_damaged_or_unfinished() {
    let place = Place::new();
    place.ok(&["run", "--out", "run", "--trials", "1", "--agent", "scripted:blind"]);
    let manifest = std::fs::read_to_string(place.path("run/manifest.json")).unwrap();
    let shown = |text: &str| {
        place.write("run/manifest.json", text);
        refused(&place, &["report", "run"])
    };
    let mut all = vec![
        shown("{}"),
        shown("not json"),
        shown(&manifest.replacen("\"format_version\": 5", "\"format_version\": 99", 1)),
        shown(&manifest.replacen("\"status\": \"complete\"", "\"status\": \"running\"", 1)),
        shown(&manifest.replacen("\"trials\": 1", "\"trials\": \"many\"", 1)),
    ];
    place.write("run/manifest.json", &manifest);
    place.ok(&["report", "run"]);
    place.write("run/calls.parquet", "PAR1 this is no frame PAR1");
    let damaged = refused(&place, &["report", "run"]);
    assert!(damaged.starts_with("error: `run/calls.parquet` cannot be read as parquet"), "{damaged}");
    std::fs::remove_file(place.path("run/calls.parquet")).unwrap();
    all.push(refused(&place, &["report", "run"]));
    insta::assert_snapshot!(all.join("\n"));
    // What the hint says works.
    place.ok(&["run", "--resume", "run"]);
    place.ok(&["report", "run"]);
}

/// A limit on the size of files stands in for a full disk: the system refuses the same writes.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_nothing_that_looks_whole() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_healbench");
    let script = format!("trap '' XFSZ; ulimit -f 16; exec {program} run --out run --trials 20");
    let output = Command::new("bash").args(["-c", &script]).current_dir(place.dir.path()).output().unwrap();
    let ended = Ended::of(output);
    assert_eq!(ended.code, Some(2), "{} {}", ended.out, ended.err);
    assert!(ended.err.contains("error: cannot write"), "{}", ended.err);
    assert!(!place.path("run/calls.parquet").exists() && !place.path("run/episodes.parquet").exists());
    let shown = refused(&place, &["report", "run"]);
    assert!(shown.contains("did not finish"), "{shown}");
    // Once there is room again, the run can be played.
    place.ok(&["run", "--resume", "run"]);
    place.ok(&["report", "run"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_is_an_error_and_a_closed_one_is_not() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["schema"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let program = env!("CARGO_BIN_EXE_healbench");
    let script = format!("{program} schema | true; exit ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test]
fn a_script_that_names_what_is_not_there_and_a_profile_out_of_range() {
    let place = Place::new();
    let scenario = include_str!("../../../../scenarios/suites/quickstart/wrong-type.yaml");
    let tool =
        scenario.lines().find(|line| line.trim_start().starts_with("tool:") || line.contains("{tool: ")).unwrap();
    let name = tool.split("tool: ").nth(1).unwrap().split([',', '}']).next().unwrap().trim();
    place.write("tool.yaml", &scenario.replacen(&format!("tool: {name}"), "tool: nowhere", 1));
    let shown = refused(&place, &["run", "tool.yaml"]);
    assert!(shown.contains("unknown tool `nowhere`") && shown.contains("--> tool.yaml:"), "{shown}");

    place.write("mistake.yaml", &scenario.replacen("wrong_type", "wrong_tpye", 1));
    let shown = refused(&place, &["run", "mistake.yaml"]);
    assert!(
        shown.contains("wrong_tpye") && shown.contains("--> mistake.yaml:") && shown.contains("wrong_type"),
        "{shown}"
    );

    let shipped = include_str!("../../../../agents/profiles/typical.toml");
    for wrong in ["-0.1", "1.01", "nan", "inf"] {
        place.write("mine.toml", &shipped.replacen("missing = 0.9", &format!("missing = {wrong}"), 1));
        let shown = refused(&place, &["run", "--agent", "scripted:mine.toml"]);
        assert!(shown.contains("mine.toml:") && shown.contains("`uptake.missing`"), "{wrong}: {shown}");
    }
}

#[test]
fn claims_that_cannot_be() {
    let place = Place::new();
    let scenario = include_str!("../../../../scenarios/suites/claims/generic-errors.yaml");
    let with = |name: &str, more: &str| {
        let text = scenario.replacen("measure: repeated_calls", more, 1);
        assert_ne!(text, scenario);
        place.write(name, &text);
    };
    with("unknown.yaml", "measure: repeated_cals");
    with("price.yaml", "measure: response_usd");
    with("priced.yaml", "measure: calls\n    usd_per_million_tokens: 2");
    with("turned.yaml", "measure: calls\n    with: {from: 3, to: 2}");
    with("half.yaml", "measure: calls\n    with: {from: 3}");
    with("huge.yaml", "measure: calls\n    with: {about: 1.7e308}");
    let files = ["unknown.yaml", "price.yaml", "priced.yaml", "turned.yaml", "half.yaml", "huge.yaml"];
    let shown: Vec<String> = files.iter().map(|file| refused(&place, &["validate", file])).collect();
    insta::assert_snapshot!(shown.join("\n"));
}
