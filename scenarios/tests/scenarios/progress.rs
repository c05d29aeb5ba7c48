//! Calls and time that pass, tokens, pages and variants.

use healbench_core::ToolCall;
use healbench_scenarios::load_variants;
use serde_json::{Value, json};

use super::*;

const BANK: &str = include_str!("../../examples/bank-session.yaml");
const RENDER: &str = include_str!("../../examples/render-job.yaml");
const REFUNDS: &str = include_str!("../../examples/refund-limits.yaml");

/// An episode of calls with the text of each answer.
struct Calls {
    tool: &'static str,
    world: World,
    engine: Engine,
}

impl Calls {
    fn of(text: &str, tool: &'static str) -> Calls {
        let (world, engine) = world_and_engine(&scenario(text), Seed(1));
        Calls { tool, world, engine }
    }

    fn call(&mut self, action: &str, arguments: Value) -> String {
        let mut all = json!({ "action": action });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        self.engine.call(&mut self.world, &ToolCall::new(self.tool, all)).response.text().into_owned()
    }

    fn json(&mut self, action: &str, arguments: Value) -> Value {
        let text = self.call(action, arguments);
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }
}

#[test]
fn a_token_is_another_one_each_time_and_ends_after_its_calls() {
    let mut bank = Calls::of(BANK, "bank");
    let first = bank.json("login", json!({"user": "ana"}));
    let second = bank.json("login", json!({"user": "ana"}));
    assert_ne!(first["token"], second["token"]);
    assert_eq!((&second["opened"], &second["ends"]), (&json!(2), &json!(8)));
    let token = first["token"].as_str().unwrap();
    assert!(token.starts_with("sess_") && token.len() == 17, "{token}");
    assert_eq!(Calls::of(BANK, "bank").json("login", json!({"user": "ana"})), first, "it is the same in each episode");
    // The first session was opened in call 1, and its last call is 7. Calls that the schema refuses do not count.
    for call in 3..=9 {
        assert!(bank.call("payments", json!({"session": 5})).contains("session"));
        let answer = bank.call("payments", json!({ "session": token }));
        assert_eq!(answer.contains("SESSION_ENDED"), call > 7, "call {call}: {answer}");
    }
}

#[test]
fn a_page_is_reached_by_the_cursor_of_the_one_before() {
    let mut bank = Calls::of(BANK, "bank");
    let session = bank.json("login", json!({"user": "ana"}))["token"].clone();
    let first = bank.json("payments", json!({"session": session}));
    assert_eq!(first["items"].as_array().unwrap().len(), 3);
    let second = bank.json("payments", json!({"session": session, "cursor": first["next_cursor"]}));
    assert_eq!((&second["page"], &second["next_cursor"]), (&json!(2), &Value::Null));
    let ids: Vec<&Value> = second["items"].as_array().unwrap().iter().map(|item| &item["id"]).collect();
    assert_eq!(ids, ["P-4", "P-5"]);
    for wrong in ["2", "", "page-2"] {
        let answer = bank.call("payments", json!({"session": session, "cursor": wrong}));
        assert!(answer.contains("INVALID_CURSOR") && answer.contains("next_cursor"), "{answer}");
    }
    // A cursor belongs to its filters.
    let mut render = Calls::of(RENDER, "render");
    let page = render.json("frames", json!({"scene": "S-2"}));
    let other = render.call("frames", json!({"scene": "S-1", "cursor": page["next_cursor"]}));
    assert!(other.contains("INVALID_CURSOR"), "{other}");
    let empty = render.json("frames", json!({"scene": "S-9"}));
    assert_eq!(empty, json!({"page": 1, "items": [], "next_cursor": null}));
}

