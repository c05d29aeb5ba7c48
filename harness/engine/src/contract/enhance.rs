//! Contract-aware self-healing: a validation failure shows the changes since the agent learned the contract.
//!
//! Which changes to show is decided once, when the enhancer is created. Without a delta to show, the enhancer is the
//! identity: it returns the same buffer without a lookup, allocation or comparison.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::block::render_block;
use super::diff::TOOL_FIELD;
use super::{BlockStyle, ContractDiff, Delta, Severity, ToolContract};

/// The deltas to show, and their maximum number.
#[derive(Debug, Clone)]
pub struct SelfHealingConfig {
    /// The changes, by tool.
    pub active_deltas: BTreeMap<String, ContractDiff>,
    /// True to include SAFE and COSMETIC changes.
    pub include_all_severities: bool,
    /// The maximum number of deltas in one error.
    pub max_deltas_per_error: usize,
}

impl SelfHealingConfig {
    /// Shows BREAKING and RISKY changes of `active_deltas`, at most five per error.
    pub fn new(active_deltas: BTreeMap<String, ContractDiff>) -> SelfHealingConfig {
        SelfHealingConfig { active_deltas, include_all_severities: false, max_deltas_per_error: 5 }
    }
}

/// The contract changes that the errors of a server show.
#[derive(Debug, Clone, PartialEq)]
pub struct ContractAwareness {
    /// True to include SAFE and COSMETIC changes.
    pub include_all_severities: bool,
    /// The maximum number of deltas in one error.
    pub max_deltas_per_error: usize,
    /// The contracts that agents know, by tool. For a tool that is not in it, the tool's `previous` is the known one.
    pub known_contracts: BTreeMap<String, ToolContract>,
}

impl ContractAwareness {
    /// Returns the configuration that shows these changes of `tool`.
    pub(crate) fn config(&self, tool: &str, diff: ContractDiff) -> SelfHealingConfig {
        SelfHealingConfig {
            active_deltas: BTreeMap::from([(tool.to_owned(), diff)]),
            include_all_severities: self.include_all_severities,
            max_deltas_per_error: self.max_deltas_per_error,
        }
    }
}

impl Default for ContractAwareness {
    /// Shows BREAKING and RISKY changes since `previous`, at most five per error.
    fn default() -> ContractAwareness {
        ContractAwareness { include_all_severities: false, max_deltas_per_error: 5, known_contracts: BTreeMap::new() }
    }
}

/// The result of enriching a validation error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfHealing<'e> {
    /// The tool that failed.
    pub tool: String,
    /// The error as it was given.
    pub original_error: &'e str,
    /// The error with its contract block, or the unchanged error if there is none.
    pub enriched_error: Cow<'e, str>,
    /// True if a block was inserted.
    pub injected: bool,
    /// The number of deltas in the block.
    pub delta_count: usize,
}

/// Enriches one XML error. Use [`tool_enhancer`] for many errors.
pub fn enrich_validation_error<'e>(
    error: &'e str,
    tool: &str,
    action: &str,
    config: &SelfHealingConfig,
) -> SelfHealing<'e> {
    let deltas = shown_deltas(tool, Some(action), config);
    let enriched_error = if deltas.is_empty() {
        Cow::Borrowed(error)
    } else {
        let block = render_block(tool, action, &deltas, BlockStyle::Xml);
        Cow::Owned(splice(error.to_owned(), &block, BlockStyle::Xml))
    };
    SelfHealing {
        tool: tool.to_owned(),
        original_error: error,
        enriched_error,
        injected: !deltas.is_empty(),
        delta_count: deltas.len(),
    }
}

/// An enricher of validation errors. The engine is generic over it, so that [`Identity`] compiles to no instructions.
pub trait Enhance {
    /// Returns the block for an error of `action`; `None` leaves the error unchanged.
    fn block(&self, action: &str) -> Option<Cow<'_, Block>>;

    /// Inserts the result of [`Enhance::block`] into an error.
    #[inline]
    fn put(&self, block: Option<Cow<'_, Block>>, error: String) -> String {
        match block {
            Some(block) => block.put_into(error),
            None => error,
        }
    }

    /// Returns the error enriched for `action`.
    #[inline]
    fn enhance(&self, error: String, action: &str) -> String {
        self.put(self.block(action), error)
    }
}

/// The enhancer of a server whose contracts are known at compile time not to change: it returns the error unchanged. If
/// this is only known at run time, [`Enhancer::Identity`] does the same at the cost of one branch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Identity;

impl Enhance for Identity {
    #[inline]
    fn block(&self, _: &str) -> Option<Cow<'_, Block>> {
        None
    }
}

impl Enhance for Enhancer {
    #[inline]
    fn block(&self, action: &str) -> Option<Cow<'_, Block>> {
        match self {
            Enhancer::Identity => None,
            Enhancer::Blocks(blocks) => blocks.block(action),
        }
    }

    /// Overridden to branch only once.
    #[inline]
    fn enhance(&self, error: String, action: &str) -> String {
        let mut enriched = error;
        if let Enhancer::Blocks(blocks) = self {
            blocks.enrich(&mut enriched, action);
        }
        enriched
    }
}

/// The enhancer of one tool, selected at run time.
#[derive(Debug, Clone)]
pub enum Enhancer {
    /// No deltas to show: returns the error unchanged.
    Identity,
    /// Deltas to show for at least one action.
    Blocks(Blocks),
}

