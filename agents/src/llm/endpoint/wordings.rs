//! The meaning of refusals, by the words of many servers. Sources are the servers' own code and documents, and public reports
//! of what they sent.

use serde_json::Value;

/// Parts of a text in lower case that occur in this order.
pub(super) type Wording = &'static [&'static str];

/// Returns true if the text has one of the wordings.
pub(super) fn says(text: &str, wordings: &[Wording]) -> bool {
    wordings.iter().any(|wording| {
        let mut rest = text;
        wording.iter().all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
    })
}

/// Status codes and wordings of errors about model output that the server cannot parse.
const UNPARSED: &[(u16, Wording)] = &[
    // llama.cpp: the output; the arguments of an earlier call.
    (500, &["failed to parse input"]),
    (500, &["failed to parse tool call arguments"]),
    // Ollama.
    (500, &["error parsing tool call"]),
    // Groq.
    (400, &["tool_use_failed"]),
];

/// Returns true if a text says that the server could not parse what its model wrote.
pub(super) fn is_unparsed(status: u16, text: &str) -> bool {
    UNPARSED.iter().any(|(of, wording)| *of == status && says(text, &[wording]))
}

/// Refusals by a content filter: of Azure OpenAI, OpenAI, and OpenAI's reasoning models.
const FILTERED: &[Wording] = &[&["content_filter"], &["content_policy_violation"], &["invalid_prompt"]];

/// Returns true if a text says that a content filter refuses the conversation.
pub(super) fn is_filtered(status: u16, text: &str) -> bool {
    status == 400 && says(text, FILTERED)
}

/// Wordings of empty balances, and of other limits that no wait lifts.
const EXHAUSTED: &[Wording] = &[
    // OpenAI; Kimi.
    &["insufficient_quota"],
    &["exceeded_current_quota"],
    // Kimi, DeepSeek, z.ai, DashScope.
    &["insufficient balance"],
    &["insufficient_balance"],
    &["insufficient credit"],
    &["out of credit"],
    &["credit balance"],
    &["balance is too low"],
    &["recharge"],
    &["top up"],
    &["arrear"],
    &["overdue"],
    &["account is suspended"],
    &["payment required"],
    // Venice; OpenRouter; xAI; LiteLLM.
    &["insufficient usd"],
    &["more credits"],
    &["available credits"],
    &["spending limit"],
    &["budget has been exceeded"],
    // OpenAI, Groq; Anthropic: a request that is larger than what a minute allows, or than the plan does.
    &["request too large"],
    &["long context requests"],
    // Gemini names a wait of seconds for its limits on a day, too.
    &["perday"],
    &["余额不足"],
    &["欠费"],
];

/// Wordings of limits on a day or a month.
const LONG: &[Wording] = &[
    // Groq; OpenRouter; Cloudflare; Cohere; Ollama; z.ai.
    &["per day"],
    &["per-day"],
    &["per_day"],
    &["/ day"],
    &["/day"],
    &["daily"],
    &["weekly"],
    &["per week"],
    &["monthly"],
    &["per month"],
    &["/ month"],
    &["/month"],
    &["usage limit reached"],
];

/// Refusals of more requests than a server answers at once.
const AT_ONCE: &[Wording] = &[
    // KoboldCpp; z.ai, Kimi; NVIDIA.
    &["is busy"],
    &["concurren"],
    &["total request limit"],
];

/// Returns true if a text says that the server answers fewer requests at once.
pub(super) fn is_too_many_at_once(text: &str) -> bool {
    says(text, AT_ONCE)
}

/// Errors of a server that is set up wrongly, although their status is that of a failure.
const SET_UP: &[Wording] = &[
    // llama.cpp.
    &["requires --jinja"],
    &["jinja exception"],
    &["chat template"],
    // Templates of Gemma and Mistral.
    &["system role"],
    &["roles must alternate"],
    // Ollama, vLLM.
    &["does not support tools"],
    &["--enable-auto-tool-choice"],
];

/// The wait that a server asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedWait {
    None,
    Short,
    /// A wait that no run makes.
    Long,
}

/// Returns true if no retry can succeed, although the status is one of a passing failure. A limit on a day passes if the
/// server asks for a short wait, since some count the last 24 hours.
pub(super) fn is_final(status: u16, text: &str, wait: AskedWait) -> bool {
    match status {
        429 => wait == AskedWait::Long || says(text, EXHAUSTED) || wait == AskedWait::None && says(text, LONG),
        501 | 505 => true,
        500..600 => says(text, SET_UP),
        _ => false,
    }
}

/// Words by which servers say that they do not take something.
const NOT_TAKEN: &[Wording] = &[
    &["unsupported"],
    &["not support"],
    &["not permitted"],
    &["not allowed"],
    &["unknown"],
    &["unexpected"],
    &["unrecognized"],
    &["extra"],
    &["invalid"],
    &["too large"],
    &["at most"],
    &["must be"],
    &["should be"],
    &["requires"],
    &["no endpoints found"],
    &["deprecated"],
    &["cannot"],
    &["can't"],
    &["only", "are supported"],
    &["but found"],
];

/// Returns true if a text says that the server does not take something.
pub(super) fn is_not_taken(text: &str) -> bool {
    says(text, NOT_TAKEN)
}

