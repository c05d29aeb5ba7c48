//! Settings of models: tables, defaults, and errors with their exact positions and messages.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use healbench_agents::llm::{
    Api, Connections, Limits, Model, ModelTable, Price, PriceTable, Sampling, parse_model_tables, resolve_model,
};
use healbench_core::DEFAULT_SYSTEM_TEXT;
use healbench_core::{AgentKind, Object, Opening, ToolsMode};
use serde_json::json;

const FULL: &str = r#"
[run]
trials = 3

[model.qwen]
api = "openai-chat"
model = "qwen-1.5b"
base_url = "http://127.0.0.1:18111/v1/"
key_env = "QWEN_KEY"
tools = "prompt"
temperature = 0
top_p = 1.0
max_output_tokens = 300
seed = false
timeout_s = 60
retries = 2
episode_calls = 12
episode_tokens = 200_000
tokens_per_minute = 90_000
connections = {start = 2, min = 1, max = 8}
system = "texts/system.txt"
check_model = false
headers = {"X-Title" = "healbench run"}
headers_env = {"Authorization" = "MY_SECRET"}
price = {input = 0.15, output = 0.6, cache_read = 0.075}
[model.qwen.extra_body]
top_k = 40
stop = ["END", "</s>"]
options = {min_p = 0.05, deep = true}
"#;

fn no_files(path: &Path) -> io::Result<String> {
    panic!("nothing names {}", path.display())
}

fn tables(text: &str) -> BTreeMap<String, ModelTable> {
    parse_model_tables(Path::new("healbench.toml"), text, &no_files).unwrap()
}

/// Returns the error for a table `m` and its help, with these lines, which begin at line 2.
fn problem(lines: &str) -> String {
    error(&format!("[model.m]\n{lines}"))
}

/// Returns the error for a table `m` with an API and these lines, which begin at line 3.
pub(super) fn problem_below_api(lines: &str) -> String {
    problem(&format!("api = \"openai-chat\"\n{lines}"))
}

fn error(text: &str) -> String {
    let read = |_: &Path| Err(io::Error::other("it is not there"));
    let error = parse_model_tables(Path::new("conf/healbench.toml"), text, &read).unwrap_err();
    assert!(!error.help.is_empty(), "{error}");
    format!("{error}; {}", error.help)
}

pub(super) fn at(position: &str, message: &str) -> String {
    format!("conf/healbench.toml:{position}: {message}")
}

#[test]
fn a_full_table_says_everything() {
    let read = |path: &Path| {
        assert_eq!(path, Path::new("conf/texts/system.txt"));
        Ok("Do it.\n".to_owned())
    };
    let mut tables = parse_model_tables(Path::new("conf/healbench.toml"), FULL, &read).unwrap();
    let table = tables.remove("qwen").unwrap();
    assert!(tables.is_empty());
    assert_eq!(table.line, 5);
    let extra = json!({"options": {"deep": true, "min_p": 0.05}, "stop": ["END", "</s>"], "top_k": 40});
    let one = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    let expected = Model {
        api: Api::OpenaiChat,
        model: "qwen-1.5b".to_owned(),
        base_url: "http://127.0.0.1:18111/v1".to_owned(),
        key_env: Some("QWEN_KEY".to_owned()),
        tools: ToolsMode::Prompt,
        sampling: Sampling { temperature: Some(0.0), top_p: Some(1.0), max_output_tokens: Some(300), seed: false },
        extra_body: extra.as_object().unwrap().clone(),
        headers: one("X-Title", "healbench run"),
        headers_env: one("Authorization", "MY_SECRET"),
        system: "Do it.".to_owned(),
        limits: Limits {
            timeout_s: 60,
            retries: 2,
            episode_calls: Some(12),
            episode_tokens: Some(200_000),
            tokens_per_minute: Some(90_000),
        },
        connections: Connections { start: 2, min: 1, max: 8 },
        price: Some(Price { input: 0.15, cache_read: Some(0.075), cache_write: None, output: 0.6 }),
        check_model: false,
        deterministic: false,
    };
    assert_eq!(table.model, expected);
}

