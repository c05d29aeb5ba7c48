//! Runs by their names, and single scenarios by their ids.

use std::fs;

use crate::{Sandbox, sealed};

fn short(out: &str) -> [&str; 7] {
    ["run", "quickstart/unknown-id", "--agent", "scripted:typical", "--trials=2", "--out", out]
}

#[test]
fn latest_is_the_newest_complete_run() {
    let sandbox = Sandbox::new();
    let none = sandbox.start(&["report", "latest"]);
    assert_eq!(none.code, Some(2), "{}", none.err);
    assert!(none.err.contains("there is no complete run in `runs`"), "{}", none.err);
    sandbox.ok(&short("runs/first"));
    sandbox.ok(&short("runs/second"));
    // The time of a start has whole seconds.
    let manifest = sandbox.path("runs/first/manifest.json");
    let started = |text: &str, year: &str| {
        let at = text.find("\"started\": \"").unwrap() + 12;
        format!("{}{year}{}", &text[..at], &text[at + 4..])
    };
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, sealed(&started(&text, "2099"))).unwrap();
    assert!(sandbox.ok(&["report", "latest", "--output", "inspect=logs"]).err.contains("4 logs in logs"));
    let names: Vec<String> = fs::read_dir(sandbox.path("logs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().all(|name| name.starts_with("2099-")), "{names:?}");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, sealed(&text.replace("\"complete\"", "\"interrupted\""))).unwrap();
    let compared = sandbox.ok(&["compare", "latest", "second"]);
    assert!(compared.out.starts_with("runs/second → runs/second"), "{}", compared.out);
    // A path comes before a name.
    fs::rename(sandbox.path("runs/first"), sandbox.path("latest")).unwrap();
    assert!(sandbox.start(&["show", "latest", "0"]).out.contains("quickstart/unknown-id"));
    let unknown = sandbox.start(&["report", "third"]);
    assert!(unknown.code == Some(1) || unknown.code == Some(2), "{:?}", unknown.code);
    assert!(unknown.err.contains("third"), "{}", unknown.err);
}

#[test]
fn a_built_in_scenario_is_found_by_its_id() {
    let sandbox = Sandbox::new();
    let run = sandbox.ok(&short("run"));
    assert!(run.out.starts_with("quickstart/unknown-id · 1 agent · 2 trials · 8 episodes"), "{}", run.out);
    assert!(
        run.err.contains("healbench view run --open") && run.err.contains("--output html=report.html"),
        "{}",
        run.err
    );
    let paged = sandbox.ok(&[&short("paged")[..], &["--html", "page.html"]].concat());
    assert!(paged.err.contains("page: page.html\n"), "{}", paged.err);
    assert_eq!(
        fs::read_to_string(sandbox.path("page.html")).unwrap(),
        sandbox.ok(&["report", "paged", "--output", "html"]).out
    );
    let near = sandbox.start(&["run", "quickstart/unknown-di"]);
    assert!(near.err.contains("did you mean the built-in `quickstart/unknown-id`?"), "{}", near.err);
}

#[test]
fn comparisons_of_one_run_have_a_page_and_markdown() {
    let sandbox = Sandbox::new();
    sandbox.ok(&short("run"));
    sandbox.ok(&["compare", "run", "--by", "condition", "--output", "html=page.html"]);
    let page = fs::read_to_string(sandbox.path("page.html")).unwrap();
    assert!(page.contains("run: conditions") && page.contains("Conditions compared"), "{page}");
    let markdown = sandbox.ok(&["compare", "run", "--by", "condition", "--output=markdown"]).out;
    assert!(markdown.starts_with("## healbench: run: conditions compared with sdk-typescript\n\n"), "{markdown}");
    let same = sandbox.ok(&["compare", "run", "run", "--output=markdown"]).out;
    assert!(same.contains("Unchanged: no metric differs in 8 pairs"), "{same}");
}

#[test]
fn runs_without_a_common_scenario_are_not_comparable() {
    let sandbox = Sandbox::new();
    sandbox.ok(&short("one"));
    sandbox.ok(&["run", "quickstart/oversized-list", "--agent", "scripted:typical", "--trials=2", "--out", "other"]);
    let compared = sandbox.start(&["compare", "one", "other"]);
    assert_eq!(compared.code, Some(4), "{}", compared.err);
    assert!(compared.out.contains("Not comparable: nothing could be paired."), "{}", compared.out);
}
