//! Tests of the lists of episodes and of the history in `healbench view`.

use serde_json::Value;

use super::view_server::{Server, sandbox};

/// Returns the numbers of the episodes that a list links.
fn listed(body: &str) -> Vec<u64> {
    let links = body.split("/episodes/").skip(1);
    links.map(|rest| rest.split(['"', '?']).next().unwrap().parse().unwrap()).collect()
}

#[test]
fn episodes_are_listed_and_filtered_by_the_address() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[]);
    let rows = |query: &str| {
        let body = server.ok(&format!("/runs/second/episodes{query}"));
        let table = body.split("<tbody>").nth(1).unwrap_or_default().to_owned();
        (body, listed(&table))
    };
    // Two agents, two conditions, two trials.
    let (body, all) = rows("");
    assert_eq!(all, (0..8).collect::<Vec<_>>());
    assert!(body.contains("8 of 8 episodes, shown 1 to 8"), "{body}");
    assert_eq!(rows("?agent=1").1, [4, 5, 6, 7]);
    assert_eq!(rows("?condition=1&agent=0").1, [2, 3]);
    assert_eq!(rows("?scenario=ENUM").1.len(), 8);
    let (nothing, none) = rows("?scenario=absent");
    assert!(none.is_empty() && nothing.contains("No episode fits."), "{nothing}");
    let report = server.json("/runs/second/report.json");
    let successes: u64 = report["agents"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|agent| agent["rows"].as_array().unwrap())
        .map(|row| row["success"]["numerator"].as_u64().unwrap())
        .sum();
    assert_eq!(rows("?outcome=success").1.len() as u64, successes);
    assert_eq!(rows("?outcome=failure").1.len() as u64, 8 - successes);
    let with_error = rows("?error=VALIDATION").1;
    assert!(!with_error.is_empty());
    // Only the guarded texts are XML, whatever the case of what is searched.
    let guarded = rows("?q=%3CVALIDATION_error").1;
    assert!(!guarded.is_empty() && guarded.iter().all(|episode| [2, 3, 6, 7].contains(episode)), "{guarded:?}");
    assert!(server.get("/runs/second/episodes?page=x").status == 400);
    assert!(rows("?page=2").0.contains("No episode fits."));
    server.missing("/runs/absent/episodes");

    // The filter leads through the episodes.
    let page = server.ok(&format!("/runs/second/episodes/{}?q=%3CVALIDATION_error", guarded[1]));
    let link = |rel: &str, episode: u64| {
        format!("rel=\"{rel}\" href=\"/runs/second/episodes/{episode}?q=%3CVALIDATION_error\"")
    };
    assert!(page.contains(&link("prev", guarded[0])), "{page}");
    if let Some(next) = guarded.get(2) {
        assert!(page.contains(&link("next", *next)), "{page}");
    }
    assert!(page.contains("data-hits=\"&lt;VALIDATION_error\""), "{page}");
}

#[test]
fn a_transcript_is_served_as_json_and_as_markdown() {
    let sandbox = sandbox();
    let server = Server::start(&sandbox, &[]);
    let transcript: Value = server.json("/runs/first/episodes/2.json");
    assert_eq!((transcript["episode"].as_u64(), transcript["trial"].as_u64()), (Some(2), Some(0)));
    assert!(transcript["steps"].as_array().unwrap().len() > 1);
    let reply = server.get("/runs/first/episodes/2.md");
    assert_eq!(reply.headers["content-type"], "text/plain; charset=utf-8");
    assert!(reply.body.starts_with("```text\n") && reply.body.ends_with("\n```\n"), "{}", reply.body);
    assert!(reply.body.contains("call 1") && reply.body.contains("<validation_error "), "{}", reply.body);
    server.missing("/runs/first/episodes/2.exe");
    server.missing("/runs/first/episodes/99.json");
}

#[test]
fn the_history_shows_runs_of_a_suite_and_where_it_changed() {
    let sandbox = sandbox();
    let run = |out: &str| {
        sandbox.ok(&[
            "run",
            "scenario.yaml",
            "--trials=2",
            "--format=fusion-xml",
            "--agent=scripted:typical",
            "--out",
            out,
        ]);
    };
    run("runs/third");
    let text = include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml");
    sandbox.write("scenario.yaml", &text.replace("max_calls: 8", "max_calls: 1"));
    // Runs that start within a second are ordered by their names.
    run("runs/third-edited");
    let server = Server::start(&sandbox, &[]);
    let history = server.ok("/history");
    let section = history.split("<h2>").find(|section| section.contains(">third<")).unwrap();
    let at = |text: &str| section.rfind(text).unwrap_or_else(|| panic!("{text}: {section}"));
    // The newest is the first row; the others have another agent.
    assert!(at(">third-edited</a>") < at("the suite changed: changed: quickstart/wrong-enum"), "{section}");
    assert!(at("the suite changed") < at(">third</a>") && at(">third</a>") < at(">first</a>"), "{section}");
    assert!(!section.contains(">second</a>"), "{section}");
    assert!(section.contains("<span class=\"good\">PASS</span>") && section.contains("not comparable"), "{section}");
    assert!(section.contains("href=\"/compare?base=first&amp;candidate=third\""), "{section}");
    // Two lines: the point of the changed suite is not connected.
    let path = section.split(" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!((path.matches('M').count(), path.matches('L').count()), (2, 1), "{path}");
    let compared = server.ok("/compare?base=third&candidate=third-edited");
    assert!(compared.contains("<del>-   max_calls: 8</del>\n<ins>+   max_calls: 1</ins>"), "{compared}");
}
