//! The lockfile: formatting, parsing, comparison with the current tools, and the report of the differences.

use std::collections::{BTreeMap, BTreeSet};

use healbench_engine::contract::{
    ChangeKind, ContractChange, ContractDiff, Delta, Lockfile, LockfileError, Severity, ToolContract, report_text,
};
use healbench_engine::definition::{Entitlement, Presenter};

use super::*;

fn billing() -> Tool {
    let input = json!({
        "type": "object",
        "properties": {"status": {"enum": ["open", "draft"]}, "amount": {"type": "number"}},
        "required": ["status", "amount"],
    });
    let presenter = Presenter {
        name: Some("Invoices".to_owned()),
        max: Some(50),
        egress: Some(json!({"properties": {"id": {}}})),
        ..Presenter::default()
    };
    let select = Handler::Select { table: "invoices".to_owned(), filters: Vec::new(), page: None };
    let list = Action { presenter: Some(presenter), ..action("list", json!({"type": "object"}), select) };
    Tool {
        tags: vec!["b".to_owned(), "a".to_owned()],
        concurrency: Some(2),
        entitlements: BTreeSet::from([Entitlement::CodeEvaluation]),
        ..tool("billing", vec![ok("create", input), list])
    }
}

fn locked(tools: &[Tool]) -> Lockfile {
    Lockfile::from_tools([("suite/one", tools)])
}

#[test]
fn the_text_is_sorted_and_comes_back() {
    let lockfile = locked(&[billing()]);
    let text = lockfile.to_text();
    insta::assert_snapshot!(text, @r#"
    {
      "scenarios": {
        "suite/one": {
          "billing": {
            "contract": {
              "behavior": {
                "concurrency": 2,
                "middleware": [],
                "presenters": {
                  "list": {
                    "affordances": [],
                    "agentLimitMax": 50,
                    "egressSchema": {
                      "properties": {
                        "id": {}
                      }
                    },
                    "embeddedPresenters": [],
                    "name": "Invoices",
                    "systemRules": []
                  }
                },
                "stateSync": []
              },
              "entitlements": [
                "codeEvaluation"
              ],
              "surface": {
                "actions": {
                  "create": {
                    "description": "",
                    "destructive": false,
                    "idempotent": false,
                    "inputSchema": {
                      "properties": {
                        "amount": {
                          "type": "number"
                        },
                        "status": {
                          "enum": [
                            "draft",
                            "open"
                          ]
                        }
                      },
                      "required": [
                        "amount",
                        "status"
                      ],
                      "type": "object"
                    },
                    "readOnly": false
                  },
                  "list": {
                    "description": "",
                    "destructive": false,
                    "idempotent": false,
                    "inputSchema": {
                      "type": "object"
                    },
                    "readOnly": false
                  }
                },
                "description": "",
                "discriminator": "action",
                "name": "billing",
                "tags": [
                  "a",
                  "b"
                ]
              },
              "tokenEconomics": {
                "inflationRisk": "medium",
                "schemaFieldCount": 2,
                "unboundedCollection": false
              }
            },
            "digest": "f83fce51b8403fd9be433049fe5f175aacd615a56eaffbbaebf25486130fd3c1"
          }
        }
      },
      "version": 1
    }
    "#);
    assert!(text.ends_with("}\n"));
    let read = Lockfile::parse(&text).unwrap();
    assert_eq!(read, lockfile);
    assert_eq!(read.to_text(), text);
    assert_eq!(read.diff(&lockfile), []);
    assert_eq!(Lockfile::parse(&Lockfile::default().to_text()).unwrap(), Lockfile::default());
}

#[test]
fn order_that_means_nothing_changes_no_text() {
    let mut other = billing();
    other.tags.reverse();
    other.actions.reverse();
    other.actions[1].input = json!({
        "required": ["amount", "status"],
        "properties": {"amount": {"type": "number"}, "status": {"enum": ["draft", "open"]}},
        "type": "object",
    });
    assert_eq!(locked(&[other]).to_text(), locked(&[billing()]).to_text());
}

#[test]
fn a_contract_keeps_the_order_of_its_source_where_an_agent_reads_it() {
    let contract = ToolContract::from_tool(&billing());
    let names: Vec<&String> =
        contract.surface.actions["create"].input_schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["status", "amount"]);
    assert_eq!(contract.digest(), contract.canonical().digest());
    assert_eq!(contract.digest().len(), 64);
}