/// Words of a refusal, keys of a request that may be meant, and the setting that helps.
const ADVICE: &[(&[&str], &[&str], &str)] = &[
    (&["seed"], &["/seed", "/generationConfig/seed"], "set `seed = false`"),
    (&["temperature"], &["/temperature", "/generationConfig/temperature"], "leave out `temperature`"),
    (&["top_p", "topp"], &["/top_p", "/generationConfig/topP"], "leave out `top_p`"),
    (
        &["max_tokens", "max_output_tokens", "max_completion_tokens", "maxoutputtokens"],
        &["/max_tokens", "/max_output_tokens", "/max_completion_tokens", "/generationConfig/maxOutputTokens"],
        "change `max_output_tokens`, or name the server's own key in `extra_body`",
    ),
    (
        &["expected `thinking`"],
        &["/messages"],
        "play with `--opening natural`, since a call that the model did not make has no thinking, or without `thinking`",
    ),
    (
        &["tool", "function call", "jinja"],
        &["/tools"],
        "set `tools = \"prompt\"`, or start the server with its support for tools",
    ),
];

/// Things other than a path that servers say they do not have.
const NAMED: [&str; 5] = ["model", "deployment", "endpoints found", "function", "entity"];

/// Returns the setting that may avoid a refusal of this request.
pub(super) fn advice(status: u16, text: &str, body: &Value) -> Option<&'static str> {
    if matches!(status, 404 | 405) && !NAMED.iter().any(|named| text.contains(named)) {
        return Some("see that `base_url` is the server's address with the path of its API, without that of a request");
    }
    // Refusals of a rate say so.
    if status == 413 && !text.contains("token") {
        return Some(
            "see that the server and each proxy before it take longer requests (such as `client_max_body_size` of nginx)",
        );
    }
    let is_meant = |(words, keys, _): &&(&[&str], &[&str], &str)| {
        words.iter().any(|word| text.contains(word)) && keys.iter().any(|key| body.pointer(key).is_some())
    };
    is_not_taken(text).then(|| ADVICE.iter().find(is_meant).map(|(_, _, advice)| *advice))?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_model_wrote_and_filters_are_recognized() {
        for (status, text) in [
            (500, "failed to parse input at pos 3: <x"),
            (500, "failed to parse tool call arguments as json"),
            (500, "error parsing tool call: raw='{'"),
            (400, "tool_use_failed"),
        ] {
            assert!(is_unparsed(status, text) && !is_unparsed(503, text), "{text}");
        }
        for text in ["content_filter", "content_policy_violation", "code: invalid_prompt"] {
            assert!(is_filtered(400, text) && !is_filtered(500, text), "{text}");
        }
    }

    #[test]
    fn limits_that_do_not_pass_are_told_from_rates() {
        for text in [
            "insufficient_quota",
            "tokens per day (tpd): limit 8",
            "your balance is 0. please recharge.",
            "you are using a trial key, which is limited to 1000 api calls / month.",
            "you've reached your weekly usage limit",
            "budget has been exceeded! current cost: 10.2, max budget: 10.0",
            "request too large for small on tokens per min (tpm): limit 30000, requested 46921.",
        ] {
            assert!(is_final(429, text, AskedWait::None), "{text}");
        }
        for text in [
            "generaterequestsperminuteperproject",
            "please check your plan and billing details",
            "slow down",
            "limited to 10 api calls / minute",
        ] {
            assert!(!is_final(429, text, AskedWait::None) && is_final(429, text, AskedWait::Long), "{text}");
        }
        assert!(!is_final(429, "requests per day (rpd). please try again in 8.64s.", AskedWait::Short));
        for text in ["insufficient_quota", "quotaid: generaterequestsperdayperprojectpermodel-freetier"] {
            assert!(is_final(429, text, AskedWait::Short), "{text}");
        }
        assert!(
            is_final(500, "tools param requires --jinja flag", AskedWait::None) && is_final(501, "", AskedWait::Short)
        );
        assert!(!is_final(500, "out of memory", AskedWait::None) && !is_final(503, "overloaded", AskedWait::Long));
    }

    #[test]
    fn a_refused_parameter_is_answered_with_its_setting() {
        let body = json!({"seed": 1, "temperature": 0, "tools": []});
        assert_eq!(advice(400, "seed: extra inputs are not permitted", &body), Some("set `seed = false`"));
        assert_eq!(advice(400, "'temperature' does not support 0", &body), Some("leave out `temperature`"));
        assert_eq!(advice(400, "unknown name \"top_p\"", &body), None);
        assert_eq!(advice(400, "the seed vault burned down", &body), None);
        assert!(advice(404, "not found", &body).is_some_and(|advice| advice.contains("`base_url`")));
        for text in ["<html>413 request entity too large", "maximum request body size 1048576 exceeded", ""] {
            assert!(advice(413, text, &body).is_some_and(|advice| advice.contains("proxy")), "{text}");
        }
        assert_eq!(advice(413, "request too large: limit 6000 tokens per minute, requested 9000", &body), None);
        for text in ["no such model", "code: deploymentnotfound", "no endpoints found matching your data policy"] {
            assert_eq!(advice(404, text, &body), None, "{text}");
        }
        for (status, text) in [
            (404, "no endpoints found that support tool use."),
            (400, "only user, assistant and system roles are supported, got tool."),
        ] {
            assert!(advice(status, text, &body).is_some_and(|advice| advice.contains("\"prompt\"")), "{text}");
        }
        assert_eq!(advice(400, "`temperature` is deprecated for this model.", &body), Some("leave out `temperature`"));
        let thinking = json!({"messages": [], "tools": []});
        let text = "messages.1.content.0.type: expected `thinking` or `redacted_thinking`, but found `tool_use`.";
        assert!(advice(400, text, &thinking).is_some_and(|advice| advice.contains("--opening natural")));
    }
}
