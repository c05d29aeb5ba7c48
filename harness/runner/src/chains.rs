//! Error chains: a failed call and the following calls of the same action, until one succeeds, the agent gives up, or
//! the episode ends.
//!
//! Chains are derived from the tool and action of the rows alone, so that they have the same meaning for every agent. A
//! call without a valid action opens a chain of its tool, which adopts the action of the next call that has one.

use std::sync::Arc;

use healbench_protocol::ErrorClass;
use healbench_record::CallRecord;

struct OpenChain {
    chain: u32,
    tool: Arc<str>,
    action: Option<Arc<str>>,
}

/// Assigns chain numbers to the calls of one episode.
pub(crate) fn number_chains(calls: &mut [CallRecord]) {
    let mut open: Vec<OpenChain> = Vec::new();
    let mut chains = 0;
    for call in calls {
        let routed = call.error_class.as_ref().is_none_or(ErrorClass::is_routed);
        let continues = |chain: &OpenChain| {
            let same_action = !routed || chain.action.is_none() || chain.action == call.action;
            chain.tool == call.tool && same_action
        };
        // The most recent chain first.
        let at = open.iter().rposition(continues);
        match (at, call.is_error) {
            (Some(at), false) => call.chain = Some(open.remove(at).chain),
            (Some(at), true) => {
                call.chain = Some(open[at].chain);
                if routed && open[at].action.is_none() {
                    open[at].action.clone_from(&call.action);
                }
            }
            (None, true) => {
                chains += 1;
                call.chain = Some(chains);
                let action = call.action.clone().filter(|_| routed);
                open.push(OpenChain { chain: chains, tool: call.tool.clone(), action });
            }
            (None, false) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chain numbers of calls given as `tool.action` and error class.
    fn chain_numbers(calls: &[(&str, Option<&str>)]) -> Vec<Option<u32>> {
        let record = |(name, class): &(&str, Option<&str>)| {
            let (tool, action) = name.split_once('.').unwrap_or((name, ""));
            CallRecord {
                tool: tool.into(),
                action: (!action.is_empty()).then(|| action.into()),
                is_error: class.is_some(),
                error_class: class.map(Into::into),
                ..CallRecord::default()
            }
        };
        let mut records: Vec<CallRecord> = calls.iter().map(record).collect();
        number_chains(&mut records);
        records.iter().map(|call| call.chain).collect()
    }

    #[test]
    fn a_chain_goes_on_until_its_action_succeeds() {
        let bad = Some("VALIDATION");
        let calls = [("a.x", bad), ("a.x", bad), ("a.x", None), ("a.x", None), ("a.x", bad)];
        assert_eq!(chain_numbers(&calls), [Some(1), Some(1), Some(1), None, Some(2)]);
    }

    #[test]
    fn a_side_call_belongs_to_no_chain() {
        let calls = [("a.get", Some("NOT_FOUND")), ("a.list", None), ("a.get", None)];
        assert_eq!(chain_numbers(&calls), [Some(1), None, Some(1)]);
    }

    #[test]
    fn a_failing_side_call_is_a_chain_of_its_own() {
        let calls = [("a.get", Some("NOT_FOUND")), ("a.list", Some("VALIDATION")), ("a.list", None), ("a.get", None)];
        assert_eq!(chain_numbers(&calls), [Some(1), Some(2), Some(2), Some(1)]);
    }

    #[test]
    fn an_unknown_action_is_fixed_by_the_next_action_of_the_tool() {
        let calls = [
            ("a.crate", Some("UNKNOWN_ACTION")),
            ("a", Some("MISSING_DISCRIMINATOR")),
            ("b.x", None),
            ("a.create", Some("VALIDATION")),
            ("a.list", None),
            ("a.create", None),
        ];
        assert_eq!(chain_numbers(&calls), [Some(1), Some(1), None, Some(1), None, Some(1)]);
    }
}
