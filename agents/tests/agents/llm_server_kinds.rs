//! Servers that want a request in another form, answer in another one, or count in another way.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use healbench_agents::llm::{Api, Endpoint, EndpointError, Model, Preflight};
use healbench_core::{Agent, AgentError, Origin, ToolResponse, Turn};
use serde_json::{Value, json};

use crate::hostile_server::{HostileServer, ServerAction, json, with};
use crate::llm_endpoint::{agent_on, endpoint_of, model};

fn succeeded(text: &str) -> ToolResponse {
    ToolResponse { content: vec![text.to_owned()], is_error: false }
}

fn refusal(status: u16, message: &str) -> ServerAction {
    json(status, &json!({"error": {"message": message}}).to_string())
}

fn answer(message: Value, usage: Value) -> ServerAction {
    json(
        200,
        &json!({"model": "small", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
            .to_string(),
    )
}

fn call(id: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "function": {"name": "f", "arguments": "{}"}}]})
}

/// Returns the changes of two requests to a server that refuses a body unless `takes` it.
fn changes(status: u16, message: &'static str, body: &Value, takes: fn(&Value) -> bool) -> (usize, Vec<&'static str>) {
    let server = HostileServer::start(move |_, received| match takes(&serde_json::from_str(&received.body).unwrap()) {
        true => json(200, "[]"),
        false => refusal(status, message),
    });
    let endpoint = endpoint_of(&model(&server.url, 0));
    let send = || endpoint.send("/chat", body, &AtomicBool::new(false), &mut 0).unwrap().changes;
    let first = send();
    assert_eq!(send(), first);
    (server.received().len(), first)
}

#[test]
fn a_request_is_changed_once_for_a_server_that_refuses_it() {
    let chat = json!({"max_tokens": 9, "messages": [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."},
        {"role": "assistant", "content": null, "reasoning_content": "Hm.", "tool_calls": [{"id": "call_1"}]},
    ]});
    let content = |body: &Value| body["messages"][2]["content"].is_string();
    assert_eq!(changes(500, "unsupported operand: 'NoneType' and 'str'", &chat, content).0, 3);
    let reasoning = |body: &Value| body["messages"][2].get("reasoning_content").is_none();
    let (requests, names) = changes(422, "reasoning_content: Extra inputs are not permitted", &chat, reasoning);
    assert_eq!((requests, names), (3, vec!["reasoning of earlier answers is left out"]));
    let thinking = |body: &Value| body["messages"][2]["reasoning_content"] == " ";
    let mut seeded = chat.clone();
    seeded["messages"][2].as_object_mut().unwrap().remove("reasoning_content");
    for message in [
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ] {
        let (requests, names) = changes(400, message, &seeded, thinking);
        assert_eq!((requests, names), (3, vec!["answers without reasoning have a blank for it"]), "{message}");
    }
    let both = |body: &Value| body.get("max_tokens").is_none() && body["messages"][0]["role"] == "user";
    let message = "unsupported: max_tokens (use max_completion_tokens) and the system role";
    assert_eq!(changes(400, message, &chat, both).1.len(), 2);
}

#[test]
fn a_refusal_that_no_change_avoids_names_the_setting() {
    let server = HostileServer::start(|_, _| refusal(400, "Unknown parameter: 'seed'"));
    let send = |body: Value| {
        let endpoint: Endpoint = endpoint_of(&model(&server.url, 3));
        endpoint.send("/chat", &body, &AtomicBool::new(false), &mut 0).unwrap_err()
    };
    let config = "HTTP 400 Bad Request: Unknown parameter: 'seed'; set `seed = false`";
    assert_eq!(send(json!({"seed": 1})), EndpointError::Config(config.to_owned()));
    assert!(matches!(send(json!({})), EndpointError::Invalid(_)));
    assert_eq!(server.received().len(), 2);
}

