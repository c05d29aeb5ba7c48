//! Error chains: a failed call and the following attempts to repair it, until it is fixed, a wrong repair ends it, or the
//! episode ends.
//!
//! A chain has a tool and an action. A call without a valid action opens a chain of its tool, which adopts the action of
//! the next failing call that has one. A chain is fixed when an intended call succeeds in it, or when fewer expectations
//! are unmet after a successful call, whatever its action. Any other successful call that writes is a wrong repair, except
//! an intended call of another action. Lookups change nothing. In an episode that fails, a call of the same action that met
//! an expectation and is not the intended one was a wrong repair too.

use std::sync::Arc;

use healbench_core::{CallRecord, ChainEnd, ErrorClass, Script, Step, ToolCall, ToolSpec};
use healbench_engine::contains_all;

struct OpenChain {
    chain: u32,
    tool: Arc<str>,
    action: Option<Arc<str>>,
}

/// Returns true if the call is an intended one: it has the tool and all arguments of a step, which include its action.
/// Returns `None` without a script.
pub(crate) fn is_intended(script: &Script, call: &ToolCall) -> Option<bool> {
    (!script.steps.is_empty()).then(|| script.steps.iter().any(|step| makes(call, step)))
}

/// Returns true if the call failed as a step of the script says that it fails.
pub(crate) fn fails_by_design(script: &Script, call: &ToolCall, row: &CallRecord) -> bool {
    let class = row.error_class.as_ref().map(ErrorClass::name);
    row.fault.is_none()
        && script.steps.iter().any(|step| step.fails.is_some() && step.fails.as_deref() == class && makes(call, step))
}

/// Returns true if the call has the tool and all arguments of the step.
fn makes(call: &ToolCall, step: &Step) -> bool {
    step.intended_calls().any(|intended| {
        let (Some(given), Some(arguments)) = (call.object(), intended.object()) else { return false };
        call.tool == intended.tool && contains_all(given, arguments)
    })
}

/// Returns the step that a failed call was meant to make: of the steps that none of the calls `made` has made, those that
/// succeeded or failed by design, the first with its tool and action, else the first with its tool, else the first.
pub(crate) fn meant_step<'s, 'c>(
    script: &'s Script,
    tools: &[ToolSpec],
    made: impl Iterator<Item = &'c ToolCall> + Clone,
    call: &ToolCall,
) -> Option<&'s Step> {
    let tool = tools.iter().find(|tool| tool.name == call.tool);
    let discriminator = tool.and_then(|tool| tool.discriminator.as_deref());
    let action =
        |call: &ToolCall| discriminator.and_then(|field| call.object()?.get(field)?.as_str().map(str::to_owned));
    let sent = action(call);
    let similarity = |step: &&Step| match step.intended.tool == call.tool {
        true => 1 + u8::from(action(&step.intended) == sent),
        false => 0,
    };
    let open = script.steps.iter().filter(|step| !made.clone().any(|call| makes(call, step)));
    // `max_by_key` returns the last of equal elements, so `rev` selects the first.
    open.rev().max_by_key(similarity)
}

/// The effect of a successful call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Fewer expectations are unmet than before.
    Progress,
    Write,
    /// The call neither writes nor meets an expectation.
    Lookup,
}

/// The error chains of an episode.
#[derive(Default)]
pub(crate) struct Chains {
    open: Vec<OpenChain>,
    count: u32,
}

