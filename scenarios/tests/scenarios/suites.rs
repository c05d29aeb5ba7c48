use healbench_core::{Measure, Seed};
use healbench_scenarios::{LoadError, Scenario, built_in_suites, load_suite};

use crate::quickstart;

fn quickstart_scenario(name: &str) -> Scenario {
    quickstart().into_iter().find(|scenario| scenario.id == name).unwrap()
}

#[test]
fn quickstart_is_complete() {
    let scenarios = quickstart();
    assert!(scenarios.len() >= 13);
    for scenario in &scenarios {
        assert!(scenario.id.starts_with("quickstart/"), "{}", scenario.id);
        assert_eq!(scenario.source.path, format!("built-in:{}.yaml", scenario.id));
        assert!(scenario.description.len() > 40, "{} says what it is there to tell", scenario.id);
        assert!((8..=12).contains(&scenario.task.max_calls), "{}", scenario.id);
    }
    let controls: Vec<&str> = scenarios
        .iter()
        .filter(|scenario| !scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0)).scheduled)
        .map(|scenario| scenario.id.as_str())
        .collect();
    assert_eq!(controls, ["quickstart/control-nothing-wrong", "quickstart/control-unmendable"]);
    let suites = [
        "claims",
        "contracts",
        "cut-lists",
        "domain-errors",
        "fields",
        "hostile",
        "look-ups",
        "published",
        "quickstart",
        "server-bugs",
        "silent",
        "strictness",
        "transient",
        "values",
    ];
    assert_eq!(built_in_suites(), suites);
}

#[test]
fn the_oversized_list_shows_its_row_when_it_is_filtered() {
    let scenario = quickstart_scenario("quickstart/oversized-list");
    let mut positions = std::collections::BTreeSet::new();
    for seed in (0..5).map(Seed) {
        let world = scenario.world(seed, 0);
        let rows = &world.tables[0].rows;
        assert_eq!(rows.len(), 3200);
        positions.insert(rows.iter().position(|row| row["id"] == "TASK-4711").unwrap());
        let size: usize = rows.iter().map(|row| serde_json::to_string(row).unwrap().len()).sum::<usize>() / rows.len();
        assert!((150..260).contains(&size), "{size} bytes a row");
        let filters = [("status", "in_progress"), ("assignee", "Marta Kowalska"), ("sprint", "2025-14")];
        let filtered: Vec<_> =
            rows.iter().filter(|row| filters.iter().all(|(name, value)| row[*name] == *value)).collect();
        assert!(filtered.len() <= 50 && filtered.iter().any(|row| row["id"] == "TASK-4711"), "{}", filtered.len());
    }
    assert!(positions.len() > 1, "the place is drawn");
}

#[test]
fn agents_are_shown_the_previous_contract() {
    let scenario = quickstart_scenario("quickstart/new-required-field");
    let advertised = scenario.advertised();
    let required = |schema: &serde_json::Value| schema["required"].as_array().unwrap().len();
    assert_eq!(required(&advertised[0].action("create").unwrap().input_schema), 2);
    assert_eq!(required(&scenario.tools[0].actions[0].input), 3);
    let draft = &scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0)).script.steps[0].draft;
    assert_eq!(draft.arguments, serde_json::json!({"action": "create", "customer": "Acme", "amount_cents": 45000}));
}

#[test]
fn paths_without_scenarios_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let error = load_suite(&[folder.path().to_owned()]).unwrap_err();
    assert!(matches!(error, LoadError::Empty { .. }), "{error}");

    let error = load_suite(&["quickstrat".into()]).unwrap_err();
    assert_eq!(error.to_string(), "no file, folder, built-in suite or built-in scenario `quickstrat`");
    assert_eq!(error.help().unwrap(), "did you mean the built-in `quickstart`?");

    let other = folder.path().join("notes.txt");
    std::fs::write(&other, "hello").unwrap();
    assert!(matches!(load_suite(&[other]).unwrap_err(), LoadError::Extension { .. }));
}

#[test]
fn a_folder_is_read_recursively_in_order() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("b")).unwrap();
    let text = crate::mistakes_yaml(crate::CHANGE_CALL);
    let write = |path: &str, id: &str| {
        std::fs::write(folder.path().join(path), text.replace("lab/mistakes", id)).unwrap();
    };
    write("c.yml", "three");
    write("a.yaml", "one");
    write("b/z.YAML", "two");
    std::fs::write(folder.path().join("scenario.schema.json"), "{}").unwrap();
    std::fs::write(folder.path().join("README.md"), "# Scenarios").unwrap();
    let ids = |scenarios: Vec<Scenario>| scenarios.into_iter().map(|scenario| scenario.id).collect::<Vec<_>>();
    let paths = [folder.path().to_owned(), folder.path().join("a.yaml")];
    assert_eq!(ids(load_suite(&paths).unwrap()), ["one", "two", "three"]);

    write("d.yaml", "two");
    let LoadError::Invalid { diagnostics, sources } = load_suite(&paths).unwrap_err() else { panic!() };
    assert_eq!(diagnostics.len(), 1);
    assert_eq!(diagnostics[0].message, "the id `two` is taken");
    assert!(sources.contains_key(&diagnostics[0].file));
}

#[test]
fn each_row_of_the_cost_table_of_document_003_is_a_claim() {
    let claims = load_suite(&["claims".into()]).unwrap();
    for (rows, tokens, dollars) in [(100, 50_000.0, 0.09), (1_000, 500_000.0, 0.88), (10_000, 5_000_000.0, 8.75)] {
        let fits = |scenario: &&Scenario| scenario.world(Seed(1), 0).tables[0].rows.len() == rows;
        let scenario = claims.iter().find(fits).unwrap_or_else(|| panic!("no list of {rows} rows"));
        assert_eq!(scenario.cluster, "claims/ten-thousand-rows");
        let claimed = |measure: Measure| {
            let claim = scenario.claims.iter().find(|claim| claim.measure == measure)?;
            claim
                .without
                .map(|span| (span.from..=span.to).contains(&tokens) || (span.from..=span.to).contains(&dollars))
        };
        assert_eq!(claimed(Measure::ResponseTokens), Some(true), "{rows}");
        assert_eq!(claimed(Measure::ResponseUsd(1.75)), Some(true), "{rows}");
    }
}
