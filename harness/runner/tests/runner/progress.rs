//! Episodes in which the state changes by itself, tokens are used up, and calls are made twice.

use healbench_core::{CallRecord, Origin, ToolCall, TurnCost};
use healbench_scenarios::{Syntax, load_str};
use serde_json::{Value, json};

use super::memory_server::agent_factory;
use super::outcomes::{TurnsAgent, run_agent};
use super::*;

const OVEN: &str = "
id: bakery/oven
title: A loaf is done by itself
task: {prompt: Bake a rye loaf and look until it is done., max_calls: 8}
tools:
  oven:
    description: An oven.
    actions:
      bake:
        description: Bake a loaf.
        input: {properties: {grain: {type: string}}, required: [grain]}
        handler: {insert: loaves, set: {state: baking, done_at: {after: {seconds: 20}}}}
      look:
        description: Look at a loaf.
        input: {properties: {id: {type: string}}, required: [id]}
        meanwhile: [{update: loaves, where: {state: baking, done_at: {at_most: {now: seconds}}}, set: {state: done}}]
        handler: {get: loaves}
        read_only: true
world: {loaves: {key_prefix: L-}}
expect: [{row: {in: loaves, where: {grain: rye, state: done}}}]
script:
  - call: {tool: oven, action: bake, arguments: {grain: rye}}
  - call: {tool: oven, action: look, arguments: {id: L-1}}
";

/// Returns a turn of one call after a wait.
fn turn(waited_s: u32, tool: &str, arguments: Value, origin: Origin) -> (Turn, Origin) {
    (Turn::Calls { calls: vec![ToolCall::new(tool, arguments)], waited_s, text: String::new() }, origin)
}

/// A failed call makes the runner check the state, and a model's success too. A later look changes it although it only reads.
#[test]
fn what_has_changed_meanwhile_is_seen_by_the_next_check() {
    let play = |kind, origin, waits: [u32; 3]| {
        let bake = turn(waits[0], "oven", json!({"action": "bake", "grain": "rye"}), origin);
        let look = |waited_s, id| turn(waited_s, "oven", json!({"action": "look", "id": id}), origin);
        let done = (Turn::Done { answer: "Done.".to_owned() }, origin);
        run_agent(OVEN, kind, TurnsAgent::new(vec![bake, look(waits[1], "L-9"), look(waits[2], "L-1"), done]))
    };
    let (episode, rows) = play(AgentKind::Scripted, Origin::Script, [0, 0, 20]);
    assert_eq!((episode.outcome, rows[2].state_changed), (Outcome::Success, Some(false)));
    assert_eq!(rows.iter().map(|row| row.is_error).collect::<Vec<_>>(), [false, true, false]);
    let (episode, _) = play(AgentKind::Scripted, Origin::Script, [30, 0, 19]);
    assert_eq!(episode.outcome, Outcome::TaskFail, "it is not done yet");
    // The write stays although the call that brought it about has failed.
    let (episode, _) = play(AgentKind::Scripted, Origin::Script, [0, 20, 0]);
    assert_eq!(episode.outcome, Outcome::Success);
    let (episode, rows) = play(AgentKind::Llm, Origin::Model(TurnCost::default()), [0, 0, 20]);
    assert_eq!((episode.ended_by, episode.outcome, rows.len()), (EndedBy::GoalReached, Outcome::Success, 3));
}

/// With `clock: on_retry`, the delay that any failure stated has passed for the tables too when the call comes again.
#[test]
fn a_delay_passes_for_faults_and_tables_alike() {
    let play = |text: &str| {
        let look = || turn(0, "oven", json!({"action": "look", "id": "L-1"}), Origin::Script);
        let bake = turn(0, "oven", json!({"action": "bake", "grain": "rye"}), Origin::Script);
        let done = (Turn::Done { answer: "Done.".to_owned() }, Origin::Script);
        let agent = TurnsAgent::new(vec![bake, look(), look(), done]);
        let (episode, rows) = run_agent(&format!("{text}clock: on_retry\n"), AgentKind::Scripted, agent);
        (episode.outcome, rows.iter().map(|row| (row.is_error, row.waited_s)).collect::<Vec<_>>())
    };
    let waited = (Outcome::Success, vec![(false, 0), (true, 0), (false, 20)]);
    for kind in ["busy", "rate_limited"] {
        let fault = format!("faults: [{{kind: {kind}, on: oven.look, retry_after: 20}}]\n");
        assert_eq!(play(&format!("{OVEN}{fault}")), waited, "{kind}");
    }
    let handler = "        handler: {get: loaves}\n";
    let failure = "code: BAKING, message: Not done., retry_after: 20";
    let rule = format!("        rules: [{{deny: {{when: {{row: {{state: baking}}}}, {failure}}}}}]\n{handler}");
    assert_eq!(play(&OVEN.replace(handler, &rule)), waited);
    let fails = format!("        handler: {{fail: {{{failure}}}}}\n");
    let waits_in_vain = (Outcome::Success, vec![(false, 0), (true, 0), (true, 20)]);
    assert_eq!(play(&OVEN.replace(handler, &fails)), waits_in_vain, "it is done meanwhile");
    assert_eq!(play(OVEN), (Outcome::TaskFail, vec![(false, 0); 3]), "nothing states a delay");
}

