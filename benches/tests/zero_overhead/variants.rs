//! What is compared: the direct path, two identities, and three regressions. All of them are in this one binary.

use std::collections::BTreeMap;
use std::hint::black_box;

use healbench_benches::{ERROR, identity, invalid_call, unchanged_engine, valid_call, world};
use healbench_engine::Engine;
use healbench_engine::contract::{
    BlockStyle, ContractDiff, Delta, Enhance as _, Enhancer, Identity, SelfHealingConfig, Severity, tool_enhancer,
};
use healbench_protocol::{ErrorFormat, ToolCall};

/// What becomes of the text of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// It goes on as it is.
    Direct,
    /// It passes the identity that was chosen when the program was built.
    StaticIdentity,
    /// It passes the identity that was chosen when the engine was made.
    RunTimeIdentity,
    /// It is copied.
    Clone,
    /// It is looked up whether there is something to tell.
    LookUp,
    /// It is told of changes that are all cosmetic.
    Cosmetic,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// An error through the enhancer.
    Enhance,
    /// A call that passes.
    ValidCall,
    /// A call that fails.
    FailedCall,
}

/// The way of a text.
pub(crate) type Path = fn(&Parts, String, &str) -> String;

/// What the variants work with. All of it is made for each of them, so that their heaps look alike.
pub(crate) struct Parts {
    unchanged: Enhancer,
    cosmetic: Enhancer,
    /// Changes of another tool.
    active: BTreeMap<String, ContractDiff>,
    contract_off: Engine,
    contract_unchanged: Engine,
    valid: ToolCall,
    invalid: ToolCall,
}

impl Parts {
    pub(crate) fn new() -> Parts {
        let xml = ErrorFormat::FusionXml;
        let wordings = cosmetic_diff();
        let shows_all = |diff: &ContractDiff| SelfHealingConfig {
            include_all_severities: true,
            ..SelfHealingConfig::new(BTreeMap::from([("invoices".to_owned(), diff.clone())]))
        };
        Parts {
            unchanged: identity(),
            cosmetic: tool_enhancer("invoices", ["create"], &shows_all(&wordings), BlockStyle::Xml),
            active: BTreeMap::from([("customers".to_owned(), wordings)]),
            contract_off: unchanged_engine(false, &xml),
            contract_unchanged: unchanged_engine(true, &xml),
            valid: valid_call(),
            invalid: invalid_call(),
        }
    }

    fn call(&self, work: Work) -> &ToolCall {
        if work == Work::ValidCall { &self.valid } else { &self.invalid }
    }
}

/// A contract that moved in words only.
pub(crate) fn cosmetic_diff() -> ContractDiff {
    let delta = Delta {
        field: "description".to_owned(),
        severity: Severity::Cosmetic,
        previous: Some("Manage invoices".to_owned()),
        current: Some("Manages invoices".to_owned()),
    };
    ContractDiff { deltas: vec![delta], digest_changed: true }
}

impl Variant {
    pub(crate) const ALL: [Variant; 6] = [
        Variant::Direct,
        Variant::StaticIdentity,
        Variant::RunTimeIdentity,
        Variant::Clone,
        Variant::LookUp,
        Variant::Cosmetic,
    ];

    /// The name of its function here, too: the disassembly is searched for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Variant::Direct => "direct",
            Variant::StaticIdentity => "static_identity",
            Variant::RunTimeIdentity => "run_time_identity",
            Variant::Clone => "clone",
            Variant::LookUp => "look_up",
            Variant::Cosmetic => "cosmetic",
        }
    }

    pub(crate) fn path(self) -> Path {
        match self {
            Variant::Direct => direct,
            Variant::StaticIdentity => static_identity,
            Variant::RunTimeIdentity => run_time_identity,
            Variant::Clone => clone,
            Variant::LookUp => look_up,
            Variant::Cosmetic => cosmetic,
        }
    }

    /// The engine of a whole call, and the way that its text goes afterwards. An engine that was made with the guardrail on has
    /// its own identity in it; the other variants are put behind one without.
    fn whole_call(self, parts: &Parts) -> (&Engine, Path) {
        match self {
            Variant::RunTimeIdentity => (&parts.contract_unchanged, direct),
            _ => (&parts.contract_off, self.path()),
        }
    }

    /// Does the work so many times: the same loop for every variant, but for what is called from it.
    pub(crate) fn work(self, work: Work, parts: &Parts, times: u32) {
        match work {
            Work::Enhance => enhance(parts, black_box(self.path()), times),
            Work::ValidCall | Work::FailedCall => {
                let (engine, path) = self.whole_call(parts);
                calls(engine, parts, black_box(path), parts.call(work), times);
            }
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
fn calls(engine: &Engine, parts: &Parts, path: Path, call: &ToolCall, times: u32) {
    let mut world = world();
    for _ in 0..times {
        let mut answer = engine.call(&mut world, black_box(call));
        let text = &mut answer.response.content[0];
        *text = path(parts, std::mem::take(text), "create");
        drop(black_box(answer));
    }
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
    parts.unchanged.enhance(error, action)
}

#[inline(never)]
fn clone(_: &Parts, error: String, _: &str) -> String {
    black_box(&error).clone()
}

#[inline(never)]
fn look_up(parts: &Parts, error: String, action: &str) -> String {
    match parts.active.get(black_box("invoices")) {
        None => error,
        Some(_) => parts.cosmetic.enhance(error, action),
    }
}

#[inline(never)]
fn cosmetic(parts: &Parts, error: String, action: &str) -> String {
    parts.cosmetic.enhance(error, action)
}