#[test]
fn a_server_that_answers_fewer_requests_at_once_names_the_setting() {
    for (status, message) in [(503, "Server is busy; please try again later."), (429, "Concurrency limit exceeded")] {
        let server = HostileServer::start(move |_, _| refusal(status, message));
        let error = endpoint_of(&model(&server.url, 0)).send("/chat", &json!({}), &AtomicBool::new(false), &mut 0);
        let reason = error.unwrap_err().to_string();
        assert!(reason.ends_with("(1 attempt); lower `connections` to what the server answers at once"), "{reason}");
    }
}

#[test]
fn json_under_another_type_and_a_stream_are_answers() {
    let chunk = json!({"choices": [{"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}]});
    let stream = format!("data: {chunk}\n\ndata: [DONE]\n\n");
    let plain = json!({"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]}).to_string();
    for (kind, body) in [("text/event-stream", stream), ("text/plain", plain)] {
        let server = HostileServer::start(move |_, _| with(200, &[("content-type", kind)], &body));
        assert_eq!(agent_on(&server, |_| ()).next_turn(&[]).unwrap(), Turn::Answer { text: "Done.".to_owned() });
    }
}

#[test]
fn a_call_that_the_server_lost_is_named() {
    let chat = |message: Value, reason: &str| json!({"choices": [{"message": message, "finish_reason": reason}]});
    let anthropic = |content: Value| json!({"type": "message", "stop_reason": "tool_use", "content": content});
    for (api, body, words) in [
        (Api::OpenaiChat, chat(json!({"content": "I look."}), "tool_calls"), &["unparsed"][..]),
        (Api::OpenaiChat, chat(json!({"content": null}), "function_call"), &["empty", "unparsed"]),
        (Api::OpenaiChat, chat(json!({"content": "", "tool_calls": [{"function": {}}]}), "stop"), &["unparsed"]),
        (
            Api::OpenaiChat,
            chat(json!({"tool_calls": [{"function": {"name": "", "arguments": "{"}}]}), "stop"),
            &["unparsed"],
        ),
        (Api::OpenaiChat, chat(json!({"content": "Done."}), "stop"), &[]),
        (Api::OpenaiChat, chat(call("a"), "tool_calls"), &[]),
        (Api::Anthropic, anthropic(json!([{"type": "text", "text": "I look."}])), &["unparsed"]),
        (Api::Anthropic, anthropic(json!([{"type": "tool_use", "id": "a", "name": "f", "input": {}}])), &[]),
    ] {
        let text = body.to_string();
        let server = HostileServer::start(move |_, _| json(200, &text));
        let mut agent = agent_on(&server, |model| model.api = api);
        agent.next_turn(&[]).unwrap();
        assert_eq!(agent.diagnostics(), words, "{body}");
    }
}

#[test]
fn calls_in_another_choice_are_taken_and_ids_of_nine_letters_made() {
    let server = HostileServer::start(|n, _| {
        let choices = match n {
            0 => json!([{"message": {"content": "I look."}}, {"message": call("")}]),
            _ => json!([{"message": call("call00001")}]),
        };
        json(200, &json!({"choices": choices}).to_string())
    });
    let mut agent = agent_on(&server, |_| ());
    let response = succeeded("ok");
    let said = |turn: Turn| match turn {
        Turn::Calls { text, .. } => text,
        other => panic!("{other:?}"),
    };
    assert_eq!(said(agent.next_turn(&[]).unwrap()), "I look.");
    assert_eq!(said(agent.next_turn(&[&response]).unwrap()), "");
    agent.next_turn(&[&response]).unwrap();
    let sent: Value = serde_json::from_str(&server.received()[2].body).unwrap();
    let ids: Vec<&str> =
        sent["messages"].as_array().unwrap().iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert!(ids.len() == 2 && ids[0] == "call00001" && ids[1] != ids[0], "{ids:?}");
    assert!(ids.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{ids:?}");
    assert_eq!(agent.diagnostics(), ["other_choice"]);
}

#[test]
fn a_first_request_that_does_not_fit_is_a_wrong_set_up_and_a_later_one_a_limit() {
    const TOO_LONG: &str = "Requested token count exceeds the model's maximum context length of 8 tokens.";
    let server = HostileServer::start(|_, _| refusal(400, TOO_LONG));
    let error = agent_on(&server, |_| ()).next_turn(&[]).unwrap_err();
    assert!(matches!(&error, AgentError::Config(reason) if reason.contains("larger context")), "{error:?}");

    let server =
        HostileServer::start(|n, _| if n == 0 { answer(call("a"), json!({})) } else { refusal(400, TOO_LONG) });
    let mut agent = agent_on(&server, |_| ());
    agent.next_turn(&[]).unwrap();
    let turn = agent.next_turn(&[&succeeded("ok")]).unwrap();
    assert!(matches!(turn, Turn::TooLong { .. }), "{turn:?}");
}

#[test]
fn an_unknown_refusal_is_a_limit_only_if_the_context_is_full() {
    for (mut entry, is_limit) in [
        (json!({"max_model_len": 40}), true),
        (json!({"context_length": 100_000, "top_provider": {"context_length": 40}}), true),
        (json!({"capabilities": {"limits": {"max_context_window_tokens": 40}}}), true),
        (json!({"max_model_len": 100_000}), false),
    ] {
        entry["id"] = "small".into();
        let server = HostileServer::start(move |n, _| match n {
            0 => json(200, &json!({"data": [entry]}).to_string()),
            1 => answer(call("a"), json!({"prompt_tokens": 30, "completion_tokens": 5})),
            _ => refusal(400, "Bad request."),
        });
        let model: Model = model(&server.url, 0);
        let endpoint = endpoint_of(&model);
        assert_eq!(endpoint.preflight(&AtomicBool::new(false), &|_| ()), Ok(Preflight::Found));
        let mut agent = crate::llm_endpoint::agent_of(model, endpoint);
        agent.next_turn(&[]).unwrap();
        let turn = agent.next_turn(&[&succeeded(&"x".repeat(300))]);
        match is_limit {
            true => assert!(matches!(turn, Ok(Turn::TooLong { .. })), "{turn:?}"),
            false => assert!(matches!(turn, Err(AgentError::Config(_))), "{turn:?}"),
        }
    }
}

#[test]
fn counts_are_read_from_where_servers_put_them() {
    let usage = |usage: Value| {
        let body = json!({"choices": [{"message": {"content": "Done."}}], "usage": usage});
        Api::OpenaiChat.reply(&body).unwrap().usage.map(|usage| (usage.input, usage.cache_read, usage.output))
    };
    let counts = |more: Value| {
        let mut counts = json!({"prompt_tokens": 50, "completion_tokens": 9});
        more.as_object().unwrap().iter().for_each(|(key, value)| counts[key] = value.clone());
        usage(counts)
    };
    assert_eq!(counts(json!({"total_tokens": 79})), Some((50, None, 29)));
    assert_eq!(counts(json!({"prompt_cache_hit_tokens": 40, "total_tokens": 59})), Some((50, Some(40), 9)));
    assert_eq!(counts(json!({"cached_tokens": 30})), Some((50, Some(30), 9)));
    assert_eq!(counts(json!({"cache_read_input_tokens": 45, "total_tokens": 59})), Some((50, Some(45), 9)));
    // Numbers of languages without whole numbers.
    assert_eq!(usage(json!({"prompt_tokens": 50.0, "completion_tokens": "9"})), Some((50, None, 9)));
    for none in [
        json!({"prompt_tokens": 50.5, "completion_tokens": 9}),
        json!({"prompt_tokens": 50, "completion_tokens": "-9"}),
    ] {
        assert_eq!(usage(none), None);
    }
    // Counted in addition to the prompt, and part of the total.
    assert_eq!(counts(json!({"cached_tokens": 60, "total_tokens": 119})), Some((110, Some(60), 9)));
    assert_eq!(counts(json!({"cached_tokens": 40, "total_tokens": 99})), Some((90, Some(40), 9)));
    assert_eq!(usage(json!({"input_tokens": 50, "output_tokens": 9, "total_tokens": 59})), Some((50, None, 9)));
    // A server that does not count.
    for zero in
        [json!({"prompt_tokens": 0, "completion_tokens": 9}), json!({"prompt_tokens": 50, "completion_tokens": 0})]
    {
        let server = HostileServer::start(move |_, _| answer(json!({"content": "Done."}), zero.clone()));
        let mut agent = agent_on(&server, |_| ());
        agent.next_turn(&[]).unwrap();
        assert!(matches!(agent.origin(), Origin::Model(cost) if cost.usage.is_none()));
    }
}

#[test]
fn what_a_model_wrote_at_its_limit_on_calls_is_its_turn() {
    let server = HostileServer::start(|_, _| {
        let mut two = call("a");
        two["tool_calls"]
            .as_array_mut()
            .unwrap()
            .push(json!({"id": "b", "function": {"name": "g", "arguments": "{\"x\": 1}"}}));
        answer(two, json!({}))
    });
    let mut agent = agent_on(&server, |model| model.limits.episode_calls = Some(1));
    let Turn::Calls { calls, text, .. } = agent.next_turn(&[]).unwrap() else { panic!("no call") };
    assert_eq!((calls.len(), text.as_str()), (1, r#"{"name":"g","arguments":{"x":1}}"#));
}

#[test]
fn an_azure_version_stays_behind_the_path() {
    let server = HostileServer::start(|_, _| json(200, "[]"));
    let mut model = model(&server.url, 0);
    model.base_url = format!("{}/openai/deployments/d?api-version=2024-10-21", server.url);
    endpoint_of(&model).send("/chat/completions", &json!({}), &AtomicBool::new(false), &mut 0).unwrap();
    let line = server.received()[0].head.lines().next().unwrap().to_owned();
    assert_eq!(line, "POST /openai/deployments/d/chat/completions?api-version=2024-10-21 HTTP/1.1");
}

#[test]
fn a_server_that_loads_its_model_is_waited_for() {
    for loading in ["Loading model", "Server is starting"] {
        let server = HostileServer::start(move |n, _| match n {
            0..3 => refusal(503, loading),
            _ => json(200, r#"{"data": [{"id": "small"}]}"#),
        });
        let said = std::cell::RefCell::new(Vec::new());
        let note = |reason: &str| said.borrow_mut().push(reason.to_owned());
        assert_eq!(endpoint_of(&model(&server.url, 0)).preflight(&AtomicBool::new(false), &note), Ok(Preflight::Found));
        assert_eq!(*said.borrow(), [format!("HTTP 503 Service Unavailable: {loading}")]);
    }
    // An error with status 200 is no list.
    let server = HostileServer::start(|_, _| json(200, r#"{"error": "Unexpected endpoint or method."}"#));
    let error = endpoint_of(&model(&server.url, 0)).preflight(&AtomicBool::new(false), &|_| ()).unwrap_err();
    assert!(error.to_string().ends_with("it answers with an error: Unexpected endpoint or method."), "{error}");
}

#[test]
fn a_wait_says_until_when_and_why() {
    let server = HostileServer::start(|_, _| with(429, &[("retry-after", "30")], r#"{"error": "slow down"}"#));
    let endpoint = endpoint_of(&model(&server.url, 1));
    let stop = AtomicBool::new(false);
    assert_eq!(endpoint.waiting(), None);
    std::thread::scope(|scope| {
        scope.spawn(|| endpoint.send("/chat", &json!({}), &stop, &mut 0));
        let wait = loop {
            match endpoint.waiting() {
                Some(wait) => break wait,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        assert_eq!(wait.reason, "HTTP 429 Too Many Requests: slow down");
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