/// A text that tells how far the episode has come is another one for each call.
#[test]
fn what_tells_the_number_of_a_call_is_not_cached() {
    let text = DESK.replace(
        "handler: {insert: sessions, set: {token: {token: sess_}}}",
        "handler: {fail: {code: CLOSED, message: 'Call {now.calls} is refused.'}}",
    );
    let login = || turn(0, "bank", json!({"action": "login", "user": "ben"}), Origin::Script);
    let done = (Turn::Done { answer: "Done.".to_owned() }, Origin::Script);
    let (_, rows) = run_agent(&text, AgentKind::Scripted, TurnsAgent::new(vec![login(), login(), done]));
    assert_ne!(rows[0].response_hash, rows[1].response_hash);
}

const DESK: &str = "
id: bank/desk
title: A session for Ben
task: {prompt: Log in as ben., max_calls: 4}
tools:
  bank:
    description: A bank.
    actions:
      login:
        description: Open a session.
        input: {properties: {user: {type: string}}, required: [user]}
        handler: {insert: sessions, set: {token: {token: sess_}}}
world: {sessions: {key: user, rows: [{user: ana, token: sess_old}]}}
expect: [{row: {in: sessions, where: {user: ben}}}]
script: [{call: {tool: bank, action: login, arguments: {user: ben}}}]
";

/// A login that is refused has used up a token and changed no row. Its answer cannot come from the cache: the next token would be
/// another one.
#[test]
fn a_token_is_the_same_with_and_without_a_cache() {
    let scenarios = [load_str("task.yaml", DESK, Syntax::Yaml).unwrap()];
    let (plan, _) = quickstart(3);
    let axes = Axes { agents: plan.agents, conditions: plan.conditions, trials: 3, seed: Seed(1) };
    let plan = build_plan(&axes, &scenarios);
    let run = |users: &'static [&'static str]| {
        let make_agent = agent_factory(move |_, _, _| {
            let login = |user: &&str| turn(0, "bank", json!({"action": "login", "user": user}), Origin::Script);
            let done = (Turn::Done { answer: "Done.".to_owned() }, Origin::Script);
            Box::new(TurnsAgent::new(users.iter().map(login).chain([done]).collect()))
        });
        let records = run_from(&plan, &scenarios, 1, 0, &make_agent).unwrap();
        assert!(records == run_without_cache(&plan, &scenarios, &make_agent), "{users:?}");
        records.calls
    };
    let both = run(&["ana", "ben"]);
    assert!(both.chunks(2).all(|calls| calls[0].is_error && !calls[1].is_error));
    let second: BTreeSet<u64> = both.chunks(2).map(|calls| calls[1].response_hash).collect();
    let first: BTreeSet<u64> = run(&["ben"]).iter().map(|call| call.response_hash).collect();
    assert_eq!((first.len(), second.len()), (1, 1), "it is the same in all trials and conditions");
    assert_ne!(first, second, "it is another token");
}

const CLUB: &str = "
id: club/fee
title: A fee is paid twice
task: {prompt: Pay the fee of Ana for May., max_calls: 6}
tools:
  club:
    description: A club.
    actions:
      members: {description: List members., input: {properties: {name: {type: string}}}, handler: {select: members}, read_only: true}
      pay:
        description: Pay a fee.
        input: {properties: {member: {type: string}, month: {type: string}}, required: [member, month]}
        rules: [{conflict: {table: fees, fields: [member, month]}}]
        handler: {insert: fees}
world:
  members: {rows: [{id: M-4, name: Bo}, {id: M-7, name: Ana}]}
  fees: {key_prefix: F-}
expect:
  - row: {in: fees, where: {member: M-7, month: May}}
  - count: {in: fees, equals: 1}
script:
  - call: {tool: club, action: pay, arguments: {member: M-7, month: May}}
    find: {member: {column: id, matching: {name: Ana}}}
    mistakes: [double_submission]
";

/// The value is looked up once, and the call that sends it is made twice in one turn. That the second one fails is no reason to
/// go on.
#[test]
fn a_call_whose_value_was_looked_up_is_made_twice_at_once() {
    let play = |text: &str| {
        let scenarios = [load_str("task.yaml", text, Syntax::Yaml).unwrap_or_else(|error| panic!("{error:?}"))];
        super::suites::run_profile("perfect", &scenarios, &["all"], &[ErrorFormat::FusionXml], 3).1
    };
    let records = play(CLUB);
    assert!(records.episodes.iter().all(|row| row.outcome == Outcome::Success && row.calls == 3));
    for calls in records.calls.chunks(3) {
        let facts = |row: &CallRecord| (row.action.as_deref().map(str::to_owned), row.turn, row.is_error);
        let expected = [("members", 1, false), ("pay", 2, false), ("pay", 2, true)];
        let expected = expected.map(|(action, turn, is_error)| (Some(action.to_owned()), Some(turn), is_error));
        assert_eq!(calls.iter().map(facts).collect::<Vec<_>>(), expected);
    }
    // Nothing refuses the second call without the rule.
    let records = play(&CLUB.replace("        rules: [{conflict: {table: fees, fields: [member, month]}}]\n", ""));
    assert!(records.episodes.iter().all(|row| row.outcome == Outcome::TaskFail && row.calls == 3));
}
