//! The client between an agent and the guardrails: the outermost layer but for the response cache.

use healbench_core::{EnvironmentError, ToolCall};
use healbench_engine::{ClientProfile, Failure, GuardedReply, Routing, Sending, ShownBlock};

/// The reply to a call that was made through a client.
pub enum ClientReply {
    OfServer {
        /// The reply of the guardrails.
        answer: GuardedReply,
        /// The content that the agent is shown in the place of the reply's own.
        shown: Vec<String>,
    },
    /// The client answered itself, and the server knows nothing of the call.
    OfClient {
        answer: GuardedReply,
        /// The top-level arguments that its text names.
        named_fields: Option<Vec<String>>,
    },
}

/// Makes a call through a client. `ask` passes the call that the client sends to the guardrails.
///
/// # Errors
/// The error of `ask`.
pub fn reply_through_client(
    client: &ClientProfile,
    call: &ToolCall,
    ask: impl FnOnce(&ToolCall) -> Result<GuardedReply, EnvironmentError>,
) -> Result<ClientReply, EnvironmentError> {
    let texts = |shown: Vec<ShownBlock>| shown.into_iter().map(ShownBlock::into_text).collect::<Vec<_>>();
    let tool = || call.tool.clone();
    Ok(match client.send(call) {
        Sending::Sent(sent) => {
            let answer = ask(&sent)?;
            let shown = texts(client.show(&sent, &answer.call_result()));
            ClientReply::OfServer { answer, shown }
        }
        Sending::UnknownTool(shown) => {
            let failure = Failure::Routing(Routing::UnknownTool { tool: tool(), available: client.tool_names() });
            ClientReply::OfClient { answer: GuardedReply::of_client(failure, texts(shown)), named_fields: None }
        }
        Sending::InvalidArguments { shown, named } => {
            let failure = Failure::Validation { tool: tool(), action: tool(), issues: Vec::new() };
            let answer = GuardedReply::of_client(failure, texts(shown));
            ClientReply::OfClient { answer, named_fields: Some(named) }
        }
    })
}