#[test]
fn what_a_table_does_not_say_has_a_default() {
    let tables = tables("[model.claude-opus-5]\napi = \"anthropic\"");
    let expected = Model {
        api: Api::Anthropic,
        model: "claude-opus-5".to_owned(),
        base_url: "https://api.anthropic.com/v1".to_owned(),
        key_env: Some("ANTHROPIC_API_KEY".to_owned()),
        tools: ToolsMode::Native,
        sampling: Sampling { temperature: None, top_p: None, max_output_tokens: None, seed: true },
        extra_body: Object::new(),
        headers: BTreeMap::new(),
        headers_env: BTreeMap::new(),
        system: DEFAULT_SYSTEM_TEXT.to_owned(),
        limits: Limits {
            timeout_s: 120,
            retries: 6,
            episode_calls: None,
            episode_tokens: None,
            tokens_per_minute: None,
        },
        connections: Connections { start: 20, min: 10, max: 100 },
        price: None,
        check_model: true,
        deterministic: false,
    };
    assert_eq!(tables["claude-opus-5"].model, expected);
    assert!(DEFAULT_SYSTEM_TEXT.ends_with("one sentence."), "{DEFAULT_SYSTEM_TEXT}");
}

#[test]
fn only_a_declaration_makes_a_model_deterministic() {
    let model = |lines: &str| tables(&format!("[model.m]\napi = \"openai-chat\"\n{lines}"))["m"].model.clone();
    let spec = |lines: &str| model(lines).spec("model:m", Opening::Seeded, AgentKind::Llm);
    let declared = spec("deterministic = true");
    assert!(declared.is_deterministic());
    assert_eq!(declared.title(), "model:m · seeded · native · deterministic");
    assert_eq!(Model::from_spec(&declared), Some(model("deterministic = true")));
    // A temperature of 0 declares nothing, and the settings of other models are stored as before.
    for lines in ["temperature = 0", "temperature = 0\nseed = true", "deterministic = false"] {
        let spec = spec(lines);
        assert!(!spec.is_deterministic() && spec.settings.get("deterministic").is_none(), "{lines}");
        assert_eq!(spec.title(), "model:m · seeded · native");
    }
}

#[test]
fn keys_and_connections_follow_the_base_url() {
    let model = |lines: &str| tables(&format!("[model.m]\napi = \"openai-chat\"\n{lines}"))["m"].model.clone();
    let fixed = |number| Connections { start: number, min: number, max: number };
    for loopback in ["http://localhost:1234", "http://127.3.2.1/v1", "http://[::1]:8080/v1", "http://a.localhost"] {
        let model = model(&format!("base_url = \"{loopback}\""));
        assert_eq!((model.key_env, model.connections), (None, fixed(4)), "{loopback}");
    }
    for remote in ["https://localhost.example.org/v1", "http://10.0.0.1/v1"] {
        let model = model(&format!("base_url = \"{remote}\""));
        assert_eq!((model.key_env, model.connections.max), (None, 100), "{remote}");
    }
    let same = model("base_url = \"HTTPS://api.openai.com:443/v1//\"");
    assert_eq!(
        (same.base_url.as_str(), same.key_env.as_deref()),
        ("https://api.openai.com/v1", Some("OPENAI_API_KEY"))
    );
    assert_eq!(model("key_env = \"\"").key_env, None);
    assert_eq!(model("base_url = \"http://localhost\"\nconnections = 1").connections, fixed(1));
    assert_eq!(model("connections = {max = 5}").connections, fixed(5));
    assert_eq!(model("connections = {start = 3}").connections, Connections { start: 3, min: 3, max: 100 });
    assert_eq!(model("connections = {min = 200}").connections, fixed(200));
}

#[test]
fn other_tables_are_left_alone() {
    assert!(tables("[run]\nmodel = 3\n[[anything]]\nx = 1").is_empty());
    assert!(tables("").is_empty());
}

#[test]
fn tables_have_to_be_tables_with_names() {
    assert_eq!(
        error("model = 3"),
        at("1:9", "`model` is a whole number, which has the wrong type; it has to be a table")
    );
    assert_eq!(
        error("[model]\nm = \"x\""),
        at("2:5", "`model.m` is a string, which has the wrong type; it has to be a table")
    );
    assert_eq!(
        error("[[model.m]]\napi = \"gemini\""),
        at("1:1", "`model.m` is a list, which has the wrong type; it has to be a table")
    );
    let not_a_name = "is not a name; a name is not empty, and has no control characters and no blanks around it";
    assert_eq!(error("[model.\"\"]"), at("1:8", &format!("`model.` {not_a_name}")));
    assert_eq!(error("[model.\"a\\u001bb\"]"), at("1:8", &format!("`model.a\\u{{1b}}b` {not_a_name}")));
    assert_eq!(error("[model.\"a\\u202eb\"]"), at("1:8", &format!("`model.a\\u{{202e}}b` {not_a_name}")));
    assert_eq!(problem_below_api("model = \" x\""), at("3:9", &format!("`model.m.model` {not_a_name}")));
    assert_eq!(
        problem("api = openai"),
        at("2:7", "string values must be quoted, expected literal string; the file has to be valid TOML")
    );
}