/// Faults damage the items of a page, and neither its number nor its cursor.
#[test]
fn a_page_is_damaged_as_a_list_is() {
    let page = |fault: &str| {
        let faults =
            if fault.is_empty() { String::new() } else { format!("faults: [{{kind: {fault}, on: bank.payments}}]\n") };
        let mut bank = Calls::of(&format!("{BANK}{faults}"), "bank");
        let session = bank.json("login", json!({"user": "ana"}))["token"].clone();
        bank.json("payments", json!({"session": session}))
    };
    let right = page("");
    let items = |page: &Value| page["items"].as_array().unwrap().clone();
    let is_around = |page: &Value| page["page"] == right["page"] && page["next_cursor"] == right["next_cursor"];
    let cut = page("cut");
    assert_eq!(items(&cut), items(&right)[..1]);
    let without = page("cut, column: payee");
    assert!(items(&without).iter().all(|item| item.get("payee").is_none() && item.get("euros").is_some()));
    let one = page("corrupt");
    let differing: Vec<(Value, Value)> = items(&right).into_iter().zip(items(&one)).filter(|(a, b)| a != b).collect();
    assert_eq!((differing.len(), &differing[0].0["id"]), (1, &differing[0].1["id"]), "{differing:?}");
    let all = page("corrupt, column: euros");
    assert!(items(&right).iter().zip(items(&all)).all(|(a, b)| a["euros"] != b["euros"] && a["payee"] == b["payee"]));
    assert!([&cut, &without, &one, &all].into_iter().all(is_around), "{cut} {one}");
}

#[test]
fn a_job_is_done_when_its_time_has_passed() {
    let mut render = Calls::of(RENDER, "render");
    let job = render.json("start", json!({"scene": "S-2"}));
    assert_eq!((&job["done_at"], &job["first_call"]), (&json!(20), &json!(1)));
    for seconds in [0, 19] {
        render.world.wait(seconds);
        assert!(render.call("status", json!({"job": "J-1"})).contains("JOB_RUNNING"));
    }
    render.world.wait(1);
    let done = render.json("status", json!({"job": "J-1"}));
    assert_eq!((&done["state"], &done["ends"]), (&json!("done"), &json!(80)));
    // What has happened meanwhile happens once.
    assert_eq!(render.json("status", json!({"job": "J-1"})), done);
    render.world.wait(61);
    let late = render.call("publish", json!({"job": "J-1", "code": done["code"]}));
    assert!(late.contains("CODE_EXPIRED"), "{late}");
}

#[test]
fn a_stated_delay_has_passed_at_the_next_call_if_the_clock_says_so() {
    let mut render = Calls::of(&format!("{RENDER}clock: on_retry\n"), "render");
    render.call("start", json!({"scene": "S-2"}));
    assert!(render.call("status", json!({"job": "J-1"})).contains("JOB_RUNNING"));
    assert!(render.call("status", json!({"job": "J-1"})).contains("done"));
    // Another action does not wait for it.
    let mut render = Calls::of(&format!("{RENDER}clock: on_retry\n"), "render");
    render.call("start", json!({"scene": "S-2"}));
    render.call("status", json!({"job": "J-1"}));
    assert_eq!(render.json("start", json!({"scene": "S-1"}))["done_at"], 20);
}

#[test]
fn calls_are_counted_for_a_budget() {
    let mut render = Calls::of(RENDER, "render");
    let answers: Vec<String> = (0..12).map(|_| render.call("frames", json!({"scene": "S-1"}))).collect();
    let spent: Vec<bool> = answers.iter().map(|answer| answer.contains("BUDGET_SPENT")).collect();
    assert_eq!(spent, [vec![false; 10], vec![true; 2]].concat());
}

#[test]
fn a_failure_tells_how_far_the_episode_has_come() {
    let text = RENDER.replace(
        "message: All 10 calls of this hour have been made.",
        "message: Call {now.calls} comes after {now.seconds} s.\n              details: {call: \"{now.calls}\"}",
    );
    let mut render = Calls::of(&text, "render");
    render.world.wait(30);
    let answers: Vec<String> = (0..12).map(|_| render.call("frames", json!({"scene": "S-1"}))).collect();
    for (call, answer) in [(11, &answers[10]), (12, &answers[11])] {
        assert!(answer.contains(&format!("Call {call} comes after 30 s.")), "{answer}");
        assert!(answer.contains(&format!(">{call}<")), "the detail: {answer}");
    }
    let wrong = text.replace("{now.seconds}", "{now.second}");
    let found = load_str("test.yaml", &wrong, Syntax::Yaml).unwrap_err();
    assert!(found[0].message.contains("`{now.second}` is shown as it stands"), "{found:?}");
}

