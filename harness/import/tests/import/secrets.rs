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
