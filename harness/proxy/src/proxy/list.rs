//! The list of tools: the client's questions for it, and the proxy's own.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use healbench_mcp::{RpcError, to_line};
use serde_json::{Value, json};

use super::{Passing, Shared, State};
use crate::log::{Entry, hash};

/// The time in which the server may answer the first question for its tools.
const LIST_TIME: Duration = Duration::from_secs(5);

/// The requests for pages of the list that were not answered yet, by their ids as JSON.
#[derive(Default)]
pub(super) struct Questions {
    open: HashMap<String, Question>,
    /// True if a call has waited for an answer in vain. No other call waits until the server answers one.
    is_silent: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Question {
    /// It asks for the first page.
    is_first: bool,
    /// The proxy asks, and the client gets no answer.
    is_own: bool,
}

impl Questions {
    /// The client asks for a page.
    pub(super) fn pass(&mut self, id: &Value, params: &Value) {
        let is_first = params.get("cursor").is_none_or(Value::is_null);
        self.open.insert(id.to_string(), Question { is_first, is_own: false });
    }

    pub(super) fn cancel(&mut self, id: &str) {
        self.open.remove(id);
    }

    /// Returns the question that is answered.
    pub(super) fn answered(&mut self, id: &str) -> Option<Question> {
        let question = self.open.remove(id)?;
        self.is_silent = false;
        Some(question)
    }
}

impl Shared {
    /// Asks the server for its tools if they are not known, and waits for them.
    pub(super) fn learn_tools(&self) {
        let mut state = self.state();
        if state.tools.is_settled() || state.questions.is_silent {
            return;
        }
        // The client may have asked already.
        if state.questions.open.is_empty() {
            let line = ask(&mut state, None);
            drop(state);
            self.server.write(&line);
            state = self.state();
        }
        let wait = |state: &mut State| !state.tools.is_settled() && !state.questions.open.is_empty();
        let Ok((mut state, waited)) = self.listed.wait_timeout_while(state, LIST_TIME, wait) else { return };
        // Without an answer the call passes unguarded.
        state.questions.is_silent |= waited.timed_out();
    }

    /// Reads a page of the list of tools. An answer to the proxy's own question does not pass.
    pub(super) fn listed(
        self: &Arc<Shared>,
        mut state: MutexGuard<'_, State>,
        question: Question,
        outcome: &Result<Value, RpcError>,
    ) -> Passing {
        let next = match outcome {
            Ok(page) => state.tools.read_page(question.is_first, page),
            Err(_) => {
                // Asked again at each call, it would refuse each time.
                if question.is_own {
                    state.tools.settle();
                }
                None
            }
        };
        let is_endless = state.counts.asked >= MAX_QUESTIONS;
        if is_endless && question.is_own && next.is_some() {
            state.tools.settle();
        }
        if let Some(cursor) = next.filter(|_| question.is_own && !is_endless) {
            let line = ask(&mut state, Some(&cursor));
            let shared = Arc::clone(self);
            // Not here: a server that does not read before its output is read would wait for ever.
            thread::spawn(move || shared.server.write(&line));
        }
        drop(state);
        self.listed.notify_all();
        if question.is_own { Passing::Nothing } else { Passing::AsItIs }
    }
}

/// The most questions of the proxy's own in a session: a server may name a next page for ever.
const MAX_QUESTIONS: u64 = 10_000;

/// Returns a request of the proxy's own for a page of the tools.
fn ask(state: &mut State, cursor: Option<&str>) -> Vec<u8> {
    state.counts.asked += 1;
    // The client, or another proxy before this one, has ids of its own. The keys of a `RandomState` are random.
    let id = format!("healbench-proxy-{:016x}", RandomState::new().hash_one(state.counts.asked));
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    state.questions.open.insert(json!(id).to_string(), Question { is_first: cursor.is_none(), is_own: true });
    let line = to_line(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params}));
    state.log.write(&Entry::Asked { line: hash(&line) });
    line
}