impl Chains {
    /// Returns true if an error is not yet repaired.
    pub(crate) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Adds the next call and sets `chain` and `chain_end` of its row. A call without an effect failed.
    ///
    /// A call belongs to the most recent open chain of its tool and action. If there is none, a call that makes progress
    /// or a wrong repair belongs to the most recent open chain.
    pub(crate) fn add(&mut self, call: &mut CallRecord, effect: Option<Effect>) {
        let routed = call.error_class.as_ref().is_none_or(ErrorClass::is_routed);
        let continues = |chain: &OpenChain| {
            let same_action = !routed || chain.action.is_none() || chain.action == call.action;
            chain.tool == call.tool && same_action
        };
        let own = self.open.iter().rposition(continues);
        let Some(effect) = effect else {
            let at = own.unwrap_or_else(|| {
                self.count += 1;
                self.open.push(OpenChain { chain: self.count, tool: call.tool.clone(), action: None });
                self.open.len() - 1
            });
            if routed && self.open[at].action.is_none() {
                self.open[at].action.clone_from(&call.action);
            }
            call.chain = Some(self.open[at].chain);
            return;
        };
        let intended = call.intended == Some(true);
        let end = match effect {
            _ if intended && own.is_some() => ChainEnd::Fixed,
            Effect::Progress => ChainEnd::Fixed,
            Effect::Write if !intended => ChainEnd::WrongRepair,
            Effect::Write | Effect::Lookup => return,
        };
        if let Some(at) = own.or(self.open.len().checked_sub(1)) {
            call.chain = Some(self.open.remove(at).chain);
            call.chain_end = Some(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_was_meant_for_a_step_that_nothing_has_made() {
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            discriminator: Some("action".to_owned()),
            actions: Vec::new(),
        };
        let tools = [tool("orders"), tool("mails")];
        let call =
            |tool: &str, action: &str, id: u32| ToolCall::new(tool, serde_json::json!({"action": action, "id": id}));
        let step = |intended: ToolCall| Step { draft: intended.clone(), intended, ..Step::default() };
        let steps = [
            call("orders", "create", 1),
            call("orders", "ship", 2),
            call("mails", "send", 3),
            call("orders", "ship", 4),
        ];
        let script = Script { steps: steps.clone().map(step).to_vec(), ..Script::default() };
        let meant = |succeeded: &[usize], sent: ToolCall| {
            let succeeded: Vec<ToolCall> = succeeded.iter().map(|at| steps[*at].clone()).collect();
            let step = meant_step(&script, &tools, succeeded.iter(), &sent)?;
            script.steps.iter().position(|known| known == step)
        };
        assert_eq!(meant(&[], call("orders", "ship", 9)), Some(1));
        assert_eq!(meant(&[1], call("orders", "ship", 9)), Some(3), "the first shipment is made");
        assert_eq!(meant(&[], call("orders", "cancel", 9)), Some(0), "no step has the action");
        assert_eq!(meant(&[0], call("letters", "send", 9)), Some(1), "no step has the tool");
        assert_eq!(meant(&[0, 1, 2, 3], call("orders", "ship", 9)), None);
    }

    /// The call of a test: `tool.action`, and what became of it.
    #[derive(Clone, Copy)]
    enum Call {
        Fails(&'static str, &'static str),
        Intended(&'static str, Effect),
        Other(&'static str, Effect),
        Unscripted(&'static str, Effect),
    }

    use Call::{Fails, Intended, Other, Unscripted};
    use Effect::{Lookup, Progress, Write};

    /// Returns the chain of each call, with `+` where it is fixed and `!` where a wrong repair ends it.
    fn chains(calls: &[Call]) -> String {
        let mut chains = Chains::default();
        let ends = calls.iter().map(|call| {
            let (name, class, effect, intended) = match *call {
                Fails(name, class) => (name, Some(class), Lookup, None),
                Intended(name, effect) => (name, None, effect, Some(true)),
                Other(name, effect) => (name, None, effect, Some(false)),
                Unscripted(name, effect) => (name, None, effect, None),
            };
            let (tool, action) = name.split_once('.').unwrap_or((name, ""));
            let mut row = CallRecord {
                tool: tool.into(),
                action: (!action.is_empty()).then(|| action.into()),
                is_error: class.is_some(),
                error_class: class.map(Into::into),
                intended,
                ..CallRecord::default()
            };
            let effect = (!row.is_error).then_some(effect);
            chains.add(&mut row, effect);
            let end = match row.chain_end {
                None => "",
                Some(ChainEnd::Fixed) => "+",
                Some(ChainEnd::WrongRepair) => "!",
            };
            row.chain.map_or("-".to_owned(), |chain| format!("{chain}{end}"))
        });
        ends.collect::<Vec<_>>().join(" ")
    }

    const BAD: &str = "VALIDATION";

    #[test]
    fn a_chain_goes_on_until_its_intended_call_succeeds() {
        let set = Intended("a.set", Write);
        assert_eq!(chains(&[Fails("a.set", BAD), Fails("a.set", BAD), set, set, Fails("a.set", BAD)]), "1 1 1+ - 2");
        // It may also change nothing that an expectation describes.
        assert_eq!(chains(&[Fails("a.list", BAD), Intended("a.list", Lookup)]), "1 1+");
    }

    #[test]
    fn a_lookup_belongs_to_no_chain() {
        let get = Fails("a.get", "NOT_FOUND");
        assert_eq!(chains(&[get, Other("a.list", Lookup), Intended("a.get", Lookup)]), "1 - 1+");
        assert_eq!(chains(&[get, Other("a.get", Lookup), get, Intended("a.get", Lookup)]), "1 - 1 1+");
    }

    #[test]
    fn a_failing_lookup_is_a_chain_of_its_own() {
        let calls =
            [Fails("a.set", "NOT_FOUND"), Fails("a.list", BAD), Intended("a.list", Lookup), Intended("a.set", Write)];
        assert_eq!(chains(&calls), "1 2 2+ 1+");
    }

    #[test]
    fn any_other_write_is_a_wrong_repair() {
        assert_eq!(chains(&[Fails("a.set", BAD), Other("a.set", Write), Intended("a.set", Write)]), "1 1! -");
        assert_eq!(chains(&[Fails("a.set", BAD), Other("b.drop", Write), Fails("a.set", BAD)]), "1 1! 2");
        // Of several chains, the most recent one.
        assert_eq!(chains(&[Fails("a.set", BAD), Fails("b.set", BAD), Other("c.drop", Write)]), "1 2 2!");
        assert_eq!(chains(&[Other("a.set", Write)]), "-");
    }

    #[test]
    fn fewer_unmet_expectations_fix_a_chain_whatever_the_call() {
        assert_eq!(chains(&[Fails("a.set", BAD), Other("a.set", Progress)]), "1 1+");
        assert_eq!(chains(&[Fails("a.release", BAD), Other("a.rollback", Progress)]), "1 1+");
        assert_eq!(chains(&[Fails("a.release", BAD), Intended("a.rollback", Progress)]), "1 1+");
    }

    #[test]
    fn without_a_script_only_the_expectations_tell_what_is_fixed() {
        let fails = Fails("a.set", BAD);
        assert_eq!(chains(&[fails, Unscripted("a.set", Progress)]), "1 1+");
        assert_eq!(chains(&[fails, Unscripted("a.list", Lookup), Unscripted("a.set", Write)]), "1 - 1!");
        let call = ToolCall::new("a", serde_json::json!({"action": "set"}));
        assert_eq!(is_intended(&Script::default(), &call), None);
    }

    #[test]
    fn an_intended_call_of_another_action_is_no_wrong_repair() {
        assert_eq!(chains(&[Fails("a.set", BAD), Intended("b.add", Write), Intended("a.set", Write)]), "1 - 1+");
    }

    #[test]
    fn an_unknown_action_is_fixed_by_an_intended_action_of_the_tool() {
        let calls = [
            Fails("a.crate", "UNKNOWN_ACTION"),
            Fails("a", "MISSING_DISCRIMINATOR"),
            Other("b.x", Lookup),
            Fails("a.create", BAD),
            Other("a.list", Lookup),
            Intended("a.create", Write),
        ];
        assert_eq!(chains(&calls), "1 1 - 1 - 1+");
        assert_eq!(chains(&[calls[0], Other("a.list", Lookup), calls[5]]), "1 - 1+");
    }
}
