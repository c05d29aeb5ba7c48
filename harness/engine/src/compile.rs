//! The parts of an engine that do not depend on a call, computed once.

use std::collections::BTreeMap;
use std::sync::Arc;

use healbench_core::{ActionSpec, Guardrails, ToolSpec};

use crate::contract::{
    BlockStyle, ContractAwareness, Enhancer, ToolContract, diff_contracts, removed_tool, tool_enhancer,
};
use crate::definition::{Action, Handler, Presenter, Tool};
use crate::failure::Failure;
use crate::render::{ActionDoc, FormatRenderer, TemplateError};
use crate::schema::{InputSchema, RowSchema, SchemaError, upgrade_schema};

#[derive(Debug)]
pub(crate) struct CompiledTool {
    pub(crate) name: String,
    pub(crate) discriminator: Option<String>,
    pub(crate) actions: Vec<CompiledAction>,
}

#[derive(Debug)]
pub(crate) struct CompiledAction {
    pub(crate) action: Action,
    pub(crate) schemas: Arc<ActionSchemas>,
    /// The action's presenter, if it has one.
    pub(crate) presenter: Option<Presenter>,
    /// The warning that accompanies results.
    pub(crate) warning: Option<Failure>,
    pub(crate) doc: ActionDoc,
}

/// The compiled schemas of an action. They do not depend on the condition.
#[derive(Debug)]
pub(crate) struct ActionSchemas {
    /// `None` if a server's schema does not compile; its calls are passed on.
    pub(crate) input: Option<InputSchema>,
    /// The schema that the rows of a list must match.
    pub(crate) egress: Option<RowSchema>,
    /// The schema that any other result must match; `None` if it does not compile either.
    pub(crate) output: Option<RowSchema>,
}

/// The compiled schemas of a list of tools, which the engines of several conditions share.
#[derive(Debug)]
pub struct ToolSchemas(Vec<Vec<Arc<ActionSchemas>>>);

impl ToolSchemas {
    /// Compiles the schemas of `tools`.
    ///
    /// # Errors
    /// [`CompileError::Schema`] for the first one that is invalid.
    pub fn compile(tools: &[Tool]) -> Result<ToolSchemas, CompileError> {
        let of_action = |tool: &Tool, action: &Action| {
            let discriminator = tool.discriminator.as_deref().map(|field| (field, action.name.as_str()));
            let failed = |source| CompileError::Schema { tool: tool.name.clone(), action: action.name.clone(), source };
            let input = Some(InputSchema::compile(&action.input, discriminator).map_err(failed)?);
            // Only lists are presented.
            let is_list = matches!(action.handler, Handler::Select { .. });
            let schema = action.presenter.as_ref().and_then(|presenter| presenter.egress.as_ref());
            let egress = schema.filter(|_| is_list).map(RowSchema::compile).transpose().map_err(failed)?;
            let output = schema.filter(|_| !is_list).and_then(|schema| RowSchema::compile(schema).ok());
            Ok::<_, CompileError>(Arc::new(ActionSchemas { input, egress, output }))
        };
        let of_tool = |tool: &Tool| tool.actions.iter().map(|action| of_action(tool, action)).collect();
        Ok(ToolSchemas(tools.iter().map(of_tool).collect::<Result<_, _>>()?))
    }
}

/// The reason why an engine cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// An input schema is invalid.
    #[error("tool `{tool}`, action `{action}`: {source}")]
    Schema {
        /// The tool.
        tool: String,
        /// The action.
        action: String,
        /// The problem with the schema.
        source: SchemaError,
    },
    /// The template of the error format is invalid.
    #[error(transparent)]
    Template(#[from] TemplateError),
}

