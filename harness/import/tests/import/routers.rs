//! Tools that call tools, and patterns of names.

use healbench_import::{Options, Router};
use serde_json::{Value, json};

use super::{import_files, outline};

fn log(calls: &[(&str, Value)]) -> String {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for (name, arguments) in calls {
        messages.push(json!({"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": name, "arguments": arguments}}]}));
        messages.push(json!({"role": "tool", "tool_call_id": "1", "content": "ok"}));
    }
    messages.push(json!({"role": "assistant", "content": "end"}));
    json!({ "messages": messages }).to_string()
}

fn run(calls: &[(&str, Value)], options: &Options) -> (String, Vec<String>, usize) {
    let (all, summary) = import_files(&[("a.json", log(calls).as_bytes())], options).unwrap();
    let left_out = summary.sources["openai-chat"].left_out;
    (outline(&all[0]), summary.routers.iter().map(Router::to_string).collect(), usize::try_from(left_out).unwrap())
}

#[test]
fn a_router_is_unwrapped() {
    let options = Options { routers: vec!["run=server/tool:params".parse().unwrap()], ..Options::default() };
    let calls = [
        ("run", json!({"server": "mail", "tool": "send", "params": {"to": "x"}})),
        ("run", json!({"server": "mail", "tool": "send", "params": "{\"to\":\"y\"}"})),
        ("run", json!({"server": "mail"})),
    ];
    let (outline, _, _) = run(&calls, &options);
    let expected = "user go\nturn \ncall mail/send{\"to\":\"x\"} -> ok\nturn \ncall mail/send{\"to\":\"y\"} -> ok\nturn \n\
                    call run{\"server\":\"mail\"} -> ok\nturn end\n";
    assert_eq!(outline, expected);
}

#[test]
fn a_router_is_suggested() {
    let call = |n: u64| {
        (
            "run",
            json!({"server": if n.is_multiple_of(2) { "mail" } else { "web" }, "tool": "send", "text": format!("a text {n}"), "params": {"n": n}}),
        )
    };
    let calls: Vec<_> = (0..30).map(call).collect();
    let (_, routers, _) = run(&calls, &Options::default());
    assert_eq!(routers, ["run=server/tool:params"]);
    let known = Options { routers: vec![routers[0].parse().unwrap()], ..Options::default() };
    assert!(run(&calls, &known).1.is_empty());
    let plain: Vec<_> = (0..30).map(|n| ("read", json!({"path": format!("/{n}")}))).collect();
    assert!(run(&plain, &Options::default()).1.is_empty());
}

#[test]
fn patterns_leave_calls_out_and_name_shells() {
    let calls = [("git_log", json!({})), ("git_push", json!({})), ("run_it", json!({}))];
    let options = Options {
        tools: vec!["git_*".parse().unwrap(), "run_it".parse().unwrap()],
        skip_tools: vec!["*_push".parse().unwrap()],
        shell: vec!["run_*".parse().unwrap()],
        ..Options::default()
    };
    let (outline, _, left_out) = run(&calls, &options);
    assert_eq!(outline, "user go\nturn \ncall git_log{} -> ok\nturn \nturn \ncall $run_it{} -> ok\nturn end\n");
    assert_eq!(left_out, 1);
}

#[test]
fn what_is_no_router_says_how_to_write_one() {
    for spec in ["run", "run=", "run=server", "run=server:", "=a:b", "run=a//b:c"] {
        let error = spec.parse::<Router>().unwrap_err().to_string();
        assert!(error.contains("TOOL=NAME_FIELDS:ARGUMENTS_FIELD"), "{error}");
    }
}
