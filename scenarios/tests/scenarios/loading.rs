use healbench_core::Seed;
use healbench_engine::contract::{ToolContract, diff_contracts};
use healbench_scenarios::{LoadError, MISTAKES, Syntax, load_file, load_str, load_suite};
use serde_json::Value;

use crate::{CHANGE_CALL, mistakes_yaml, quickstart, scenario};

#[test]
fn json_and_yaml_load_alike() {
    for yaml in quickstart() {
        let value: Value = serde_saphyr::from_str(&yaml.source.text).unwrap();
        let text = serde_json::to_string_pretty(&value).unwrap();
        let json = load_str("x.json", &text, Syntax::Json).unwrap();
        assert_eq!((&json.id, &json.title, &json.description), (&yaml.id, &yaml.title, &yaml.description));
        assert_eq!((&json.task, &json.tools, &json.expect), (&yaml.task, &yaml.tools, &yaml.expect));
        let world = yaml.world(Seed(3), 0);
        assert_eq!(json.world(Seed(3), 0), world);
        assert_eq!(json.schedule(Seed(3), 4, &world), yaml.schedule(Seed(3), 4, &world));
        assert_eq!((json.source.extension.as_str(), yaml.source.extension.as_str()), ("json", "yaml"));
    }
}

/// Each row is a text, its syntax and the expected diagnostic.
#[test]
fn texts_that_are_not_scenarios() {
    let table: [(&str, Syntax, &str); 10] = [
        ("", Syntax::Yaml, "1:1: the file is empty"),
        ("  \n\n", Syntax::Json, "1:1: the file is empty"),
        ("- a\n- b\n", Syntax::Yaml, "1:1: this must be a mapping, and this is a list"),
        ("hello", Syntax::Yaml, "1:1: this must be a mapping, and this is a text"),
        ("null", Syntax::Json, "1:1: this must be a mapping, and this is null"),
        ("{\"id\": \"x\",}", Syntax::Json, "1:12: not JSON: key must be a string"),
        ("id: x", Syntax::Json, "1:1: not JSON: expected value"),
        ("id: [a\n", Syntax::Yaml, ""),
        ("id: a\n\tb: c\n", Syntax::Yaml, ""),
        ("a: *b\n", Syntax::Yaml, ""),
    ];
    let mut lines = Vec::new();
    for (text, syntax, wanted) in table {
        let diagnostics = load_str("x", text, syntax).unwrap_err();
        let line = diagnostics[0].to_string();
        assert!(line.contains(wanted), "{text:?}: {line}");
        if wanted.is_empty() {
            lines.push(line);
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @r#"
    x:1:5: unclosed bracket '['
    x:1:5: while scanning a plain scalar, found a tab
    x:1:4: alias references unknown anchor
    "#);
}

#[test]
fn a_scenario_is_a_cluster_of_its_own_unless_the_file_names_one() {
    let text = mistakes_yaml(CHANGE_CALL);
    assert_eq!(load_str("x.yaml", &text, Syntax::Yaml).unwrap().cluster, "lab/mistakes");
    let text = text.replacen("title:", "cluster: lab\ntitle:", 1);
    let scenario = load_str("x.yaml", &text, Syntax::Yaml).unwrap();
    assert_eq!((scenario.id.as_str(), scenario.cluster.as_str()), ("lab/mistakes", "lab"));
}

#[test]
fn a_value_where_a_mapping_belongs_is_told_the_keys() {
    let text = mistakes_yaml(CHANGE_CALL);
    let help = |from: &str, to: &str| {
        let found = load_str("x.yaml", &text.replacen(from, to, 1), Syntax::Yaml).unwrap_err();
        found.into_iter().find(|one| one.message.contains("must be a mapping")).and_then(|one| one.help).unwrap()
    };
    assert_eq!(help("task: {prompt: Do it., max_calls: 5}", "task: Do it."), "its keys: `prompt`, `max_calls`");
    let rule = |rule: &str| help("        handler:", &format!("        rules: [{rule}]\n        handler:"));
    assert_eq!(rule("{required: id}"), "its keys: `argument`");
    assert!(rule("{deny: {when: id = 1, message: No.}}").contains("A key is an argument or a path"));
}

/// Each row is a replacement in a valid file and the only diagnostic that it causes.
#[test]
fn small_errors_are_reported() {
    let table = [
        ("max_calls: 5", "max_calls: five", "`max_calls` must be a whole number, and this is a text"),
        ("prompt: Do it.", "prompt: 7", "`prompt` must be a text, and this is a number"),
        ("title: Everything can go wrong\n", "", "missing key `title`"),
        ("title: Everything can go wrong", "title: \"\"", "`title` must not be empty"),
        ("id: lab/mistakes", "id: lab//mistakes", "`lab//mistakes` cannot be an id"),
        ("title:", "cluster: two words\ntitle:", "`two words` cannot be an id"),
        ("title:", "cluster: 7\ntitle:", "`cluster` must be a text, and this is a number"),
        ("title:", "tilte: x\ntitle:", "unknown key `tilte`"),
        ("title:", "title: x\ntitle:", "duplicate key `title`"),
        ("sequence: \"N-{n:02}\"", "pick: [a]", "generated rows need different keys in `id`"),
        ("sequence: \"N-{n:02}\"", "sequence: N", "`N` does not number the rows"),
        ("range: [1, 10]", "range: [10, 1]", "the range [10, 1] is empty"),
        ("range: [1, 10]", "range: [1]", "`range` must have 2 items"),
        ("range: [1, 10]", "value: 1, pick: [1]", "only one of `pick`, `value` may be given"),
        ("count: 60", "count: 1000001", "`count` must be at most 1000000"),
        ("generate: {", "rows: [{id: N-07}]\n    generate: {", "duplicate key \"N-07\""),
        ("generate: {", "rows: [{name: x}]\n    generate: {", "a row without its key `id`"),
        ("in: notes,", "in: note,", "unknown table `note`"),
        (
            "size: 3, due",
            "size: 30, due",
            "the input schema rejects this call, so the script can never succeed: 30 is greater than the maximum of 10",
        ),
        ("size: 3, due", "sizes: 3, size: 3, due", "`notes.change` declares no argument `sizes`"),
        ("arguments: {id", "arguments: {action: change, id", "`action` is not given among the arguments"),
        (
            "handler: {update: notes, by: id}",
            "handler: {update: notes, by: ids}",
            "the input schema declares no argument `ids` to hold the key",
        ),
        (
            "handler: {update: notes, by: id}",
            "handler: {}",
            "exactly one of `insert`, `select`, `get`, `update`, `delete`, `return`, `fail` is needed",
        ),
        (
            "handler: {select: notes}",
            "handler: {select: notes, filters: {size: {column: sise, relation: after}}}",
            "unknown column of `notes`: `sise`",
        ),
        (
            "handler: {select: notes}",
            "handler: {select: notes, filters: {size: {column: size, relation: above}}}",
            "unknown relation `above`",
        ),
        (
            "handler: {select: notes}",
            "handler: {select: notes}\n        presenter: {agent_limit: 5, suggest_actions: [notes.chnage]}",
            "unknown action `notes.chnage`",
        ),
        (
            "description: Notes.",
            "description: Notes.\n    discriminator: status",
            "`status` selects the action and cannot be a property as well",
        ),
        (
            "description: Notes.",
            "description: Notes.\n    discriminator: null",
            "a tool with several actions needs a discriminator",
        ),
        (
            "actions:\n        change:\n          name",
            "actions:\n        chang:\n          name",
            "unknown action of `notes`: `chang`",
        ),
        ("previous:\n", "previous:\n      without: [lisst]\n", "unknown action of `notes`: `lisst`"),
        ("description: Notes.", "description: Notes.\n    entitlements: [netwrok]", "unknown entitlement `netwrok`"),
        ("description: Notes.", "description: Notes.\n    concurrency: 0", "`concurrency` must be at least 1"),
        ("description: Notes.", "description: Notes.\n    middlewares: [a]", "unknown key `middlewares`"),
        ("previous:\n", "previous:\n      entitlements: [crypt]\n", "unknown entitlement `crypt`"),
        (
            "previous:\n",
            "previous:\n      concurrency: none\n",
            "`concurrency` must be null or a whole number, and this is a text",
        ),
        (
            "handler: {select: notes}",
            "handler: {select: notes}\n        presenter: {egress: {type: objekt}}",
            "the egress schema does not compile",
        ),
        (
            "actions:\n        change:\n          name",
            "actions:\n        list: {presenter: [5]}\n        change:\n          name",
            "`presenter` must be null or a mapping, and this is a list",
        ),
        (
            "actions:\n        change:\n          name",
            "actions:\n        list: {presenter: {agent_limits: 5}}\n        change:\n          name",
            "unknown key `agent_limits`",
        ),
        (
            "actions:\n        change:\n          name",
            "actions:\n        change:\n          presenter: {agent_limit: 5}\n          name",
            "`change` does not answer with a list",
        ),
        ("pattern: \"^N-[0-9]{2}$\"", "pattern: \"^N-[0-9{2}$\"", "the input schema does not compile"),
        ("expect:", "faults: [{kind: busy, on: notes.chang}]\nexpect:", "unknown action `notes.chang`"),
        ("expect:", "faults: [{kind: busi, on: notes}]\nexpect:", "unknown kind of fault `busi`"),
        ("expect:", "self_healing: {max_deltas: 1}\nexpect:", "unknown key `max_deltas`"),
        ("expect:", "self_healing: {max_deltas_per_error: -1}\nexpect:", "`max_deltas_per_error` must be at least 0"),
        ("expect: [", "expect: [{stops: true, unchanged: notes}, ", "only one of `unchanged`, `stops` may be given"),
    ];
    let valid = mistakes_yaml(CHANGE_CALL);
    scenario(&valid);
    for (from, to, wanted) in table {
        assert!(valid.contains(from), "{from}");
        let diagnostics = load_str("x.yaml", &valid.replacen(from, to, 1), Syntax::Yaml).unwrap_err();
        let messages: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        let expected_extra = messages.iter().filter(|message| !message.starts_with(wanted)).count();
        assert!(messages.iter().any(|message| message.starts_with(wanted)), "{from} -> {to}: {messages:?}");
        assert_eq!(expected_extra, 0, "{from} -> {to}: {messages:?}");
    }
}

#[test]
fn invalid_utf8_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.yaml");
    std::fs::write(&path, b"id: a\ntitle: caf\xe9\n").unwrap();
    let LoadError::Invalid { diagnostics, .. } = load_file(&path).unwrap_err() else { panic!() };
    assert_eq!((diagnostics[0].line, diagnostics[0].column), (2, 11));
    assert_eq!(diagnostics[0].message, "the file is not UTF-8 from here");
    let error = load_file(&folder.path().join("none.yaml")).unwrap_err();
    assert!(matches!(error, LoadError::Unreadable { .. }));
}

#[test]
fn byte_order_marks_and_crlf_do_not_matter() {
    let unix = mistakes_yaml(CHANGE_CALL);
    let plain = scenario(&unix);
    let windows = scenario(&format!("\u{feff}{}", unix.replace('\n', "\r\n")));
    assert_eq!(windows.tools, plain.tools);
    assert_eq!(windows.world(Seed(1), 0), plain.world(Seed(1), 0));
    assert_eq!(windows.source, plain.source);

    let broken = format!("\u{feff}{}", unix.replace("max_calls", "max_cals").replace('\n', "\r\n"));
    let diagnostics = load_str("x.yaml", &broken, Syntax::Yaml).unwrap_err();
    let unix = load_str("x.yaml", &unix.replace("max_calls", "max_cals"), Syntax::Yaml).unwrap_err();
    assert_eq!(diagnostics, unix);
}

#[test]
fn hidden_files_and_folders_are_scenarios_only_if_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = |id: &str| mistakes_yaml(CHANGE_CALL).replacen("id: ", &format!("id: {id}/"), 1);
    for (path, id) in [("a.yaml", "a"), (".b.yaml", "b"), (".checkpoints/c.yaml", "c"), ("d/.git/hooks/e.yml", "e")] {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text(id)).unwrap();
    }
    let ids = |paths: &[&str]| -> Vec<char> {
        let paths: Vec<_> = paths.iter().map(|path| folder.path().join(path)).collect();
        load_suite(&paths).unwrap().iter().filter_map(|scenario| scenario.id.chars().next()).collect()
    };
    // A list of the tools of a server beside them is none either; another JSON file is a scenario, and here a wrong one.
    std::fs::write(folder.path().join("tools.json"), r#"{"tools": [{"name": "f", "inputSchema": {}}]}"#).unwrap();
    assert_eq!(ids(&[""]), ['a']);
    std::fs::write(folder.path().join("d/f.json"), r#"{"tools": {}}"#).unwrap();
    assert!(load_suite(&[folder.path().to_owned()]).is_err());
    std::fs::remove_file(folder.path().join("d/f.json")).unwrap();
    assert_eq!(ids(&["", ".b.yaml", ".checkpoints", "d/.git"]), ['a', 'b', 'c', 'e']);
}

#[test]
fn anchors_are_followed_and_reported_where_they_are_used() {
    let text = mistakes_yaml("*call").replace("expect:", "faults: &none []\nexpect:");
    let text = text.replace("title: Everything", "tags: [&word x, *word]\ntitle: Everything");
    let diagnostics = load_str("x.yaml", &text, Syntax::Yaml).unwrap_err();
    assert!(diagnostics[0].message.contains("anchor") || diagnostics[0].message.contains("alias"), "{diagnostics:?}");
    let text = mistakes_yaml(CHANGE_CALL).replace("title: Everything", "tags: [&word x, *word]\ntitle: Everything");
    assert_eq!(scenario(&text).tags, ["x", "x"]);
}

#[test]
fn a_tool_without_a_discriminator() {
    let text = r#"
id: flat
title: One action
task: {prompt: Ping., max_calls: 2}
tools:
  ping:
    description: Answers.
    discriminator: null
    actions: {ping: {input: {properties: {host: {type: string}}, required: [host]}, handler: {return: null}}}
expect: [{called: {tool: ping, arguments: {host: a}}}]
script: [{call: {tool: ping, arguments: {host: a}}, mistakes: [missing]}]
"#;
    let scenario = scenario(text);
    assert_eq!(scenario.tools[0].discriminator, None);
    let step = &scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0)).script.steps[0];
    assert_eq!(step.intended.arguments, serde_json::json!({"host": "a"}));
    assert_eq!(step.draft.arguments, serde_json::json!({}));
    assert_eq!(scenario.expect[0].to_string(), "a successful call of ping with host = \"a\"");
}