#[test]
fn unknown_words_name_the_nearest() {
    let apis = "`openai-chat`, `openai-responses`, `anthropic`, `gemini`";
    assert_eq!(problem("model = \"x\""), at("1:1", &format!("`model.m.api` is missing; it is one of {apis}")));
    assert_eq!(
        problem("# é\napi = \"openai-chats\""),
        at(
            "3:7",
            &format!("`model.m.api` is `openai-chats`, which is not known; did you mean `openai-chat`? Known: {apis}")
        )
    );
    assert_eq!(
        problem("api = 1"),
        at("2:7", "`model.m.api` is a whole number, which has the wrong type; it has to be a string")
    );
    assert_eq!(
        problem_below_api("tools = \"json\""),
        at("3:9", "`model.m.tools` is `json`, which is not known; known: `native`, `prompt`")
    );
    let keys = "`api`, `model`, `base_url`, `key_env`, `tools`, `temperature`, `top_p`, `max_output_tokens`, `seed`, \
                `timeout_s`, `retries`, `episode_calls`, `episode_tokens`, `tokens_per_minute`, `connections`, `system`, \
                `check_model`, `deterministic`, `headers`, `headers_env`, `price`, `extra_body`";
    assert_eq!(
        problem("temprature = 1\napi = \"gemini\""),
        at("2:1", &format!("unknown key `model.m.temprature`; did you mean `temperature`? Known: {keys}"))
    );
    // The first key in the file, not in alphabetical order.
    assert!(problem_below_api("zz = 1\naa = 2").starts_with("conf/healbench.toml:3:1: unknown key `model.m.zz`; "));
    assert_eq!(
        problem_below_api("\"\\u001b[2J\" = 1"),
        at("3:1", &format!("unknown key `model.m.\\u{{1b}}[2J`; known: {keys}"))
    );
    assert_eq!(
        problem_below_api("price = {input = 1, outputs = 2}"),
        at(
            "3:21",
            "unknown key `model.m.price.outputs`; did you mean `output`? Known: `input`, `cache_read`, `cache_write`, `output`"
        )
    );
    assert_eq!(
        problem_below_api("connections = {begin = 2}"),
        at("3:16", "unknown key `model.m.connections.begin`; known: `start`, `min`, `max`")
    );
}

#[test]
fn base_urls_are_checked_and_never_shown() {
    let credentials =
        "`model.m.base_url` holds credentials, which are not shown; they belong into `key_env` or `headers_env`";
    let query = "`model.m.base_url` has a query or a fragment, which is not shown; only `?api-version=…` may follow on the path; a key belongs into `key_env` or \
                 `headers_env`";
    let endpoint = "`model.m.base_url` is the address of one endpoint; leave out the last part of its path, up to what is often `/v1`";
    let scheme = "`model.m.base_url` has to be an `http` or `https` URL; write one such as `http://127.0.0.1:8080/v1`";
    let no_url = "`model.m.base_url` is not a URL; write one such as `http://127.0.0.1:8080/v1`";
    let cases = [
        ("https://me:hunter2@example.org/v1", credentials),
        ("https://hunter2@example.org/v1", credentials),
        ("https://example.org/v1?key=hunter2", query),
        ("https://example.org/v1#hunter2", query),
        ("https://example.org/v1?api-version=1&key=hunter2", query),
        ("https://example.org/v1/chat/completions", endpoint),
        ("https://example.org/v1/messages/", endpoint),
        ("ftp://example.org", scheme),
        ("localhost:8080/hunter2", scheme),
        ("hunter2", no_url),
        ("", no_url),
        ("https://example.org/ hunter2", no_url),
    ];
    for (url, message) in cases {
        assert_eq!(problem_below_api(&format!("base_url = \"{url}\"")), at("3:12", message), "{url}");
    }
}

