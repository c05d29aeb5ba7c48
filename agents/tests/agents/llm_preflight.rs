//! Preflight checks against servers that report problems in different ways.

use healbench_agents::llm::{Api, Preflight, PreflightError};
use serde_json::{Value, json};

use crate::hostile_server::*;
use crate::llm_endpoint::{KEY, endpoint, endpoint_of, model};

static NEVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Returns the result of a preflight check on a server that reacts to every request in the same way, and the paths of
/// the requests.
fn preflight(
    api: Api,
    action: impl Fn() -> ServerAction + Send + Sync + 'static,
) -> (Result<Preflight, PreflightError>, Vec<String>) {
    let server = HostileServer::start(move |_, _| action());
    let mut model = model(&format!("{}/v1", server.url), 0);
    model.api = api;
    let result = endpoint_of(&model).preflight(&NEVER, &|_| ());
    if let Err(error) = &result {
        let text = format!("{error} {error:?} {}", error.help());
        assert!(!text.contains("Cc2") && !text.contains("Ee4") && !error.to_string().contains('\n'), "{text}");
    }
    let path = |received: ReceivedRequest| received.head.split(' ').nth(1).unwrap().to_owned();
    (result, server.received().into_iter().map(path).collect())
}

#[test]
fn a_model_is_found_in_every_form_of_list() {
    for list in [
        json!({"object": "list", "data": [{"id": "other"}, {"id": "small"}]}),
        json!({"models": [{"name": "small", "model": "small"}], "data": [{"id": "/models/x.gguf"}]}),
        json!({"models": [{"model": "small:latest"}]}),
        json!({"data": [{"id": "models/small"}]}),
        json!([{"id": "small"}]),
    ] {
        for api in [Api::OpenaiChat, Api::OpenaiResponses] {
            let list = list.to_string();
            let (result, paths) = preflight(api, move || json(200, &list));
            assert_eq!((result, paths), (Ok(Preflight::Found), vec!["/v1/models".to_owned()]));
        }
    }
}

#[test]
fn a_missing_model_is_reported_with_similar_names() {
    let names = (0..20).map(|n| format!("large-{n}")).chain(["smal".to_owned(), format!("\u{1b}[1m{KEY}")]);
    let list = json!({"data": names.map(|id| json!({"id": id})).collect::<Vec<Value>>()}).to_string();
    let (result, _) = preflight(Api::OpenaiChat, move || json(200, &list));
    let error = result.unwrap_err();
    let PreflightError::NoModel { model, known, .. } = &error else { panic!("{error:?}") };
    assert_eq!((model.as_str(), known.len(), known[0].as_str()), ("small", 8, "smal"));
    assert!(error.help().contains("check_model = false"));

    let list = json!({"data": [{"id": format!("\u{1b}[1m{KEY}")}]}).to_string();
    let (result, _) = preflight(Api::OpenaiChat, move || json(200, &list));
    let message = result.unwrap_err().to_string();
    assert!(message.ends_with(r"has no model `small`; it has \u{1b}[1m[key]"), "{message}");
}

#[test]
fn anthropic_and_gemini_are_asked_for_the_model_itself() {
    for api in [Api::Anthropic, Api::Gemini] {
        let (result, paths) = preflight(api, || json(200, r#"{"id": "small"}"#));
        assert_eq!((result, paths), (Ok(Preflight::Found), vec!["/v1/models/small".to_owned()]));
        let (result, _) = preflight(api, || json(404, r#"{"error": {"message": "model: small"}}"#));
        assert!(matches!(result, Err(PreflightError::NoModel { .. })), "{result:?}");
        let (result, _) = preflight(api, || json(404, r#"{"error": {"message": "File Not Found"}}"#));
        assert_eq!(result, Ok(Preflight::Unchecked));
    }
    let invalid = r#"{"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}"#;
    let (result, _) = preflight(Api::Gemini, || json(400, invalid));
    assert!(matches!(result, Err(PreflightError::BadKey { .. })), "{result:?}");
}

#[test]
fn a_rejected_key_is_reported_by_its_variable() {
    for status in [401, 403] {
        let (result, paths) = preflight(Api::OpenaiChat, move || json(status, &format!(r#"{{"error": "no {KEY}"}}"#)));
        let error = result.unwrap_err();
        assert!(error.to_string().contains("does not take the key in TEST_KEY (HTTP 40"), "{error}");
        assert!(error.help().starts_with("set TEST_KEY to a key"), "{}", error.help());
        assert_eq!(paths.len(), 1);
    }
    let server = HostileServer::start(|_, _| json(401, "{}"));
    let mut model = model(&server.url, 0);
    (model.key_env, model.check_model) = (None, false);
    let error = endpoint_of(&model).preflight(&NEVER, &|_| ()).unwrap_err();
    assert!(error.to_string().contains("wants a key, and none is set"), "{error}");
}

#[test]
fn a_server_without_a_list_is_not_checked() {
    for status in [404, 405, 501, 429] {
        let (result, _) = preflight(Api::OpenaiChat, move || json(status, "{}"));
        assert_eq!(result, Ok(Preflight::Unchecked), "{status}");
    }
    let (result, _) = preflight(Api::OpenaiChat, || json(200, r#"{"odd": true}"#));
    assert_eq!(result, Ok(Preflight::Unchecked));
    let server = HostileServer::start(|_, _| json(500, "{}"));
    let mut model = model(&server.url, 0);
    model.check_model = false;
    assert_eq!(endpoint_of(&model).preflight(&NEVER, &|_| ()), Ok(Preflight::Unchecked));
}

#[test]
fn a_server_that_does_not_work_is_reported_after_a_second_request() {
    let dead = |action: fn() -> ServerAction| match preflight(Api::OpenaiChat, action) {
        (Err(PreflightError::Unavailable { url, reason }), paths) => {
            assert!(url.starts_with("http://127.0.0.1:") && url.ends_with("/v1"), "{url}");
            (reason, paths.len())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(dead(|| json(500, "{}")), ("HTTP 500 Internal Server Error: {}".to_owned(), 2));
    assert_eq!(
        dead(|| ServerAction::Stall(Vec::new())),
        ("no complete answer within 1 s, which `timeout_s` allows".to_owned(), 2)
    );
    assert_eq!(dead(|| ServerAction::Reset).1, 2);
    assert_eq!(
        dead(|| with(200, &[("content-type", "text/html")], "<html>")),
        ("it answers with text/html, not JSON".to_owned(), 1)
    );
    let (redirect, looks) = dead(|| with(302, &[("location", "https://login.example.com/")], "{}"));
    assert!(redirect.starts_with("the server redirects to login.example.com (HTTP 302)") && looks == 1, "{redirect}");

    let server =
        HostileServer::start(
            |n, _| if n == 0 { ServerAction::Reset } else { json(200, r#"{"data": [{"id": "small"}]}"#) },
        );
    assert_eq!(endpoint(&server, 0).preflight(&NEVER, &|_| ()), Ok(Preflight::Found));
}