#[test]
fn texts_that_are_no_lockfiles() {
    let good = locked(&[billing()]).to_text();
    let digest = ToolContract::from_tool(&billing()).digest();
    let table: [(String, &str); 11] = [
        (String::new(), "not JSON, at 1:0: EOF while parsing a value"),
        ("{\n  \"version\": 1,\n}".to_owned(), "not JSON, at 3:1: trailing comma"),
        ("[]".to_owned(), "the lockfile has version none, and this program reads version 1"),
        (
            good.replace("\"version\": 1", "\"version\": 2"),
            "the lockfile has version 2, and this program reads version 1",
        ),
        (good.replace("\"version\": 1", "\"version\": \"1\""), "the lockfile has version \"1\", and"),
        (good.replacen('{', "{\"extra\": 1,", 1), "not a lockfile, at 1:8: unknown field `extra`"),
        (good.replace("\"concurrency\": 2", "\"concurency\": 2"), "unknown field `concurency`"),
        (good.replace("\"codeEvaluation\"", "\"telepathy\""), "unknown variant `telepathy`"),
        (
            good.replace("\"concurrency\": 2", "\"concurrency\": 3"),
            "the digest of `billing` in `suite/one` does not fit its contract: ",
        ),
        (good.replace(&digest, "00"), "the digest of `billing` in `suite/one` does not fit its contract: "),
        (
            good.replace("      \"billing\": {", "      \"bills\": {"),
            "`suite/one` has the contract of `billing` as that of `bills`",
        ),
    ];
    for (text, wanted) in table {
        let error = Lockfile::parse(&text).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
    let error = Lockfile::parse(&good.replace(&digest, "00")).unwrap_err();
    let (scenario, tool) = ("suite/one".to_owned(), "billing".to_owned());
    assert_eq!(error, LockfileError::Digest { scenario, tool, expected: digest });
}

#[test]
fn changes_are_named_by_scenario_and_tool() {
    let users = tool("users", vec![ok("get", json!({"type": "object"}))]);
    let before = Lockfile::from_tools([("b", &[billing(), users.clone()][..]), ("a", &[users.clone()][..])]);
    let changed = Tool { description: "Bills.".to_owned(), ..billing() };
    let now =
        Lockfile::from_tools([("b", &[changed][..]), ("a", &[users.clone(), billing()][..]), ("c", &[users][..])]);
    let changes = before.diff(&now);
    let summaries: Vec<_> =
        changes.iter().map(|change| (&*change.scenario, &*change.tool, change.severity().name())).collect();
    assert_eq!(
        summaries,
        [("a", "billing", "SAFE"), ("b", "billing", "COSMETIC"), ("b", "users", "BREAKING"), ("c", "users", "SAFE")]
    );
    let ChangeKind::Changed(diff) = &changes[1].kind else { panic!() };
    assert!(diff.digest_changed && diff.is_backwards_compatible());
    assert_eq!((&changes[0].kind, &changes[2].kind), (&ChangeKind::Added, &ChangeKind::Removed));
}

#[test]
fn the_report() {
    let delta = |field: &str, severity, previous: Option<&str>, current: Option<&str>| Delta {
        field: field.to_owned(),
        severity,
        previous: previous.map(str::to_owned),
        current: current.map(str::to_owned),
    };
    let long = format!(
        "{{ customer: string length >= 1, amount_cents: integer >= 1, note: \"{}\", currency: string }}",
        "x".repeat(90)
    );
    let diff = ContractDiff {
        deltas: vec![
            delta("actions.create.inputSchema", Severity::Breaking, Some("{ customer: string }"), Some(&long)),
            delta("cognitiveGuardrails.agentLimitMax", Severity::Risky, Some("100"), Some("50")),
            delta("tags.x", Severity::Safe, Some("x"), None),
            delta("description", Severity::Cosmetic, Some("two\nlines\u{1b}[31m"), Some("")),
        ],
        digest_changed: true,
    };
    let cosmetic = ContractDiff { deltas: diff.deltas[3..].to_vec(), digest_changed: true };
    let change = |scenario: &str, tool: &str, kind| ContractChange {
        scenario: scenario.to_owned(),
        tool: tool.to_owned(),
        kind,
        fields: BTreeMap::new(),
    };
    let all = [
        change("suite/a", "new", ChangeKind::Added),
        change("suite/b", "words", ChangeKind::Changed(cosmetic)),
        change("suite/b", "billing", ChangeKind::Changed(diff)),
        change("suite/c", "gone\nby", ChangeKind::Removed),
    ];
    let report = report_text(&all);
    insta::assert_snapshot!(report, @r#"
    billing in suite/b: changed
      BREAKING  actions.create.inputSchema
                before  { customer: string }
                now     { customer: string length >= 1, amount_cents: integer >= 1, note:
                        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                        xxxxxxxxxxx", currency: string }
      RISKY     cognitiveGuardrails.agentLimitMax
                before  100
                now     50
      SAFE      tags.x
                before  x
                now     (absent)
      COSMETIC  description
                before  two\nlines\u{1b}[31m
                now     ""

    gone\nby in suite/c: removed
      BREAKING  the tool is gone

    new in suite/a: added
      SAFE      the tool is new

    words in suite/b: changed
      COSMETIC  description
                before  two\nlines\u{1b}[31m
                now     ""

    Tools: 2 changed, 1 added, 1 removed. Changes: 1 BREAKING, 1 RISKY, 1 SAFE, 2 COSMETIC.
    "#);
    assert!(report.lines().all(|line| line.chars().count() <= 100 && !line.ends_with(' ')));
    let mut reordered = all.to_vec();
    reordered.reverse();
    assert_eq!(report_text(&reordered), report);
    insta::assert_snapshot!(report_text(&[]), @"Tools: 0 changed, 0 added, 0 removed.");
}