/// The blocks of one tool, rendered when the enhancer is created.
#[derive(Debug, Clone)]
pub struct Blocks {
    tool: String,
    by_action: BTreeMap<String, Block>,
    /// The deltas shown for any other action, because an error may name no existing action.
    global: Vec<Delta>,
    style: BlockStyle,
}

/// The rendered deltas for the errors of one action.
#[derive(Debug, Clone)]
pub struct Block {
    tool: String,
    action: String,
    text: String,
    style: BlockStyle,
    deltas: Vec<Delta>,
}

impl Block {
    /// Returns the deltas.
    pub fn deltas(&self) -> &[Delta] {
        &self.deltas
    }

    /// Returns the number of bytes that the block adds to a text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    #[inline(never)]
    fn put_into(&self, error: String) -> String {
        if self.style.is_json() && self.style.closing().is_some_and(|closing| !error.ends_with(closing)) {
            // The error is one line of text, such as the one of a tool that does not exist.
            let deltas: Vec<&Delta> = self.deltas.iter().collect();
            let text = render_block(&self.tool, &self.action, &deltas, BlockStyle::Text);
            return splice(error, &text, BlockStyle::Text);
        }
        splice(error, &self.text, self.style)
    }
}

/// Creates the enhancer of `tool` for errors that name one of `actions`.
pub fn tool_enhancer<'a>(
    tool: &str,
    actions: impl IntoIterator<Item = &'a str>,
    config: &SelfHealingConfig,
    style: BlockStyle,
) -> Enhancer {
    let owned = |deltas: Vec<&Delta>| deltas.into_iter().cloned().collect::<Vec<_>>();
    let block = |action: &str| {
        let deltas = shown_deltas(tool, Some(action), config);
        let text = || render_block(tool, action, &deltas, style);
        (!deltas.is_empty()).then(|| Block {
            tool: tool.to_owned(),
            action: action.to_owned(),
            text: text(),
            style,
            deltas: owned(deltas.clone()),
        })
    };
    let by_action: BTreeMap<String, Block> =
        actions.into_iter().filter_map(|action| Some((action.to_owned(), block(action)?))).collect();
    let global = owned(shown_deltas(tool, None, config));
    if by_action.is_empty() && global.is_empty() {
        return Enhancer::Identity;
    }
    Enhancer::Blocks(Blocks { tool: tool.to_owned(), by_action, global, style })
}

impl Blocks {
    /// Kept out of line, so that the identity is only a test and a move.
    #[inline(never)]
    fn block(&self, action: &str) -> Option<Cow<'_, Block>> {
        if let Some(block) = self.by_action.get(action) {
            return Some(Cow::Borrowed(block));
        }
        let deltas: Vec<&Delta> = self.global.iter().collect();
        (!deltas.is_empty()).then(|| {
            let text = render_block(&self.tool, action, &deltas, self.style);
            let (tool, action) = (self.tool.clone(), action.to_owned());
            Cow::Owned(Block { tool, action, text, style: self.style, deltas: self.global.clone() })
        })
    }

    /// Kept out of line for the same reason. It takes a reference, so that the identity moves the error only once.
    #[cold]
    #[inline(never)]
    fn enrich(&self, error: &mut String, action: &str) {
        if let Some(block) = self.block(action) {
            *error = block.put_into(std::mem::take(error));
        }
    }
}

/// Returns the deltas to show for a failing action, by descending severity and limited in number; without an action,
/// those of the whole tool.
fn shown_deltas<'a>(tool: &str, action: Option<&str>, config: &'a SelfHealingConfig) -> Vec<&'a Delta> {
    let Some(diff) = config.active_deltas.get(tool) else { return Vec::new() };
    let is_removed = |action: &str| {
        let is_removal = |delta: &Delta| delta.severity == Severity::Breaking && delta.current.is_none();
        diff.deltas.iter().any(|delta| is_removal(delta) && delta.field.strip_prefix("actions.") == Some(action))
    };
    // The successor of a renamed action or tool is an added one.
    let with_added = action.is_some_and(is_removed);
    let is_successor = |delta: &Delta| {
        let is_action = || delta.field.strip_prefix("actions.").is_some_and(|name| !name.contains('.'));
        delta.previous.is_none() && (with_added && is_action() || delta.field.starts_with(TOOL_FIELD))
    };
    let severe =
        |delta: &&Delta| config.include_all_severities || delta.severity >= Severity::Risky || is_successor(delta);
    let relevant = |delta: &&Delta| match action_of(&delta.field) {
        None => true,
        Some(changed) => action == Some(changed) || is_successor(delta),
    };
    diff.deltas.iter().filter(severe).filter(relevant).take(config.max_deltas_per_error).collect()
}

/// Returns the action that a field belongs to. The whole segment after `actions.` is compared, so that `create` does
/// not match `create_bulk`.
fn action_of(field: &str) -> Option<&str> {
    field.strip_prefix("actions.").map(|rest| rest.split('.').next().unwrap_or(rest))
}

/// Inserts the block before the text's closing, or at the end. Only in XML can text follow the closing tag; in other
/// formats, an occurrence of it is untrusted content.
fn splice(mut error: String, block: &str, style: BlockStyle) -> String {
    let offset = style.closing().and_then(|closing| match style {
        BlockStyle::Xml => error.rfind(closing),
        _ => error.strip_suffix(closing).map(str::len),
    });
    match offset {
        Some(at) => error.insert_str(at, block),
        None if style == BlockStyle::Omitted => {}
        None => {
            error.reserve(block.len() + 1);
            error.push('\n');
            error.push_str(block.trim_end_matches('\n'));
        }
    }
    error
}
