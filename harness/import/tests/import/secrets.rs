//! Credentials are masked, and equal ones alike.

use serde_json::json;

use super::{outline, read};

#[test]
fn credentials_are_masked_alike_wherever_they_stand() {
    // Made up, in two parts, so that no search for keys finds them here.
    let (one, two) = (format!("sk-{}", "a1B2".repeat(8)), format!("ghp_{}", "c3D4".repeat(8)));
    let call = |arguments: serde_json::Value| json!({"id": "1", "function": {"name": "a", "arguments": arguments.to_string()}});
    let log = json!({"messages": [
        {"role": "user", "content": format!("use {one}, please")},
        {"role": "assistant", "tool_calls": [call(json!({"k": one, "url": format!("https://u:h0rse-1234@h/?token={two}")}))]},
        {"role": "tool", "tool_call_id": "1", "content": format!("Error: {two} is wrong, DB_PASSWORD=hunter22x was not tried")},
        {"role": "assistant", "tool_calls": [call(json!({"k": one, "password": "tiny", "key": "Enter", "page": "next"}))]},
        {"role": "tool", "tool_call_id": "1", "content": "Authorization: Bearer abcdefghijklmnop123456"},
        {"role": "assistant", "content": "end"}]});
    let outline = outline(&read("a.json", &log.to_string(), &[])[0]);
    let expected = "user use [key 1], please\nturn \n\
        call a{\"k\":\"[key 1]\",\"url\":\"https://u:[key 5]@h/?token=[key 2]\"} -> text Error: [key 2] is wrong, DB_PASSWORD=[key 3] was not tried\n\
        turn \ncall a{\"k\":\"[key 1]\",\"password\":\"[key 6]\",\"key\":\"Enter\",\"page\":\"next\"} -> Authorization: Bearer [key 4]\n\
        turn end\n";
    assert_eq!(outline, expected);
}

#[test]
fn private_keys_are_masked() {
    let begin = format!("-----BEGIN {} KEY-----", "PRIVATE");
    let text = format!("here: {begin}\nMIIabc\n-----END {} KEY----- and there", "PRIVATE");
    let log = json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "end"}]});
    let outline = outline(&read("a.json", &log.to_string(), &[])[0]);
    assert!(!outline.contains("MIIabc"), "{outline}");
    assert!(outline.contains("here: [key 1]"), "{outline}");
}

#[test]
fn credentials_are_masked_in_every_form() {
    let key = format!("sk-{}", "a1B2".repeat(8));
    for (text, secret) in [
        ("GITHUB_TOKEN=abc123def", "abc123def"),
        ("SLACK_TOKEN=xoxb-12-ab", "xoxb-12-ab"),
        ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("-H 'bearer abcdefghijklmnop123456'", "abcdefghijklmnop123456"),
        ("DB_PASSWORD=correcthorse", "correcthorse"),
        ("{\"password\": 12345678}", "12345678"),
        ("password: hunter2", "hunter2"),
        ("password=hunter2", "hunter2"),
        ("passwd: correct-horse-battery", "correct-horse-battery"),
        ("pwd=Tr0ub4dor&3", "dor&3"),
        ("token: 12345678", "12345678"),
        ("password=hunter2&amp;user=ann, then hunter2", "hunter2"),
        ("<input value=\"?password=hunter2&quot;&gt;\">, then hunter2", "hunter2"),
        ("pwd=Tr0ub4dor&amp;3, then Tr0ub4dor&3", "dor&"),
        (r"A=1\nDB_PASSWORD=correcthorse\nB=2", "correcthorse"),
        (r"A=1\r\npwd=hunter22\r\nB=2", "hunter22"),
        (r"\tAuthorization: Basic dXNlcjpwYXNz\n", "dXNlcjpwYXNz"),
        (r"\nBearer abcdefghijklmnop123456\n", "abcdefghijklmnop123456"),
        (&format!(r"\n{key}\n"), &key),
        (r#"{\"password\": \"hunter2\", \"page\": 1}"#, "hunter2"),
        ("MAX_API_KEY=abc123def456", "abc123def456"),
        (r"C:\token=abc123def456", "abc123def456"),
        (&format!(r"C:\nvapi-{}", "c3D4".repeat(9)), "c3D4"),
        (&format!(r"\nnvapi-{}", "c3D4".repeat(9)), "c3D4"),
        ("密码password=hunter2, und hunter2是", "hunter2"),
        ("→DB_PASSWORD=correcthorse", "correcthorse"),
        ("请求头Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
        ("令牌bearer abcdefghijklmnop123456", "abcdefghijklmnop123456"),
        ("password: schlüssel-für-ann", "schlüssel"),
    ] {
        let log = json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "end"}]});
        let outline = outline(&read("a.json", &log.to_string(), &[])[0]);
        assert!(!outline.contains(secret) && outline.contains("[key 1]"), "{outline}");
    }
    let call = json!({"id": "1", "function": {"name": key, "arguments": {
        "password": 12345678, "max_tokens": 12345679, &key: 1, "Authorization": "Basic dXNlcjpwYXNz"}}});
    let log = json!({"task_id": key, "model": key, "messages": [
        {"role": "user", "content": "password: required, token=required"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "assistant", "content": "end"}]});
    let conversation = &read("a.json", &log.to_string(), &[])[0];
    assert_eq!(conversation.task, conversation.model.clone().unwrap());
    let outline = format!("{}{}", outline(conversation), conversation.task);
    assert!([&key, "12345678", "dXNlcjpwYXNz"].iter().all(|secret| !outline.contains(secret)), "{outline}");
    assert!(outline.contains("12345679") && outline.contains("password: required, token=required"), "{outline}");
}

