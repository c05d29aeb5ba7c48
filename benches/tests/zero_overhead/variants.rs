//! The compared variants: no enhancer, two identities, and three regressions. Each is an enhancer that an engine of its
//! own applies to failed calls. All are compiled into this binary.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hint::black_box;

use healbench_benches::{
    Direct, ERROR, identity, invalid_call, unchanged_engine, unchanged_engine_with, valid_call, world,
};
use healbench_core::{ErrorFormat, ToolCall};
use healbench_engine::contract::{
    Block, BlockStyle, ContractDiff, Delta, Enhance, Enhancer, Identity, SelfHealingConfig, Severity, tool_enhancer,
};
use healbench_engine::{Engine, GuardedReply, World};

/// The treatment of the text of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnhancerVariant {
    /// No enhancer.
    Direct,
    /// The identity selected at compile time.
    StaticIdentity,
    /// The identity selected when the engine is created.
    RunTimeIdentity,
    /// A regression: the text is copied.
    Clone,
    /// A regression: each call looks up whether its tool has changed.
    LookUp,
    /// A regression: changes that are only cosmetic are processed.
    Cosmetic,
}

/// The work whose cost is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Passing an error through the enhancer.
    Enhance,
    /// A valid call.
    ValidCall,
    /// A failed call.
    FailedCall,
}

/// A function that passes a text through an enhancer.
pub(crate) type Path = fn(&Parts, String, &str) -> String;

/// An enhancer that copies the text instead of returning it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cloning;

impl Enhance for Cloning {
    fn block(&self, _: &str) -> Option<Cow<'_, Block>> {
        None
    }

    fn put(&self, _: Option<Cow<'_, Block>>, error: String) -> String {
        black_box(&error).clone()
    }
}

/// An enhancer that looks for changes of the tool at every call, and has only changes of another tool.
#[derive(Debug, Clone)]
pub(crate) struct LookingUp {
    changed: BTreeMap<String, Enhancer>,
}

impl Enhance for LookingUp {
    fn block(&self, action: &str) -> Option<Cow<'_, Block>> {
        self.changed.get(black_box("invoices")).and_then(|enhancer| enhancer.block(action))
    }
}

/// The data of all variants. All of it is created for each of them, so that their heaps are similar.
pub(crate) struct Parts {
    identity: Enhancer,
    looking_up: LookingUp,
    cosmetic: Enhancer,
    engines: Engines,
    valid: ToolCall,
    invalid: ToolCall,
}

/// The engines, one for each variant.
struct Engines {
    direct: Engine<Direct>,
    static_identity: Engine<Identity>,
    /// An ordinary engine with the contract guardrail and an unchanged contract.
    run_time_identity: Engine,
    cloning: Engine<Cloning>,
    looking_up: Engine<LookingUp>,
    cosmetic: Engine,
}

impl Parts {
    pub(crate) fn new() -> Parts {
        let cosmetic = cosmetic_enhancer();
        let looking_up = LookingUp { changed: BTreeMap::from([("customers".to_owned(), cosmetic.clone())]) };
        let engines = Engines {
            direct: unchanged_engine_with(|| Direct),
            static_identity: unchanged_engine_with(|| Identity),
            run_time_identity: unchanged_engine(true, &ErrorFormat::FusionXml),
            cloning: unchanged_engine_with(|| Cloning),
            looking_up: unchanged_engine_with(|| looking_up.clone()),
            cosmetic: unchanged_engine_with(|| cosmetic.clone()),
        };
        Parts { identity: identity(), looking_up, cosmetic, engines, valid: valid_call(), invalid: invalid_call() }
    }
}

/// Returns an enhancer with cosmetic changes only.
fn cosmetic_enhancer() -> Enhancer {
    let deltas = BTreeMap::from([("invoices".to_owned(), cosmetic_diff())]);
    let shows_all = SelfHealingConfig { include_all_severities: true, ..SelfHealingConfig::new(deltas) };
    tool_enhancer("invoices", ["create"], &shows_all, BlockStyle::Xml)
}

/// Returns a change of descriptions only.
fn cosmetic_diff() -> ContractDiff {
    let delta = Delta {
        field: "description".to_owned(),
        severity: Severity::Cosmetic,
        previous: Some("Manage invoices".to_owned()),
        current: Some("Manages invoices".to_owned()),
    };
    ContractDiff { deltas: vec![delta], digest_changed: true }
}

impl EnhancerVariant {
    pub(crate) const ALL: [EnhancerVariant; 6] = [
        EnhancerVariant::Direct,
        EnhancerVariant::StaticIdentity,
        EnhancerVariant::RunTimeIdentity,
        EnhancerVariant::Clone,
        EnhancerVariant::LookUp,
        EnhancerVariant::Cosmetic,
    ];