#[test]
fn what_refers_to_no_measure_is_said_at_its_place() {
    let cases = [
        ("now: {calls: {greater: 10}}", "now: {hours: 3}", "`hours` cannot be counted"),
        ("now: {calls: {greater: 10}}", "now: {}", "`now` compares calls or seconds"),
        ("{now: calls}", "{now: call}", "`call` cannot be counted"),
        ("{now: calls}", "{now: 3}", "`now` needs `calls` or `seconds`"),
        ("{after: {seconds: 20}}", "{after: 20}", "`after` needs one number of calls or of seconds"),
        ("{after: {seconds: 20}}", "{after: {seconds: soon}}", "`after` needs a number"),
        ("{token: pub-}", "{token: 3}", "`token` needs a prefix"),
        ("cursor: {type: string}", "part: {type: string}", "nothing can show more than the first 2 rows"),
        ("{get: jobs, by: job}", "{get: jobs, by: job, page: 2}", "`page` has no meaning together with `get`"),
        ("page: 2}\n", "page: 2}\n        presenter: {agent_limit: 1}\n", "which no presenter changes"),
        ("{update: jobs, where: {state: running,", "{update: tasks, where: {state: running,", "unknown table `tasks`"),
    ];
    for (from, to, message) in cases {
        assert!(RENDER.contains(from), "{from}");
        let found = load_str("test.yaml", &RENDER.replacen(from, to, 1), Syntax::Yaml).unwrap_err();
        assert!(found.iter().any(|one| one.message.contains(message)), "{to}: {found:?}");
    }
}

#[test]
fn variants_are_scenarios_of_one_cluster() {
    let both = load_variants("refund.yaml", REFUNDS, Syntax::Yaml).unwrap();
    let ids: Vec<&str> = both.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["tickets/refund/amount", "tickets/refund/day"]);
    for one in &both {
        assert_eq!(one.cluster, "tickets/refund");
        // The text that a run stores stands for itself.
        let again = load_str("stored.json", &one.source.text, Syntax::Json).unwrap();
        assert_eq!((&again.id, &again.title, &again.tools), (&one.id, &one.title, &one.tools));
        assert!(!one.source.text.contains("{each."));
    }
    assert_ne!(both[0].source.sha256, both[1].source.sha256);
    assert!(both[0].title.contains("because of its amount") && both[1].title.contains("because of its day"));
    let drafts: Vec<Value> = both
        .iter()
        .map(|one| one.schedule(Seed(1), 0, &one.world(Seed(1), 0)).script.steps[0].draft.arguments.clone())
        .collect();
    assert_eq!((&drafts[0]["cents"], &drafts[1]["day"]), (&json!(9100), &json!("Sunday")));
    // A new name of the file changes no draw, and no text but for the name.
    let renamed = REFUNDS.replace("id: tickets/refund", "id: tickets/limits\nrenamed_from: tickets/refund");
    for (before, after) in both.iter().zip(load_variants("refund.yaml", &renamed, Syntax::Yaml).unwrap()) {
        let former = after.renamed_from.unwrap();
        assert_eq!((&former.id, &former.sha256), (&before.id, &before.source.sha256));
        assert_eq!((after.id, after.cluster), (before.id.replace("refund", "limits"), before.cluster.clone()));
    }
    let one = load_str("refund.yaml", REFUNDS, Syntax::Yaml).unwrap_err();
    assert!(one[0].message.contains("2 scenarios"), "{one:?}");
}

