//! Contract-aware self-healing: a validation failure says what changed since the agent learned the contract.
//!
//! The decision is made once, when the enhancer is made. Without a delta that could ever be shown it is the identity: the
//! same buffer comes back, and nothing is looked up, allocated or compared.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::block::render_block;
use super::{BlockStyle, ContractDiff, Delta, Severity};

/// What is shown, and how much of it.
#[derive(Debug, Clone)]
pub struct SelfHealingConfig {
    /// The changes, by tool.
    pub active_deltas: BTreeMap<String, ContractDiff>,
    /// Whether SAFE and COSMETIC changes are shown too.
    pub include_all_severities: bool,
    /// The most deltas in one error.
    pub max_deltas_per_error: usize,
}

impl SelfHealingConfig {
    /// Shows BREAKING and RISKY changes of `active_deltas`, at most five an error.
    pub fn new(active_deltas: BTreeMap<String, ContractDiff>) -> SelfHealingConfig {
        SelfHealingConfig { active_deltas, include_all_severities: false, max_deltas_per_error: 5 }
    }
}

/// A validation error after enrichment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelfHealing {
    /// The tool that failed.
    pub tool: String,
    /// The error with its contract block; the very text that came in when there is none.
    pub enriched: String,
    /// Whether a block was put in.
    pub injected: bool,
    /// How many deltas it has.
    pub delta_count: usize,
}

/// Enriches one XML error. Whoever has many of them makes a [`tool_enhancer`].
pub fn enrich_validation_error(error: String, tool: &str, action: &str, config: &SelfHealingConfig) -> SelfHealing {
    let deltas = shown_deltas(tool, Some(action), config);
    let enriched = if deltas.is_empty() {
        error
    } else {
        splice(error, &render_block(tool, action, &deltas, BlockStyle::Xml), BlockStyle::Xml)
    };
    SelfHealing { tool: tool.to_owned(), enriched, injected: !deltas.is_empty(), delta_count: deltas.len() }
}

/// Enriches validation errors. An engine is generic over it, and pays for what it is given: [`Identity`] leaves no instruction behind.
pub trait Enhance {
    /// What an error of `action` carries; `None` when it goes on as it is.
    fn block(&self, action: &str) -> Option<Cow<'_, Block>>;

    /// Puts what [`Enhance::block`] gave into an error.
    #[inline]
    fn put(&self, block: Option<Cow<'_, Block>>, error: String) -> String {
        match block {
            Some(block) => block.put_into(error),
            None => error,
        }
    }

    /// The error, enriched for `action`.
    #[inline]
    fn enhance(&self, error: String, action: &str) -> String {
        self.put(self.block(action), error)
    }
}

/// The enhancer of a server whose contracts are known not to move when it is built: the error comes back as it is. Where only
/// the run can tell, [`Enhancer::Identity`] does the same for the price of a branch.
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

    /// The same, decided once.
    #[inline]
    fn enhance(&self, error: String, action: &str) -> String {
        match self {
            Enhancer::Identity => error,
            Enhancer::Blocks(blocks) => blocks.enhance(error, action),
        }
    }
}

/// Enriches the validation errors of one tool.
#[derive(Debug, Clone)]
pub enum Enhancer {
    /// Nothing to tell: the error comes back as it is.
    Identity,
    /// Something to tell, at least for some actions.
    Blocks(Blocks),
}

/// The blocks of one tool, each rendered when the enhancer was made.
#[derive(Debug, Clone)]
pub struct Blocks {
    tool: String,
    by_action: BTreeMap<String, Block>,
    /// What counts for any other action: an error may name none that exists.
    global: Vec<Delta>,
    style: BlockStyle,
}

/// What the errors of one action carry.
#[derive(Debug, Clone)]
pub struct Block {
    text: String,
    style: BlockStyle,
    deltas: Vec<Delta>,
}

impl Block {
    /// The deltas in it.
    pub fn deltas(&self) -> &[Delta] {
        &self.deltas
    }

    /// How many bytes a text grows by.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Puts it into an error.
    #[inline(never)]
    fn put_into(&self, error: String) -> String {
        splice(error, &self.text, self.style)
    }
}

/// Makes the enhancer of `tool` for errors that name one of `actions`.
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
        (!deltas.is_empty()).then(|| Block { text: text(), style, deltas: owned(deltas.clone()) })
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
    /// Kept out of line, so that the identity is a test and a move.
    #[inline(never)]
    fn block(&self, action: &str) -> Option<Cow<'_, Block>> {
        if let Some(block) = self.by_action.get(action) {
            return Some(Cow::Borrowed(block));
        }
        let deltas: Vec<&Delta> = self.global.iter().collect();
        (!deltas.is_empty()).then(|| {
            let text = render_block(&self.tool, action, &deltas, self.style);
            Cow::Owned(Block { text, style: self.style, deltas: self.global.clone() })
        })
    }

    /// Out of line, too.
    #[inline(never)]
    fn enhance(&self, error: String, action: &str) -> String {
        match self.block(action) {
            Some(block) => block.put_into(error),
            None => error,
        }
    }
}

/// The deltas to show for a failing action, the worst first, cut to the limit; without one, those that are of the whole tool.
fn shown_deltas<'a>(tool: &str, action: Option<&str>, config: &'a SelfHealingConfig) -> Vec<&'a Delta> {
    let Some(diff) = config.active_deltas.get(tool) else { return Vec::new() };
    let severe = |delta: &&Delta| config.include_all_severities || delta.severity >= Severity::Risky;
    let relevant = |delta: &&Delta| match action_of(&delta.field) {
        None => true,
        Some(changed) => action == Some(changed),
    };
    diff.deltas.iter().filter(severe).filter(relevant).take(config.max_deltas_per_error).collect()
}

/// The action that a field belongs to: the whole segment after `actions.`, so that `create` is not `create_bulk`.
fn action_of(field: &str) -> Option<&str> {
    field.strip_prefix("actions.").map(|rest| rest.split('.').next().unwrap_or(rest))
}

/// Puts the block where its style wants it: before the text's closing, or at the end. Only XML can have something after its
/// closing tag, and in no other format does the tag mean anything: there it is what somebody sent.
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