    /// Returns the name, which is also that of its function: the disassembly is searched for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            EnhancerVariant::Direct => "direct",
            EnhancerVariant::StaticIdentity => "static_identity",
            EnhancerVariant::RunTimeIdentity => "run_time_identity",
            EnhancerVariant::Clone => "clone",
            EnhancerVariant::LookUp => "look_up",
            EnhancerVariant::Cosmetic => "cosmetic",
        }
    }

    pub(crate) fn path(self) -> Path {
        match self {
            EnhancerVariant::Direct => direct,
            EnhancerVariant::StaticIdentity => static_identity,
            EnhancerVariant::RunTimeIdentity => run_time_identity,
            EnhancerVariant::Clone => clone,
            EnhancerVariant::LookUp => look_up,
            EnhancerVariant::Cosmetic => cosmetic,
        }
    }

    /// Returns the name and address of the function for its whole call, if its machine code is compared.
    pub(crate) fn whole_call(self) -> Option<(&'static str, usize)> {
        match self {
            EnhancerVariant::Direct => Some(("call_direct", call_direct as *const () as usize)),
            EnhancerVariant::StaticIdentity => {
                Some(("call_static_identity", call_static_identity as *const () as usize))
            }
            EnhancerVariant::RunTimeIdentity => {
                Some(("call_run_time_identity", call_run_time_identity as *const () as usize))
            }
            EnhancerVariant::Clone => Some(("call_cloning", call_cloning as *const () as usize)),
            EnhancerVariant::LookUp => Some(("call_looking_up", call_looking_up as *const () as usize)),
            // The same function as for the run-time identity.
            EnhancerVariant::Cosmetic => None,
        }
    }

    /// Does the work the given number of times. The variant is selected before the loop.
    pub(crate) fn work(self, work: Work, parts: &Parts, times: u32) {
        let call = match work {
            Work::Enhance => return enhance(parts, black_box(self.path()), times),
            Work::ValidCall => &parts.valid,
            Work::FailedCall => &parts.invalid,
        };
        let engines = &parts.engines;
        match self {
            EnhancerVariant::Direct => calls(&engines.direct, call, times),
            EnhancerVariant::StaticIdentity => calls(&engines.static_identity, call, times),
            EnhancerVariant::RunTimeIdentity => calls(&engines.run_time_identity, call, times),
            EnhancerVariant::Clone => calls(&engines.cloning, call, times),
            EnhancerVariant::LookUp => calls(&engines.looking_up, call, times),
            EnhancerVariant::Cosmetic => calls(&engines.cosmetic, call, times),
        }
    }
}

impl Work {
    pub(crate) const ALL: [Work; 3] = [Work::Enhance, Work::ValidCall, Work::FailedCall];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Work::Enhance => "enhancer",
            Work::ValidCall => "valid_call",
            Work::FailedCall => "failed_call",
        }
    }
}

#[inline(never)]
fn enhance(parts: &Parts, path: Path, times: u32) {
    for _ in 0..times {
        drop(black_box(path(parts, ERROR.to_owned(), "create")));
    }
}

#[inline(never)]
fn calls<E: Enhance>(engine: &Engine<E>, call: &ToolCall, times: u32) {
    let mut world = world();
    for _ in 0..times {
        drop(black_box(black_box(engine).call(&mut world, black_box(call))));
    }
}

/// A whole call without an enhancer, to compare its machine code.
#[inline(never)]
fn call_direct(engine: &Engine<Direct>, world: &mut World, call: &ToolCall) -> GuardedReply {
    engine.call(world, call)
}

/// A whole call with the identity selected at compile time.
#[inline(never)]
fn call_static_identity(engine: &Engine<Identity>, world: &mut World, call: &ToolCall) -> GuardedReply {
    engine.call(world, call)
}

/// A whole call with the identity selected at run time.
#[inline(never)]
fn call_run_time_identity(engine: &Engine, world: &mut World, call: &ToolCall) -> GuardedReply {
    engine.call(world, call)
}

/// A whole call with a copy.
#[inline(never)]
fn call_cloning(engine: &Engine<Cloning>, world: &mut World, call: &ToolCall) -> GuardedReply {
    engine.call(world, call)
}

/// A whole call with a look-up.
#[inline(never)]
fn call_looking_up(engine: &Engine<LookingUp>, world: &mut World, call: &ToolCall) -> GuardedReply {
    engine.call(world, call)
}

#[inline(never)]
fn direct(_: &Parts, error: String, _: &str) -> String {
    error
}

#[inline(never)]
fn static_identity(_: &Parts, error: String, action: &str) -> String {
    Identity.enhance(error, action)
}

#[inline(never)]
fn run_time_identity(parts: &Parts, error: String, action: &str) -> String {
    parts.identity.enhance(error, action)
}

#[inline(never)]
fn clone(_: &Parts, error: String, action: &str) -> String {
    Cloning.enhance(error, action)
}

#[inline(never)]
fn look_up(parts: &Parts, error: String, action: &str) -> String {
    parts.looking_up.enhance(error, action)
}

#[inline(never)]
fn cosmetic(parts: &Parts, error: String, action: &str) -> String {
    parts.cosmetic.enhance(error, action)
}