/// Compiles tools, whose schemas are given.
pub(crate) fn compile_tools(tools: &[Tool], schemas: &ToolSchemas, renderer: &FormatRenderer) -> Vec<CompiledTool> {
    let of_action = |tool: &Tool, (action, schemas): (&Action, &Arc<ActionSchemas>)| CompiledAction {
        action: action.clone(),
        schemas: Arc::clone(schemas),
        presenter: action.presenter.clone(),
        warning: action.warning.clone().map(Failure::Tool),
        doc: renderer.action_doc(tool, action),
    };
    let of_tool = |(tool, schemas): (&Tool, &Vec<_>)| CompiledTool {
        name: tool.name.clone(),
        discriminator: tool.discriminator.clone(),
        actions: tool.actions.iter().zip(schemas).map(|action| of_action(tool, action)).collect(),
    };
    tools.iter().zip(&schemas.0).map(of_tool).collect()
}

/// Compiles a tool of a server.
pub(crate) fn compile_spec(spec: &ToolSpec, renderer: &FormatRenderer) -> CompiledTool {
    let action = |action: &ActionSpec| Action {
        name: action.name.clone(),
        description: action.description.clone(),
        input: upgrade_schema(&action.input_schema),
        ..Action::default()
    };
    let tool = Tool {
        name: spec.name.clone(),
        description: spec.description.clone(),
        actions: spec.actions.iter().map(action).collect(),
        ..Tool::default()
    };
    let schemas = |action: &Action| ActionSchemas {
        input: InputSchema::compile(&action.input, None).ok(),
        egress: None,
        output: None,
    };
    let compile = |action: &Action| CompiledAction {
        action: action.clone(),
        schemas: Arc::new(schemas(action)),
        presenter: None,
        warning: None,
        doc: renderer.action_doc(&tool, action),
    };
    let actions = tool.actions.iter().map(compile).collect();
    CompiledTool { name: tool.name, discriminator: None, actions }
}

/// Creates the enhancer for the contract guardrail.
pub(crate) fn contract_enhancer(
    tool: &Tool,
    guardrails: Guardrails,
    awareness: &ContractAwareness,
    style: BlockStyle,
) -> Enhancer {
    if !guardrails.contract {
        return Enhancer::Identity;
    }
    let locked = awareness.known_contracts.get(&tool.name).cloned();
    let Some(known) = locked.or_else(|| tool.previous.as_deref().map(ToolContract::from_tool)) else {
        return Enhancer::Identity;
    };
    let config = awareness.config(&tool.name, diff_contracts(&known, &ToolContract::from_tool(tool)));
    // Calls of actions that no longer exist get their deltas too.
    let current = tool.actions.iter().map(|action| action.name.as_str());
    let actions = current.chain(known.surface.actions.keys().map(String::as_str));
    tool_enhancer(&tool.name, actions, &config, style)
}

/// Creates the enhancers for errors about known tools that no longer exist, by name: those of a lockfile, and the previous names of
/// tools.
pub(crate) fn enhancers_of_removed_tools(
    tools: &[Tool],
    guardrails: Guardrails,
    awareness: &ContractAwareness,
    style: BlockStyle,
) -> BTreeMap<String, Enhancer> {
    let known = &awareness.known_contracts;
    let added: Vec<ToolContract> =
        tools.iter().filter(|tool| !known.contains_key(&tool.name)).map(ToolContract::from_tool).collect();
    let is_removed = |name: &str| tools.iter().all(|tool| tool.name != name);
    let renamed = tools.iter().filter(|tool| guardrails.contract && !known.contains_key(&tool.name));
    let renamed = renamed.filter_map(|tool| {
        let name = tool.previous_name().filter(|name| is_removed(name) && !known.contains_key(*name))?;
        let previous = ToolContract::from_tool(tool.previous.as_deref()?);
        let config = awareness.config(name, removed_tool(&previous, &[ToolContract::from_tool(tool)]));
        Some((name.to_owned(), tool_enhancer(name, [name], &config, style)))
    });
    let removed = known.iter().filter(|(name, _)| guardrails.contract && is_removed(name));
    let enhancer = |(name, contract): (&String, &ToolContract)| {
        let config = awareness.config(name, removed_tool(contract, &added));
        (name.clone(), tool_enhancer(name, [name.as_str()], &config, style))
    };
    removed.map(enhancer).chain(renamed).collect()
}