#[test]
fn a_system_text_has_to_be_readable() {
    assert_eq!(
        problem_below_api("system = \"s.txt\""),
        at(
            "3:10",
            "`model.m.system` names `conf/s.txt`, which cannot be read: it is not there; the path is relative to the folder of this \
             file"
        )
    );
}

#[test]
fn variables_are_names_and_not_keys() {
    let reason =
        "is not a valid name of an environment variable; the value is hidden; such a name has letters, digits and `_`";
    assert_eq!(problem_below_api("key_env = \"hunter-2\""), at("3:11", &format!("`model.m.key_env` {reason}")));
    assert_eq!(problem_below_api("key_env = \"2hunter\""), at("3:11", &format!("`model.m.key_env` {reason}")));
    assert_eq!(
        problem_below_api("headers_env = {\"X-S\" = \"hunter 2\"}"),
        at("3:24", &format!("`model.m.headers_env.X-S` {reason}"))
    );
}

#[test]
fn headers_hold_no_secrets() {
    for name in ["Authorization", "x-api-key", "X-Goog-Api-Key", "COOKIE", "api-key", "Proxy-Authorization"] {
        assert_eq!(
            problem_below_api(&format!("headers = {{{name} = \"hunter2\"}}")),
            at(
                "3:12",
                &format!(
                    "`model.m.headers.{name}` carries a secret; name the environment variable that holds it in `key_env` or \
                     `headers_env`"
                )
            )
        );
    }
    assert_eq!(
        problem_below_api("headers = {\"a b\" = \"x\"}"),
        at("3:12", "`model.m.headers.a b` is not the name of a header; a name has letters, digits and `-`")
    );
    assert_eq!(
        problem_below_api("headers = {X = \"a\\nb\"}"),
        at(
            "3:16",
            "`model.m.headers.X` contains characters that are not allowed in a header; headers are made of visible ASCII characters and blanks"
        )
    );
    assert_eq!(
        problem_below_api("headers = {X-A = \"1\"}\nheaders_env = {x-a = \"V\"}"),
        at("4:16", "`model.m.headers_env.x-a` is given twice; a header's name is the same in all cases")
    );
    assert_eq!(
        problem_below_api("headers = {X-A = 1}"),
        at("3:18", "`model.m.headers.X-A` is a whole number, which has the wrong type; it has to be a string")
    );
}

#[test]
fn an_extra_body_leaves_the_conversation_alone() {
    let reserved = [
        "model",
        "messages",
        "input",
        "contents",
        "tools",
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "stream",
    ];
    for key in reserved {
        let message = format!(
            "`model.m.extra_body.{key}` cannot be set; healbench writes this part of a request, and a run would not be what its \
             records say"
        );
        assert_eq!(problem_below_api(&format!("[model.m.extra_body]\nx = 1\n{key} = 1")), at("5:1", &message));
    }
    // Columns count characters.
    assert!(problem_below_api("extra_body = {a = \"é\", tools = 1}").starts_with("conf/healbench.toml:3:24: "));
    assert_eq!(
        problem_below_api("extra_body = {a = {b = [nan]}}"),
        at("3:25", "`model.m.extra_body.a.b` is nan, which is out of range; it has to be a finite number")
    );
}

#[test]
fn what_looks_like_a_secret_is_refused_and_not_shown() {
    let message = |key: &str| {
        format!(
            "something in `{key}` looks like a secret, which has no place in a file and is not shown; put it into an \
             environment variable, and the variable's name into `key_env` or `headers_env` of a model"
        )
    };
    let cases = [
        ("key_env = \"sk-abc\"", "3:11", "model.m.key_env"),
        ("key_env = \"AIzaSyXXX\"", "3:11", "model.m.key_env"),
        ("api_key = \"sk-abc\"", "3:11", "model.m.api_key"),
        ("model = \"gsk_0123456789abcdef\"", "3:9", "model.m.model"),
        ("headers = {X-Auth = \"Bearer hunter2\"}", "3:21", "model.m.headers.X-Auth"),
        ("headers = {X-Auth = \"Token eyJ0123456789abcdefgh\"}", "3:21", "model.m.headers.X-Auth"),
        ("base_url = \"https://example.org/sk-0123456789abcdefgh\"", "3:12", "model.m.base_url"),
        ("extra_body = {a = [{b = \"sk-abc\"}]}", "3:25", "model.m.extra_body.a.b"),
        ("extra_body = {sk-abc = 1}", "3:15", "model.m.extra_body"),
        ("sk-abc = 1", "3:1", "model.m"),
    ];
    for (line, position, key) in cases {
        assert_eq!(problem_below_api(line), at(position, &message(key)), "{line}");
    }
    assert_eq!(error("[model.sk-abc]\napi = \"gemini\""), at("1:8", &message("model")));
    // A short word with the prefix of a secret is a name.
    assert_eq!(tables("[model.hf_qwen]\napi = \"gemini\"")["hf_qwen"].model.model, "hf_qwen");
}