#[test]
fn one_variant_of_a_file_is_found_by_its_name() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/refund-limits.yaml");
    let ids =
        |path: String| load_suite(&[path.into()]).map(|all| all.into_iter().map(|one| one.id).collect::<Vec<_>>());
    assert_eq!(ids(file.to_owned()).unwrap().len(), 2);
    assert_eq!(ids(format!("{file}#day")).unwrap(), ["tickets/refund/day"]);
    let error = ids(format!("{file}#dya")).unwrap_err().to_string();
    assert!(error.contains("#dya"), "{error}");
}

/// A problem of one variant is in the file of the author: in the row of the variant if the value is from there, and else in the template.
#[test]
fn what_is_wrong_in_one_variant_names_it_and_its_place() {
    let line_of = |text: &str, part: &str| text.lines().position(|line| line.contains(part)).unwrap() + 1;
    let cases = [
        ("field: day", "field: dya", "no argument `dya`", "when:"),
        ("is: {in: [Saturday", "is: {inn: [Saturday", "unknown comparison `inn`", "inn:"),
        ("sent: Sunday", "sent: Monday", "`stale_value` cannot happen here", "sent: Monday"),
        (
            "possible: \"Valid values: Monday, Tuesday, Wednesday, Thursday, Friday.\"",
            "possible: [1]",
            "`recovery` must be a text",
            "possible: [1]",
        ),
    ];
    for (from, to, message, place) in cases {
        let text = REFUNDS.replace(from, to);
        let found = load_variants("test.yaml", &text, Syntax::Yaml).unwrap_err();
        let one = found.iter().find(|one| one.message.contains(message)).unwrap_or_else(|| panic!("{to}: {found:?}"));
        assert!(one.message.ends_with("(in the variant `day`)"), "{one:?}");
        assert_eq!((&*one.file, one.line), ("test.yaml", line_of(&text, place)), "{one:?}");
    }
    // What is found when the script is played.
    let text = REFUNDS.replace("greater: 5000", "greater: 1000");
    let both = load_variants("test.yaml", &text, Syntax::Yaml).unwrap();
    let [amount, day] = [&both[0], &both[1]].map(|one| one.findings().problems);
    assert!(amount[0].message.contains("this call of the script fails"), "{amount:?}");
    assert!(amount[0].message.ends_with("(in the variant `amount`)"), "{amount:?}");
    assert_eq!((&*amount[0].file, amount[0].line), ("test.yaml", line_of(&text, "- call:")));
    assert_eq!((both[0].source.written(), day.len()), (("test.yaml", &*text), 0));
}

#[test]
fn what_is_wrong_with_variants_is_said_at_its_place() {
    let cases = [
        ("what: day, ", "", "this variant has no `what`"),
        ("what: amount, ", "what: amount, who: me, ", "nothing refers to `{each.who}`"),
        ("what: day, ", "what: day, who: me, ", "the first variant has no `who`"),
        ("{each.what}", "{each.whta}", "no variant has a value `whta`"),
        ("  day: {what", "  a day: {what", "`a day` cannot name a variant"),
        ("for_each:\n", "for_each:\n  list: [a]\n", "a variant is a mapping of names to values"),
        ("max_calls: 6", "max_calls: 0", "max_calls"),
    ];
    for (from, to, message) in cases {
        assert!(REFUNDS.contains(from), "{from}");
        let found = load_variants("test.yaml", &REFUNDS.replacen(from, to, 1), Syntax::Yaml).unwrap_err();
        assert!(found.iter().any(|one| one.message.contains(message) && one.line > 0), "{to}: {found:?}");
    }
    for text in ["for_each: {}\n", "for_each: 3\n"] {
        let rest = REFUNDS.lines().filter(|line| {
            !line.starts_with("for_each") && !line.starts_with("  amount:") && !line.starts_with("  day:")
        });
        let text = rest.collect::<Vec<_>>().join("\n") + "\n" + text;
        let found = load_variants("test.yaml", &text, Syntax::Yaml).unwrap_err();
        assert!(found[0].message.contains("needs variants"), "{found:?}");
    }
}
