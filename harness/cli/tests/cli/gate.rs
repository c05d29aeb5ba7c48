//! Runs beside each other, baselines and the gate, as a user and as CI starts them.

use super::*;

/// What is played: few of everything.
const AXES: [&str; 6] =
    ["--agent", "scripted:typical,scripted:perfect", "--trials", "4", "--format", "fusion-xml,serde"];

fn play(place: &Place, out: &str, more: &[&str]) {
    place.ok(&[&["run", "quickstart", "--quiet", "--out", out][..], &AXES, more].concat());
}

/// A template that says what is wrong with each field, once or several times; its hint about options may be broken.
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
fn a_baseline_is_kept_and_held() {
    let place = Place::new();
    play(&place, "run", &[]);
    let blessed = place.ok(&["bless", "run", "--out", "base.toml"]);
    assert_eq!((blessed.out.as_str(), blessed.err.as_str()), ("", "baseline: base.toml · 6 cells · 90 lines\n"));
    let text = std::fs::read_to_string(place.path("base.toml")).unwrap();
    assert_eq!(place.ok(&["bless", "run", "--out", "base.toml"]).err, "the baseline is as it was\n");
    assert_eq!(std::fs::read_to_string(place.path("base.toml")).unwrap(), text);
    // The same again, on one thread and against the run itself.
    play(&place, "again", &["-j", "1"]);
    let passed = place.ok(&["gate", "base.toml", "again"]);
    assert!(passed.out.starts_with("PASS  again · 74 pass\n"), "{}", passed.out);
    place.ok(&["gate", "run", "again"]);
    assert!(!place.path("base.toml.part").exists());
}

