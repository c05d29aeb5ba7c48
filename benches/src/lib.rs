//! The input of all benches and proofs, called the corpus: a tool with its previous and its current contract, a valid
//! and an invalid call. Also the code for paired rounds.

pub mod pairs;
pub mod reference_workload;
pub mod rounds;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use healbench_core::{ErrorFormat, Guardrails, ToolCall};
use healbench_engine::contract::{
    Block, BlockStyle, ContractDiff, Enhance, Enhancer, SelfHealingConfig, ToolContract, diff_contracts, tool_enhancer,
};
use healbench_engine::definition::{Action, Handler, Tool, WorldDef};
use healbench_engine::{Engine, World, WorldBase};
use serde_json::{Value, json};

/// A validation error in the format `fusion-xml`.
pub const ERROR: &str = "<validation_error action=\"invoices/create\">
  <field name=\"currency\">Required. You sent: (missing). Expected type: 'USD' | 'EUR' | 'GBP'.</field>
  <recovery>Fix the fields above and call the tool again. Do not explain the error.</recovery>
</validation_error>";

fn tool(input: Value) -> Tool {
    let create = Action {
        name: "create".to_owned(),
        description: "Create an invoice".to_owned(),
        input,
        handler: Handler::Return(json!("OK")),
        ..Action::default()
    };
    Tool {
        name: "invoices".to_owned(),
        description: "Manage invoices".to_owned(),
        discriminator: Some("action".to_owned()),
        actions: vec![create],
        ..Tool::default()
    }
}

/// Returns the previous tool, without a currency.
pub fn previous() -> Tool {
    tool(json!({
        "type": "object",
        "properties": {"customer": {"type": "string", "minLength": 1}, "amount_cents": {"type": "integer", "minimum": 1}},
        "required": ["customer", "amount_cents"],
    }))
}

/// Returns the current tool, which requires a currency and a status.
pub fn current() -> Tool {
    let mut tool = tool(json!({
        "type": "object",
        "properties": {
            "customer": {"type": "string", "minLength": 1},
            "amount_cents": {"type": "integer", "minimum": 1},
            "currency": {"enum": ["USD", "EUR", "GBP"]},
            "status": {"enum": ["draft", "sent"]},
        },
        "required": ["customer", "amount_cents", "currency", "status"],
    }));
    tool.previous = Some(Box::new(previous()));
    tool
}

/// No enhancer: the error is not examined. An engine with it has the cost of a call without the contract guardrail,
/// decided at compile time. Every other enhancer is compared with it.
#[derive(Debug, Clone, Copy)]
pub struct Direct;

impl Enhance for Direct {
    #[inline]
    fn block(&self, _: &str) -> Option<Cow<'_, Block>> {
        None
    }

    #[inline]
    fn put(&self, _: Option<Cow<'_, Block>>, error: String) -> String {
        error
    }
}

/// Returns the enhancer of a tool whose contract has not changed: the identity.
pub fn identity() -> Enhancer {
    enhancer(ContractDiff::default())
}

/// Returns the enhancer of a tool whose contract has changed.
pub fn with_deltas() -> Enhancer {
    enhancer(diff_contracts(&ToolContract::from_tool(&previous()), &ToolContract::from_tool(&current())))
}

fn enhancer(diff: ContractDiff) -> Enhancer {
    let config = SelfHealingConfig::new(BTreeMap::from([("invoices".to_owned(), diff)]));
    tool_enhancer("invoices", ["create"], &config, BlockStyle::Xml)
}

/// Returns an engine with all guardrails and the format `fusion-xml`.
///
/// # Panics
///
/// Never: the corpus compiles.
pub fn engine() -> Engine {
    engine_writing(&ErrorFormat::FusionXml)
}

/// Returns an engine with all guardrails.
///
/// # Panics
///
/// Panics if a template does not compile.
pub fn engine_writing(format: &ErrorFormat) -> Engine {
    Engine::new(&[current()], Guardrails::ALL, format).expect("the corpus compiles")
}

/// Returns an engine with all guardrails, `contract` as given, for a tool whose contract has not changed. The guardrail
/// must cost nothing then.
///
/// # Panics
///
/// Panics if a template does not compile.
pub fn unchanged_engine(contract: bool, format: &ErrorFormat) -> Engine {
    Engine::new(&[unchanged()], Guardrails { contract, ..Guardrails::ALL }, format).expect("the corpus compiles")
}

/// Returns the same engine with another enhancer and the format `fusion-xml`.
///
/// # Panics
///
/// Never: the corpus compiles.
pub fn unchanged_engine_with<E: Enhance>(enhancer: impl Fn() -> E) -> Engine<E> {
    let made = Engine::with_enhancers(&[unchanged()], Guardrails::ALL, &ErrorFormat::FusionXml, |_, _| enhancer());
    made.expect("the corpus compiles")
}

/// Returns the current tool with an equal previous contract.
fn unchanged() -> Tool {
    let mut tool = current();
    tool.previous = Some(Box::new(Tool { previous: None, ..tool.clone() }));
    tool
}

/// Returns an environment without tables and faults.
pub fn world() -> World {
    World::new(Arc::new(WorldBase::new(WorldDef::default())))
}

fn call(arguments: Value) -> ToolCall {
    ToolCall::new("invoices", arguments)
}

/// Returns a valid call.
pub fn valid_call() -> ToolCall {
    call(json!({"action": "create", "customer": "Acme", "amount_cents": 45_000, "currency": "USD", "status": "draft"}))
}

/// Returns a call with three invalid fields: a wrong type, a wrong option, an undeclared field.
pub fn invalid_call() -> ToolCall {
    call(json!({
        "action": "create",
        "customer": "Acme",
        "amount_cents": "forty five thousand",
        "currency": "DOLLARS",
        "status": "draft",
        "priority": "high",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_is_what_it_says() {
        assert!(matches!(identity(), Enhancer::Identity));
        assert_eq!(with_deltas().block("create").map(|block| block.deltas().len()), Some(1));
        let answer = |call| engine().call(&mut world(), &call);
        assert!(!answer(valid_call()).response.is_error);
        let failed = answer(invalid_call());
        assert_eq!(failed.response.text().matches("<field").count(), 3);
        assert_eq!(failed.contract_deltas, 1);
        let format = ErrorFormat::FusionXml;
        let [on, off] = [true, false].map(|on| unchanged_engine(on, &format).call(&mut world(), &invalid_call()));
        let without = unchanged_engine_with(|| Direct).call(&mut world(), &invalid_call());
        assert_eq!(on, off);
        assert_eq!(on, without);
        assert_eq!(on.failure, failed.failure);
    }
}