#[test]
fn a_tool_written_as_its_only_action_is_one_problem() {
    let flat = "
id: flat
title: One action
task: {prompt: Ping., max_calls: 2}
tools:
  ping: {description: Answers., input: {properties: {host: {type: string}}}, handler: {return: null}, read_only: true}
expect: [{called: {tool: ping}}]
script: [{call: {tool: ping, arguments: {host: a}}}]
";
    let found = load_str("x.yaml", flat, Syntax::Yaml).unwrap_err();
    let [problem] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(problem.message, "missing key `actions`");
    let help = "a tool that is one operation has one action: `discriminator: null`, and below `actions: {ping: {…}}` the keys `input`, `handler`, `read_only`";
    assert_eq!(problem.help.as_deref(), Some(help));
    // What is unknown in either place is reported.
    let found = load_str("x.yaml", &flat.replace("read_only", "readonly"), Syntax::Yaml).unwrap_err();
    assert!(found.iter().any(|problem| problem.message == "unknown key `readonly`"), "{found:?}");
}

#[test]
fn kinds_of_mistakes_with_a_common_word_are_suggested_and_all_are_listed() {
    let help = |kind: &str| {
        let text = mistakes_yaml(&format!("{CHANGE_CALL}\n    mistakes: [{kind}]"));
        load_str("x.yaml", &text, Syntax::Yaml).unwrap_err().remove(0).help.unwrap()
    };
    let kinds: Vec<String> = MISTAKES.iter().map(|kind| format!("`{}`", kind.name)).collect();
    let all = kinds.join(", ");
    for (kind, near) in [
        ("wrong_id", "`unknown_id` or `other_kind_id`"),
        ("wrong_value", "`null_value` or `previous_value` or `other_row_value` or `stale_value`"),
        ("stale_argument", "`stale_contract` or `stale_value`"),
        ("wrong_enm", "`wrong_enum`"),
    ] {
        assert_eq!(help(kind), format!("did you mean {near}? Known: {all}"));
    }
    assert_eq!(help("nonsense"), format!("known: {all}"));
}

