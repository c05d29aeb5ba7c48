//! Refusals of a conversation that does not fit the model's context, by the words of many servers.

use super::wordings::{Wording, says};

/// The statuses of errors about the context length. With 200 and 502, gateways pass on errors of others.
const TOO_LONG_STATUSES: [u16; 6] = [200, 400, 413, 422, 500, 502];

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
    // DashScope; Volcengine; Qianfan.
    &["range of input length"],
    &["exceed max message tokens"],
    &["max input characters"],
    // LM Studio.
    &["tokens to keep from the initial prompt"],
    // Kimi, for the bytes of a request.
    &["message size", "exceed"],
    // Chinese: the context or the input is over its limit.
    &["上下文", "超"],
    &["超", "上下文"],
    &["输入", "过长"],
    &["超", "最大长度"],
    &["超", "最大输入"],
    // Japanese, Russian.
    &["トークン", "上限を超え"],
    &["слишком длинн"],
];

/// Errors that are not about the context length, whatever else they say: limits on a rate.
const RATE: &[Wording] = &[
    &["rate limit"],
    &["rate_limit"],
    &["per minute"],
    &["per min"],
    &["(tpm)"],
    &["per day"],
    // Bedrock.
    &["throttl"],
    &["please wait"],
];

/// Names of lengths, in refusals that [`TOO_LONG`] does not have.
const LENGTHS: &[Wording] = &[
    &["token"],
    &["prompt"],
    &["context"],
    &["sequence"],
    &["input", "length"],
    &["messages", "length"],
    &["message was too long"],
    &["current length"],
];

/// Words for more than there is room for.
const EXCESS: &[Wording] = &[
    &["exceed"],
    &["too long"],
    &["too large"],
    &["too many"],
    &["longer than"],
    &["larger than"],
    &["greater than"],
    &["limit is"],
    &["limit of"],
    &["maximum", "is"],
    &[">= max"],
    &["超"],
];

/// Words of refusals of something else, in which both may occur: the limit on output, tools, names, other content, money,
/// a failing server.
const OTHER_LIMITS: &[Wording] = &[
    &["max_tokens"],
    &["max_new_tokens"],
    &["maximum tokens you requested"],
    &["cache_key"],
    &["you have reached"],
    &["stop_sequence"],
    &["max_output_tokens"],
    &["max_completion_tokens"],
    &["maxoutputtokens"],
    &["output token"],
    &["completion token"],
    &["tool"],
    &["function"],
    &["schema"],
    &["string too long"],
    &["array too long"],
    &["string_above_max_length"],
    &["string_too_long"],
    &["should have at most"],
    &["image"],
    &["audio"],
    &["video"],
    &["file"],
    &["seed"],
    &["temperature"],
    &["top_p"],
    &["stop sequence"],
    &["metadata"],
    &["concurren"],
    &["quota"],
    &["credit"],
    &["afford"],
    &["budget"],
    &["billing"],
    &["timeout"],
    &["timed out"],
    &["deadline"],
    &["memory"],
    &["api key"],
    &["expired"],
    &["header"],
    &["policy"],
    &["flagged"],
];

/// Returns true if a text says that the conversation is too long for the model.
pub(super) fn is_too_long(status: u16, text: &str) -> bool {
    TOO_LONG_STATUSES.contains(&status)
        && !says(text, RATE)
        && (says(text, TOO_LONG) || says_too_long(status, text) && !says(text, OTHER_LIMITS))
}

/// Returns true if a text says that a length exceeds another one. A server that failed has to name the length of a sequence.
fn says_too_long(status: u16, text: &str) -> bool {
    let is_refusal = matches!(status, 400 | 413 | 422);
    (is_refusal || status == 500 && text.contains("length")) && says(text, LENGTHS) && says(text, EXCESS)
}

#[cfg(test)]
mod tests {
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
            (400, "total message size 10176584 exceeds limit 2097152"),
            (400, "入力トークン数が上限を超えています"),
            (500, "слишком длинный запрос: 9 токенов при пределе 8"),
            (502, "badgatewayerror: this model's maximum context length is 8 tokens"),
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
    fn a_length_above_another_one_is_recognized_in_words_that_no_row_has() {
        for (status, text) in [
            (413, "request body too large for small-mini model. max size: 4000 tokens."),
            (400, "validationexception: input exceeds the max input token limit"),
            (400, "requested tokens (9012) exceeds the model's limit (8192)"),
            (400, "current length is 140614 while limit is 131072"),
            (400, "your message was too long and could not be processed (2084 > 2048)."),
            (400, "this model has a context limit of 16384 tokens; your prompt is 20000 tokens"),
            (400, "input_ids size (9000) exceeds max length (4096)"),
            (500, "prompt sequence length is greater than 4096"),
            (500, "input sequence_length (9000) is >= max_length (4096)"),
            (400, "prompt 超长"),
            (400, "total tokens of image and text exceed max message tokens"),
        ] {
            assert!(is_too_long(status, text) && !is_too_long(429, text), "{text}");
        }
        for text in [
            "throttlingexception: too many tokens, please wait before trying again.",
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
            "invalid 'tools': array too long. expected an array with maximum length 128",
            "messages.1.content.0.image.source.base64: image exceeds 5 mb maximum",
            "this request requires more credits. you requested up to 65536 tokens, but can only afford 1000",
            "input should be greater than or equal to 0",
            "the number of messages exceeds the limit of 100",
            "top_logprobs exceeds the maximum of 20",
            "the maximum tokens you requested exceeds the model limit of 8192",
            "prompt_cache_key is too long",
            "you have reached your limit of 50 prompts",
            "your authentication token has expired",
            "context deadline exceeded (client.timeout exceeded while awaiting headers)",
        ] {
            assert!([200, 400, 413, 422, 500].iter().all(|status| !is_too_long(*status, text)), "{text}");
        }
    }
}
