//! The meaning of refusals, by the words of many servers. Sources are the servers' own code and documents, and public reports
//! of what they sent.

use serde_json::Value;

/// Parts of a text in lower case that occur in this order.
type Wording = &'static [&'static str];

/// Returns true if the text has one of the wordings.
fn says(text: &str, wordings: &[Wording]) -> bool {
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

/// The statuses of errors about the context length. With 200, gateways pass on errors of others.
const TOO_LONG_STATUSES: [u16; 5] = [200, 400, 413, 422, 500];

/// Errors about the context length.
const TOO_LONG: &[Wording] = &[
    // Codes and types: OpenAI and others; gateways; LiteLLM; llama.cpp; Anthropic; Copilot; z.ai.
    &["context_length_exceeded"],
    &["context_window_exceeded"],
    &["contextwindowexceeded"],
    &["exceed_context_size"],
    &["request_too_large"],
    &["model_max_prompt_tokens_exceeded"],
    &["input_too_long"],
    &["prompt_too_long"],
    &["tokens_limit_reached"],
    // OpenAI, for a single message. Names of tools and ids have limits of their own.
    &["content", "string too long"],
    &["'input'", "string too long"],
    &["output'", "string too long"],
    // OpenAI, MiniMax, Cloudflare.
    &["exceed", "context window"],
    &["context window", "exceed"],
    // Ollama, TGI, Together.
    &["exceed", "context length"],
    &["context length", "exceed"],
    // llama.cpp; ds4.
    &["exceed", "context size"],
    &["context size", "exceed"],
    &["configured context size"],
    // Anthropic, if prompt and output together are too long.
    &["exceed", "context limit"],
    &["context limit", "exceed"],
    // OpenAI before error codes, vLLM, OpenRouter, DeepSeek, Mistral, Gemini's token counts.
    &["maximum context"],
    &["max context"],
    &["max_context"],
    // LM Studio.
    &["context length of only"],
    &["greater than the context length"],
    // SGLang, Together.
    &["longer than", "context length"],
    &["too long", "context"],
    &["not fit", "context"],
    &["larger than", "context"],
    &["context overflow"],
    // vLLM, if the prompt alone is too long.
    &["longer than the maximum model length"],
    // xAI.
    &["maximum prompt length"],
    // TensorRT-LLM; ModelScope; MLC.
    &["maximum input length"],
    &["maximum allowed input length"],
    &["max input length"],
    &["model input length limit"],
    // ExLlama; LMDeploy.
    &["max_num_tokens"],
    &["max_seq_len"],
    &["session_len"],
    // Kimi.
    &["model token limit"],
    // Gemini; Copilot; Vertex.
    &["token count", "exceed"],
    &["token count", "only supports"],
    &["exceeds the maximum number of tokens"],
    &["number of input tokens", "exceed"],
    &["input tokens", "exceed"],
    &["prompt tokens", "exceed"],
    &["input length", "exceed"],
    &["prompt length", "exceed"],
    &["input size", "exceed"],
    &["tokens in the prompt", "exceed"],
    // TGI, Together.
    &["inputs", "must have less than", "tokens"],
    &["tokens", "max_new_tokens", "must be"],
    // Bedrock, Cohere, Perplexity; Anthropic; Ollama.
    &["input is too long"],
    &["input too long"],
    &["prompt is too long"],
    &["prompt too long"],
    &["prompt is too large"],
    &["input is too large"],
    &["conversation is too long"],
    &["messages are too long"],
    &["message is too long"],
    &["too many tokens"],
    &["too many input tokens"],
    &["token limit exceeded"],
    &["exceeds token limit"],
    &["more than max tokens"],
    // Groq, Cerebras.
    &["reduce the length of"],
    // z.ai.
    &["prompt exceeds max length"],
    // DashScope.
    &["range of input length"],
    // LM Studio.
    &["tokens to keep from the initial prompt"],
    // Chinese: the context or the input is over its limit.
    &["上下文", "超"],
    &["超", "上下文"],
    &["输入", "过长"],
    &["超", "最大长度"],
    &["超", "最大输入"],
];

/// Errors that are not about the context length, whatever else they say: limits on a rate.
const RATE: &[Wording] = &[&["rate limit"], &["rate_limit"], &["per minute"], &["per min"], &["(tpm)"], &["per day"]];

/// Returns true if a text says that the conversation is too long for the model.
pub(super) fn is_too_long(status: u16, text: &str) -> bool {
    TOO_LONG_STATUSES.contains(&status) && says(text, TOO_LONG) && !says(text, RATE)
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

/// Wordings of empty balances.
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
    &["余额不足"],
    &["欠费"],
];

/// Wordings of limits on a day or a month.
const LONG: &[Wording] = &[
    // Gemini; Groq; OpenRouter; Cloudflare.
    &["perday"],
    &["per day"],
    &["per-day"],
    &["per_day"],
    &["daily"],
    &["monthly"],
    &["per month"],
];

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

/// Returns true if no retry can succeed, although the status is one of a passing failure. A limit on a day passes if the
/// server asks for a wait (`has_wait`), since some count the last 24 hours.
pub(super) fn is_final(status: u16, text: &str, has_wait: bool) -> bool {
    match status {
        429 => says(text, EXHAUSTED) || !has_wait && says(text, LONG),
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
        &["tool", "function call", "jinja"],
        &["/tools"],
        "set `tools = \"prompt\"`, or start the server with its support for tools",
    ),
];

/// Returns the setting that may avoid a refusal of this request.
pub(super) fn advice(status: u16, text: &str, body: &Value) -> Option<&'static str> {
    // A model that does not exist is named.
    if matches!(status, 404 | 405) && !text.contains("model") {
        return Some("see that `base_url` is the server's address with the path of its API, without that of a request");
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

    /// Sentences as servers send them, in lower case.
    #[test]
    fn a_conversation_that_does_not_fit_is_recognized() {
        let table = [
            (400, "code: context_length_exceeded"),
            (400, "your input exceeds the context window of this model."),
            (400, "this model's maximum context length is 4096 tokens."),
            (400, "the decoder prompt (length 9) is longer than the maximum model length of 8."),
            (400, "the input (9 tokens) is longer than the model's context length (8 tokens)."),
            (400, "exceed_context_size_error"),
            (500, "context size has been exceeded."),
            (400, "the model is loaded with context length of only 8 tokens"),
            (413, "request_too_large"),
            (400, "input length and `max_tokens` exceed context limit: 4 + 5 > 8"),
            (400, "the input token count (9) exceeds the maximum number of tokens allowed (8)."),
            (400, "prompt token count of 9 exceeds the limit of 8"),
            (400, "prompt has 9 tokens, but the configured context size is 8 tokens"),
            (400, "range of input length should be [1, 8]"),
            (422, "`inputs` tokens + `max_new_tokens` must be <= 8. given: 9 `inputs` tokens and 1 `max_new_tokens`"),
            (200, "this endpoint's maximum context length is 8 tokens"),
            (413, "request body too large for a-model. max size: 8 tokens. tokens_limit_reached"),
            (400, "the sum of prompt length (9.0), query length (0) should not exceed max_num_tokens (8)"),
            (400, "the input token count is 9 but model only supports up to 8"),
            (400, "valueerror: input length of 9 exceeds maximum allowed length of 8"),
            (400, "invalid 'messages[1].content': string too long. expected a string with maximum length 8"),
            (400, "invalid 'input[3].output': string too long."),
            (400, "请求的上下文长度超过模型限制"),
            (400, "输入内容过长"),
        ];
        for (status, text) in table {
            assert!(is_too_long(status, text), "{text}");
            assert!(!is_too_long(401, text) && !is_too_long(429, text), "{text}");
        }
        for text in [
            "request entity too large",
            "request too large on tokens per minute (tpm): limit 6000, requested 9000",
            "max_tokens is too large: 9. this model supports at most 8 completion tokens",
            "context deadline exceeded",
            "no such model",
            "invalid 'tools[0].function.description': string too long. string_above_max_length",
            "invalid 'messages[2].tool_calls[0].id': string too long. expected a string with maximum length 40",
            "the input exceeds the schema's limits",
        ] {
            assert!(!is_too_long(400, text) && !is_too_long(413, text), "{text}");
        }
    }

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
        for text in ["insufficient_quota", "tokens per day (tpd): limit 8", "your balance is 0. please recharge."] {
            assert!(is_final(429, text, false), "{text}");
        }
        for text in ["generaterequestsperminuteperproject", "please check your plan and billing details", "slow down"] {
            assert!(!is_final(429, text, false), "{text}");
        }
        assert!(!is_final(429, "requests per day (rpd). please try again in 8.64s.", true));
        assert!(is_final(429, "insufficient_quota", true));
        assert!(is_final(500, "tools param requires --jinja flag", false) && is_final(501, "", true));
        assert!(!is_final(500, "out of memory", false) && !is_final(503, "overloaded", false));
    }

    #[test]
    fn a_refused_parameter_is_answered_with_its_setting() {
        let body = json!({"seed": 1, "temperature": 0, "tools": []});
        assert_eq!(advice(400, "seed: extra inputs are not permitted", &body), Some("set `seed = false`"));
        assert_eq!(advice(400, "'temperature' does not support 0", &body), Some("leave out `temperature`"));
        assert_eq!(advice(400, "unknown name \"top_p\"", &body), None);
        assert_eq!(advice(400, "the seed vault burned down", &body), None);
        assert!(advice(404, "not found", &body).is_some_and(|advice| advice.contains("`base_url`")));
        assert_eq!(advice(404, "no such model", &body), None);
    }
}