#[test]
fn previous_contracts_are_loaded() {
    let now = "description: Notes.
    tags: [a, b]
    middleware: [auth, audit]
    state_sync: [notes.*]
    concurrency: 4
    entitlements: [network, code_evaluation]";
    let presented = "handler: {select: notes}
        idempotent: true
        presenter: {name: Notes, agent_limit: 50, egress: {properties: {id: {type: string}}}, egress_max_bytes: 9000, embeds: [Author]}";
    let was = "previous:
      tags: [a]
      middleware: []
      state_sync: []
      concurrency: null
      entitlements: [filesystem]
      actions:
        list: {presenter: null, destructive: true, read_only: true, idempotent: false}
        change:
          name";
    let text = mistakes_yaml(CHANGE_CALL)
        .replacen("description: Notes.", now, 1)
        .replacen("handler: {select: notes}", presented, 1)
        .replacen("previous:\n      actions:\n        change:\n          name", was, 1);
    let tool = &scenario(&text).tools[0];
    let previous = tool.previous.as_deref().unwrap();
    let contract = |tool| serde_json::to_value(ToolContract::from_tool(tool)).unwrap();
    let (is, was) = (contract(tool), contract(previous));
    assert_eq!(
        is["behavior"],
        serde_json::json!({
            "middleware": ["auth", "audit"], "stateSync": ["notes.*"], "concurrency": 4,
            "presenters": {"list": {
                "name": "Notes", "agentLimitMax": 50, "egressSchema": {"properties": {"id": {"type": "string"}}},
                "egressMaxBytes": 9000, "systemRules": [], "affordances": [], "embeddedPresenters": ["Author"],
            }},
        })
    );
    assert_eq!(was["behavior"], serde_json::json!({"middleware": [], "stateSync": [], "presenters": {}}));
    assert_eq!(
        (&is["entitlements"], &was["entitlements"]),
        (&["network", "codeEvaluation"].into(), &["filesystem"].into())
    );
    let flags = |contract: &Value| {
        let list = &contract["surface"]["actions"]["list"];
        ["destructive", "readOnly", "idempotent"].map(|flag| list[flag].as_bool().unwrap())
    };
    assert_eq!((flags(&is), flags(&was)), ([false, false, true], [true, true, false]));
    assert_eq!(was["surface"]["tags"], serde_json::json!(["a"]));
    let fields: Vec<String> = diff_contracts(&ToolContract::from_tool(previous), &ToolContract::from_tool(tool))
        .deltas
        .into_iter()
        .map(|delta| format!("{} {}", delta.severity.name(), delta.field))
        .collect();
    insta::assert_snapshot!(fields.join("\n"), @"
    BREAKING actions.edit
    BREAKING actions.list.destructive
    BREAKING actions.list.egressSchema
    BREAKING actions.list.readOnly
    BREAKING entitlements.codeEvaluation
    BREAKING entitlements.network
    RISKY actions.list.embeddedPresenters
    RISKY actions.list.idempotent
    RISKY actions.list.presenter
    RISKY concurrency
    RISKY middleware
    RISKY stateSync
    SAFE actions.change
    SAFE actions.list.agentLimitMax
    SAFE actions.list.egressMaxBytes
    SAFE entitlements.filesystem
    SAFE tokenEconomics.inflationRisk
    SAFE tokenEconomics.unboundedCollection
    COSMETIC tags.b
    ");

    // Keys that `previous` omits are unchanged.
    let same = text.replacen("list: {presenter: null, ", "list: {", 1).replacen("      concurrency: null\n", "", 1);
    let tool = &scenario(&same).tools[0];
    let previous = tool.previous.as_deref().unwrap();
    assert_eq!(previous.concurrency, Some(4));
    assert_eq!(previous.actions[1].presenter, tool.actions[1].presenter);
    // The limit is optional; a presenter without one does not truncate.
    let open = text.replacen("agent_limit: 50, ", "", 1);
    assert_eq!(scenario(&open).tools[0].actions[1].presenter.as_ref().unwrap().max, None);
}

#[test]
fn a_misspelled_entitlement_gets_a_suggestion() {
    let text = mistakes_yaml(CHANGE_CALL).replacen(
        "description: Notes.",
        "description: Notes.\n    entitlements: [netwrok]",
        1,
    );
    let diagnostics = load_str("x.yaml", &text, Syntax::Yaml).unwrap_err();
    let known = "Known: `filesystem`, `network`, `subprocess`, `crypto`, `code_evaluation`";
    assert_eq!(diagnostics[0].help.as_deref(), Some(&*format!("did you mean `network`? {known}")));
}
