//! The workflow of docs/ci.md, with the action that it uses, played as a runner plays it.

use crate::Sandbox;
use crate::actions::{Played, Step, documented_inputs, play, read};

#[test]
fn the_documented_workflow_decides_as_it_says() {
    let mut inputs = documented_inputs("healbench", "scripted", "healbench");
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
    inputs.insert("healbench".to_owned(), env!("CARGO_BIN_EXE_healbench").to_owned());
    let played = || {
        let played = play(&sandbox, &Step { folder: "", inputs: &inputs, expressions: &[], variables: &[] });
        std::fs::remove_dir_all(sandbox.path("healbench-run")).unwrap();
        played
    };
    let check = |what: &str, played: &Played, expected: (i32, &str), log: &[&str], summary: &[&str]| {
        assert_eq!((played.code, played.outputs["verdict"].as_str()), expected, "{what}: {}", played.log);
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
    let named = [
        "::error file=scenarios/wrong-enum.yaml,line=1,title=MISSING",
        "1 scenario changed: quickstart/wrong-enum; bless the candidate",
    ];
    check(
        "a scenario",
        &played(),
        (4, "MISSING"),
        &named,
        &["1 scenario changed: quickstart/wrong-enum; bless the candidate"],
    );
    sandbox.write("scenarios/wrong-enum.yaml", &text);

    sandbox.write("scenarios/new.yaml", &text.replace("id: quickstart/wrong-enum", "id: quickstart/new"));
    let named = [
        "::error file=scenarios/new.yaml,line=1,title=MISSING",
        "1 scenario added: quickstart/new; bless the candidate",
    ];
    check("an added one", &played(), (4, "MISSING"), &named, &["bless the candidate"]);
    // The others are compared.
    sandbox.write("errors.jinja", &format!("{head}-#}}{worse}"));
    check(
        "an added one and a template",
        &played(),
        (1, "FAIL"),
        &["1 scenario added: quickstart/new; bless the candidate"],
        &["**FAIL**"],
    );
    sandbox.write("errors.jinja", &template);

    std::fs::remove_file(sandbox.path("scenarios/new.yaml")).unwrap();
    std::fs::remove_file(sandbox.path("scenarios/unknown-id.yaml")).unwrap();
    check(
        "a removed one",
        &played(),
        (4, "MISSING"),
        &["1 scenario removed: quickstart/unknown-id; run it, or bless a run without it"],
        &[],
    );
}