#[test]
fn what_stands_beside_a_password_and_counts_of_tokens_stay() {
    for (text, expected) in [
        ("?password=hunter2&amp;user=ann", "?password=[key 1]&amp;user=ann"),
        ("?password=hunter2&user=ann", "?password=[key 1]&user=ann"),
        ("?password=hunter2&quot;&gt;", "?password=[key 1]&quot;&gt;"),
        (r"\npassword=hunter2\nuser=ann", r"\npassword=[key 1]\nuser=ann"),
    ] {
        let log = json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "end"}]});
        assert_eq!(outline(&read("a.json", &log.to_string(), &[])[0]), format!("user {expected}\nturn end\n"));
    }
    for text in [
        r#"{"tokens": 1234, "max_tokens": 512, "token_count": 123456789, "cache_read_input_token_count": 123456789}"#,
        "max_tokens=512 max_tokens=51200000 total_token: 12345678 token_limit=10000000 tokens=abcd1234",
        r"out:\nname=value\ntable: x",
    ] {
        let log = json!({"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "end"}]});
        assert_eq!(outline(&read("a.json", &log.to_string(), &[])[0]), format!("user {text}\nturn end\n"));
    }
}

#[test]
fn a_secret_of_an_argument_is_masked_wherever_it_occurs() {
    let call = json!({"id": "1", "function": {"name": "a", "arguments": {"password": "opensesame", "pwd": "mellon", "pin_pwd": 4711}}});
    let log = json!({"messages": [
        {"role": "user", "content": "it is opensesame or mellon, the melons cost 47110, PWD=/srv/a1 password_changed_at: 2026-01-01"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "Error: opensesame, mellon and 4711 are wrong"},
        {"role": "assistant", "content": "end"}]});
    let outline = outline(&read("a.json", &log.to_string(), &[])[0]);
    assert!(outline.contains("the melons cost 47110, PWD=/srv/a1 password_changed_at: 2026-01-01"), "{outline}");
    let has_secret =
        outline.split(|c: char| !c.is_alphanumeric()).any(|word| ["opensesame", "mellon", "4711"].contains(&word));
    assert!(!has_secret, "{outline}");
}

#[test]
fn problems_quote_no_credentials() {
    let key = format!("sk-{}", "a1B2".repeat(8));
    let log = json!({"messages": [{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": key, "arguments": "[]"}}]}]});
    let broken = format!(
        "{{\"type\": \"user\", \"sessionId\": \"s\", \"message\": {{\"role\": \"user\"}}, \"isMeta\": \"{key}\"}}\n"
    );
    let log = log.to_string();
    let files: [(&str, &[u8]); 2] = [("a.json", log.as_bytes()), ("b.jsonl", broken.as_bytes())];
    let (_, summary) = super::import_files(&files, &healbench_import::Options::default()).unwrap();
    let details: Vec<&str> = summary.problems.listed.iter().map(|problem| problem.detail.as_str()).collect();
    assert!(details.len() >= 3 && details.iter().all(|detail| !detail.contains(&key)), "{details:?}");
    assert!(details.iter().any(|detail| detail.starts_with("line 1 column ")), "{details:?}");
}