#[test]
fn a_wanted_change_is_shown_when_it_is_blessed() {
    let place = with_templates(&template(1, true), &template(2, true));
    let blessed = place.ok(&["bless", "after"]);
    assert!(blessed.out.starts_with("scripted:perfect · all template:mine.jinja · tokens: "), "{}", blessed.out);
    assert!(blessed.out.ends_with("\n3 changed rows\n") && !blessed.out.contains("FAIL"), "{}", blessed.out);
    place.ok(&["gate", "baseline.toml", "after"]);
    // A baseline of something else is replaced whole, and it is said why.
    place.ok(&["run", "controls", "--quiet", "--out", "other", "--agent", "scripted:perfect", "--trials", "3"]);
    let blessed = place.ok(&["bless", "other"]);
    assert!(blessed.out.starts_with("what was there is replaced whole: "), "{}", blessed.out);
    place.ok(&["gate", "baseline.toml", "other"]);
    // What was no baseline is no reason to keep it.
    place.write("baseline.toml", "mine");
    assert!(place.ok(&["bless", "other"]).out.contains("it does not begin as a baseline does"));
    let left: Vec<String> = std::fs::read_dir(place.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

/// What does not pass, by the JSON form: subject's format, and metric.
fn failing(place: &Place, words: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
    let ended = place.start(&[words, &["--output", "json"]].concat());
    let report: serde_json::Value =
        serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}{}", ended.out, ended.err));
    let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] != "PASS");
    let told = rows.map(|row| {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        (text(&row["subject"]["format"]), text(&row["metric"]))
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told.dedup();
    (ended.code, told)
}

/// The scenarios that changed, over all rows.
fn changed(place: &Place, words: &[&str]) -> Vec<String> {
    let ended = place.start(&[words, &["--output", "json"]].concat());
    let report: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let changes = rows.iter().flat_map(|row| row["changes"].as_array().unwrap());
    let mut ids: Vec<String> = changes.map(|change| change["scenario"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Plays with a template before and after it changed, and leaves a policy that lets it.
fn with_templates(before: &str, after: &str) -> Place {
    let place = Place::new();
    place.write("gate.toml", "may_differ = [\"formats\"]\n");
    let words = [
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
        place.write("mine.jinja", text);
        place.ok(&[&words[..], &["--out", out]].concat());
    }
    place.ok(&["bless", "before"]);
    place
}

#[test]
fn doubled_tokens_of_one_format_fail_its_rows_of_tokens() {
    let place = with_templates(&template(1, true), &template(2, true));
    let words = ["gate", "baseline.toml", "after", "--policy", "gate.toml"];
    let (code, told) = failing(&place, &words);
    let format = "template:mine.jinja".to_owned();
    let expected = ["guardrail_tokens", "tokens", "wasted_tokens"].map(|metric| (format.clone(), metric.to_owned()));
    assert_eq!((code, told), (Some(1), expected.to_vec()));
    // Without the policy the texts must be the same.
    let refused = place.start(&["gate", "baseline.toml", "after"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.err.contains("the text of error format `template:mine.jinja`"), "{}", refused.err);
    assert!(refused.err.contains("may_differ = [\"formats\"]"), "{}", refused.err);
}

#[test]
fn another_word_that_no_agent_acts_on_fails_the_rows_of_its_format() {
    let closing = |word: &str| format!("{}Please {word} the call.\n", template(1, true));
    let place = with_templates(&closing("check"), &closing("spoil"));
    let format = "template:mine.jinja".to_owned();
    let expected = (Some(1), vec![(format, "rows".to_owned())]);
    assert_eq!(failing(&place, &["gate", "baseline.toml", "after", "--policy", "gate.toml"]), expected);
    assert_eq!(failing(&place, &["gate", "before", "after", "--policy", "gate.toml"]), expected);
}

#[test]
fn a_broken_hint_fails_the_scenarios_that_need_it() {
    let place = with_templates(&template(1, true), &template(1, false));
    let words = ["gate", "baseline.toml", "after", "--policy", "gate.toml"];
    let (code, told) = failing(&place, &words);
    assert_eq!(code, Some(1));
    assert!(told.iter().all(|(format, _)| format == "template:mine.jinja"), "{told:?}");
    assert!(told.iter().any(|(_, metric)| metric == "success"), "{told:?}");
    // Those, and only those, in which somebody chooses what is not among the options.
    assert_eq!(changed(&place, &words), ["quickstart/several-at-once", "quickstart/wrong-enum"]);
    let compared = place.ok(&["compare", "before", "after"]);
    assert!(compared.out.contains("differs: error format template:mine.jinja: its text\n"), "{}", compared.out);
    assert!(compared.out.contains("6 successes lost, 0 gained:\n"), "{}", compared.out);
    // The commands show both sides, as they were played.
    let commands = compared.out.lines().filter_map(|line| line.trim().strip_prefix("healbench "));
    let shown: Vec<String> = commands.map(|line| place.ok(&line.split(' ').collect::<Vec<_>>()).out).collect();
    assert_eq!(shown.len(), 12);
    assert!(shown[0].contains("gave_up") && shown[1].contains("success"), "{}{}", shown[0], shown[1]);
}

#[test]
fn unlike_things_are_never_compared() {
    let place = Place::new();
    play(&place, "run", &[]);
    place.ok(&["bless", "run"]);
    let refused = |words: &[&str], reason: &str| {
        let ended = place.start(words);
        assert_eq!(ended.code, Some(4), "{words:?}: {}{}", ended.out, ended.err);
        assert!(ended.err.contains(reason) && ended.err.contains("help: "), "{words:?}: {}", ended.err);
        assert_eq!(ended.out, "", "{words:?}");
    };
    play(&place, "seed", &["--seed", "2"]);
    refused(&["gate", "baseline.toml", "seed"], "the seed is 1 in the base, 2 in the candidate");
    refused(&["gate", "run", "seed"], "the seed is 1 in the base, 2 in the candidate");
    refused(&["compare", "run", "seed"], "one has the seed 1, the other 2");
    place.ok(&[&["run", "controls", "--quiet", "--out", "others"][..], &AXES].concat());
    refused(
        &["gate", "baseline.toml", "others"],
        "scenario `quickstart/bad-date` is there in the base, not there in the candidate",
    );
    let text = std::fs::read_to_string(place.path("baseline.toml")).unwrap();
    place.write("cut.toml", &text[..text.len() - 200]);
    refused(&["gate", "cut.toml", "run"], "it was truncated or edited");
    place.write("edited.toml", &text.replacen("calls = ", "calls = 1", 1));
    refused(&["gate", "edited.toml", "run"], "it was truncated or edited");
    place.write("newer.toml", &text.replacen("version = 1", "version = 2", 1));
    refused(&["gate", "newer.toml", "run"], "its version is 2; this program reads 1");
    place.write("foreign.toml", "[tool]\n");
    refused(&["gate", "foreign.toml", "run"], "it does not begin as a baseline does");
    // A run of a newer program, on either side.
    let manifest = std::fs::read_to_string(place.path("seed/manifest.json")).unwrap();
    place.write("seed/manifest.json", &manifest.replacen("\"format_version\": 5", "\"format_version\": 6", 1));
    refused(&["gate", "seed", "run"], "has run format 6");
    refused(&["gate", "baseline.toml", "seed"], "has run format 6");
    refused(&["bless", "seed"], "has run format 6");
    // A run that is cut off, and one that stopped early.
    let other = manifest.replacen("\"status\": \"complete\"", "\"status\": \"interrupted\"", 1);
    place.write("seed/manifest.json", &other);
    refused(&["bless", "seed"], "the run is not whole");
    refused(&["gate", "baseline.toml", "seed"], "the run is not whole");
    place.write("seed/manifest.json", &other.replacen("interrupted", "running", 1));
    refused(&["bless", "seed"], "did not finish");
    assert_eq!(std::fs::read_to_string(place.path("baseline.toml")).unwrap(), text);
}

#[test]
fn cells_that_are_gone_are_missing() {
    let place = Place::new();
    play(&place, "run", &[]);
    place.ok(&["bless", "run"]);
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
    place.ok(&fewer);
    let ended = place.start(&["gate", "baseline.toml", "few"]);
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.out.starts_with("MISSING  few · 4 missing, "), "{}", ended.out);
}

#[test]
fn every_form_may_go_to_a_file() {
    let place = with_templates(&template(1, true), &template(2, true));
    let mut words = vec!["gate", "baseline.toml", "after", "--policy", "gate.toml", "--output", "github"];
    let files = ["terminal=t.txt", "json=t.json", "junit=t.xml", "markdown=t.md", "github=t.gh"];
    words.extend(files.iter().flat_map(|file| ["--output", file]));
    let ended = place.start(&words);
    assert_eq!(ended.code, Some(1));
    let file = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(ended.out, file("t.gh"));
    assert!(ended.out.contains("::error "), "{}", ended.out);
    assert!(file("t.txt").starts_with("FAIL  after · 3 fail, "), "{}", file("t.txt"));
    assert!(file("t.xml").starts_with("<?xml "), "{}", file("t.xml"));
    assert!(file("t.md").contains("FAIL"), "{}", file("t.md"));
    let json: serde_json::Value = serde_json::from_str(&file("t.json")).unwrap();
    assert_eq!((&json["verdict"], &json["counts"]["FAIL"]), (&"FAIL".into(), &3.into()));
    let twice = place.start(&["gate", "baseline.toml", "after", "--output", "json", "--output", "junit"]);
    assert_eq!(twice.code, Some(2));
    for clash in ["json=x", "json=./baseline.toml", "json=after/manifest.json", "json=gate.toml"] {
        let outputs = ["--output", "junit=x", "--output", clash, "--policy", "gate.toml"];
        let ended = place.start(&[&["gate", "baseline.toml", "after"][..], &outputs].concat());
        assert_eq!(ended.code, Some(2), "{clash}");
        assert!(ended.err.contains("`--output` cannot write `"), "{}", ended.err);
    }
    for (word, reason) in [("yaml", "unknown form `yaml`"), ("json=", "the file has no name")] {
        let ended = place.start(&["gate", "baseline.toml", "after", "--output", word]);
        assert_eq!(ended.code, Some(2));
        assert!(ended.err.contains(reason), "{}", ended.err);
    }
    // A transcript can be shown by the command that is printed.
    let line = file("t.txt").lines().find(|line| line.contains("healbench show")).unwrap().trim().to_owned();
    let shown: Vec<&str> = line.split(' ').skip(1).collect();
    assert!(place.ok(&shown).out.contains("quickstart/"), "{line}");
}

#[test]
fn bad_words_are_told_apart() {
    let place = Place::new();
    play(&place, "run", &[]);
    place.write("bad.toml", "[[check]]\nmetric = \"success\"\nmargin = \"5%\"\n");
    let table: [(&[&str], &str); 6] = [
        (&["gate", "nowhere.toml", "run"], "cannot read `nowhere.toml`"),
        (&["gate", "run"], "<CANDIDATE>"),
        (&["gate", "run", "run", "--policy", "bad.toml"], "bad.toml:1: success is a rate"),
        (&["gate", "run", "run", "--policy", "none.toml"], "cannot read `none.toml`"),
        (&["compare", "run"], "<CANDIDATE>"),
        (&["compare", "run", "--by", "format", "--reference", "zod"], "unknown reference `zod`"),
    ];
    for (words, reason) in table {
        let ended = place.start(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.err);
        assert!(ended.err.contains(reason), "{words:?}: {}", ended.err);
    }
}

/// Paired rounds whose ratio is this, and whose control holds.
fn rounds(invalid: f64, slower_invalid: f64) -> String {
    let pair = |name: &str, role: &str, ratio: f64| {
        // A spread of half a percent around the ratio, the same in every file.
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
        pair("valid call over yardstick", "reference_workload", 2.0),
        pair("invalid call over yardstick", "reference_workload", 9.0 * slower_invalid),
    ];
    format!(
        "{{\"format_version\":1,\"healbench\":\"0.1.0\",\"revision\":null,\"cpu\":\"x\",\"optimized\":true,\"epoch_ns\":50000,\"pairs\":[{}]}}\n",
        pairs.join(",")
    )
}

#[test]
fn an_invalid_call_that_is_slower_fails_its_own_row() {
    let place = Place::new();
    place.write("base.json", &rounds(1.0, 1.0));
    place.write("same.json", &rounds(1.0, 1.001));
    place.write("slow.json", &rounds(1.2, 1.2));
    let told = |words: &[&str]| {
        let ended = place.start(&[words, &["--output", "json"]].concat());
        let report: serde_json::Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}", ended.err));
        let rows = report["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] != "PASS");
        let rows: Vec<String> = rows
            .map(|row| {
                format!("{} {}", row["verdict"].as_str().unwrap(), row["subject"]["pair"].as_str().unwrap_or_default())
            })
            .collect();
        (ended.code, rows)
    };
    assert_eq!(told(&["gate", "--perf", "base.json"]), (Some(0), vec![]));
    assert_eq!(told(&["gate", "base.json", "--perf", "same.json"]), (Some(0), vec![]));
    assert_eq!(told(&["gate", "--perf", "slow.json"]), (Some(1), vec!["FAIL invalid call".to_owned()]));
    assert_eq!(
        told(&["gate", "base.json", "--perf", "slow.json"]),
        (Some(1), vec!["FAIL invalid call".to_owned(), "FAIL invalid call over yardstick".to_owned()])
    );
    // A machine that does not hold still tells nothing, and neither do few rounds.
    let shaken = rounds(1.2, 1.2).replacen("50000,50", "50000,51", 501);
    place.write("shaken.json", &shaken);
    let (code, rows) = told(&["gate", "--perf", "shaken.json"]);
    assert_eq!((code, rows.len()), (Some(3), 4), "{rows:?}");
    assert!(rows.iter().all(|row| row.starts_with("INCONCLUSIVE")), "{rows:?}");
    // Another machine's measurement is no base.
    place.write("other.json", &rounds(1.0, 1.0).replace("\"cpu\":\"x\"", "\"cpu\":\"y\""));
    let ended = place.start(&["gate", "other.json", "--perf", "same.json"]);
    assert_eq!(ended.code, Some(4));
    assert!(ended.err.contains("the processor is y in the base, x in the candidate"), "{}", ended.err);
    // Pairs that a policy names have to be there, and may have a margin of their own.
    place.write("gate.toml", "[perf]\nequal = \"30%\"\n[[perf.check]]\npair = \"gone\"\n");
    let (code, rows) = told(&["gate", "--perf", "slow.json", "--policy", "gate.toml"]);
    assert_eq!((code, rows), (Some(4), vec!["MISSING gone".to_owned()]));
    place.write("gate.toml", "[[perf.check]]\npair = \"invalid call\"\ntier = \"advisory\"\n");
    assert_eq!(told(&["gate", "--perf", "slow.json", "--policy", "gate.toml"]).0, Some(0));
    // A row that was not decided is no pass, whatever the policy takes lightly.
    let without = |role: &str| {
        let text = rounds(1.5, 1.5);
        let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
        run["pairs"].as_array_mut().unwrap().retain(|pair| pair["role"] != role);
        run.to_string()
    };
    place.write("gate.toml", "[[perf.check]]\npair = \"invalid call\"\ntier = \"advisory\"\n");
    place.write("no-control.json", &without("control"));
    assert_eq!(told(&["gate", "--perf", "no-control.json", "--policy", "gate.toml"]).0, Some(3));
    place.write("gate.toml", "[[perf.check]]\npair = \"invalid call over yardstick\"\n");
    assert_eq!(told(&["gate", "--perf", "base.json", "--policy", "gate.toml"]).0, Some(4));
    place.write("gate.toml", "[[perf.check]]\npair = \"control\"\n");
    assert_eq!(told(&["gate", "--perf", "base.json", "--policy", "gate.toml"]).0, Some(4));
    let mut run: serde_json::Value = serde_json::from_str(&rounds(1.0, 1.0)).unwrap();
    run["pairs"].as_array_mut().unwrap().truncate(1);
    place.write("only-control.json", &run.to_string());
    assert_eq!(told(&["gate", "--perf", "only-control.json"]).0, Some(4));
    // An earlier measurement of a machine that did not hold still is no base.
    assert_eq!(told(&["gate", "shaken.json", "--perf", "same.json"]).0, Some(3));
    place.write("slower.json", &rounds(1.0, 1.3));
    assert_eq!(told(&["gate", "shaken.json", "--perf", "slower.json"]).0, Some(3));
    assert_eq!(told(&["gate", "base.json", "--perf", "slower.json"]).0, Some(1));
    place.write("role.json", &rounds(1.0, 1.0).replace("\"role\":\"equal\"", "\"role\":\"reference_workload\""));
    assert_eq!(place.start(&["gate", "role.json", "--perf", "same.json"]).code, Some(4));
    // What is no measurement.
    place.write("cut.json", &rounds(1.0, 1.0)[..500]);
    assert_eq!(place.start(&["gate", "--perf", "cut.json"]).code, Some(4));
    assert_eq!(place.start(&["gate", "--perf", "none.json"]).code, Some(2));
}