#[test]
fn model_refs_name_models() {
    let prices = PriceTable::shipped();
    let none = BTreeMap::new();
    let of = |model_ref: &str| resolve_model(model_ref, &none, &prices).unwrap();
    let mini = of("openai:gpt-5-mini");
    assert_eq!(
        (mini.api, mini.model.as_str(), mini.key_env.as_deref()),
        (Api::OpenaiChat, "gpt-5-mini", Some("OPENAI_API_KEY"))
    );
    assert_eq!(mini.price, Some(Price { input: 0.25, cache_read: Some(0.025), cache_write: None, output: 2.0 }));
    assert_eq!(of("openai-responses:gpt-5-mini"), Model { api: Api::OpenaiResponses, ..mini });
    assert_eq!(of("openai:ft:gpt-4o:org").model, "ft:gpt-4o:org");
    assert_eq!((of("anthropic:claude-x").api, of("anthropic:claude-x").price), (Api::Anthropic, None));
    assert_eq!(of("gemini:gemini-2.5-pro").base_url, "https://generativelanguage.googleapis.com/v1beta");
}

#[test]
fn a_table_is_priced_by_itself_or_at_its_provider() {
    let prices = PriceTable::shipped();
    let price = |lines: &str| {
        let tables = tables(&format!("[model.m]\napi = \"openai-chat\"\nmodel = \"gpt-5\"\n{lines}"));
        resolve_model("model:m", &tables, &prices).unwrap().price.map(|price| price.input)
    };
    assert_eq!(price(""), Some(1.25));
    assert_eq!(price("price = {input = 7, output = 8}"), Some(7.0));
    assert_eq!(price("base_url = \"https://example.org/v1\""), None);
}

#[test]
fn invalid_model_refs_list_the_accepted_forms() {
    let prices = PriceTable::shipped();
    let tables = tables("[model.qwen-1]\napi = \"gemini\"\n[model.llama]\napi = \"gemini\"");
    let error = |model_ref: &str| resolve_model(model_ref, &tables, &prices).unwrap_err().to_string();
    assert_eq!(
        error("gpt-5"),
        "`gpt-5` does not say who has the model: write `openai:MODEL`, `openai-responses:MODEL`, `anthropic:MODEL`, \
         `gemini:MODEL`, `model:NAME`"
    );
    let providers = "`openai`, `openai-responses`, `anthropic`, `gemini`, `model`";
    assert_eq!(error("opnai:gpt-5"), format!("unknown provider `opnai`; did you mean `openai`? Known: {providers}"));
    assert_eq!(error("mistral\u{7}:x"), format!("unknown provider `mistral\\u{{7}}`; known: {providers}"));
    let not_a_name = "is not a name; a name is not empty, and has no control characters and no blanks around it";
    assert_eq!(error("openai:"), format!("what follows `openai:` {not_a_name}"));
    assert_eq!(error("model:a\nb"), format!("what follows `model:` {not_a_name}"));
    assert_eq!(
        error("openai:sk-0123456789abcdefgh"),
        "the name of a model looks like a secret, and is not shown; a key belongs into an environment variable"
    );
    assert_eq!(error("openai:sk-abc"), error("sk-abc"));
    assert_eq!(
        error("model:qwen"),
        "there is no table `[model.qwen]`; did you mean `qwen-1`? Known: `llama`, `qwen-1`"
    );
    assert_eq!(
        resolve_model("model:m", &BTreeMap::new(), &prices).unwrap_err().to_string(),
        "there is no table `[model.m]`; there are no tables of models: write one into `healbench.toml`"
    );
}
