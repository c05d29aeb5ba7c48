//! Draws: whether a statement is followed, and everything else that a profile leaves to chance.

use healbench_core::Draws;

use super::ScriptedAgent;
use crate::reading::Statement;

impl ScriptedAgent<'_> {
    pub(super) fn uptake<'e>(&self, statement: &'e Statement) -> (&'static str, &'e str, f64) {
        let uptake = &self.profile.uptake;
        match statement {
            Statement::Missing { field } | Statement::MissingDiscriminator { field } => {
                ("missing", field, uptake.missing)
            }
            Statement::WrongType { field, .. } => ("wrong_type", field, uptake.wrong_type),
            Statement::Options { field, .. } => ("options", field, uptake.options),
            Statement::Conflict { field } => ("taken", field, uptake.options),
            Statement::Value { field, .. } => ("value", field, uptake.options),
            Statement::Rename { field, .. } => ("unrecognised", field, uptake.unrecognised),
            Statement::Lookup { .. } => ("suggestion", "", uptake.suggestion),
            Statement::SearchDifferently { .. } => ("narrow", "", uptake.narrow),
            Statement::Fault { field, .. } => ("fault", field, uptake.options),
            Statement::Bound { field, .. } | Statement::Compared { field, .. } => ("bounds", field, uptake.bounds),
            Statement::Format { field, .. } => ("format", field, uptake.format),
            Statement::Unrecognized { field } => ("unrecognised", field, uptake.unrecognised),
            Statement::Actions { .. } | Statement::UnknownTool => ("actions", "", uptake.actions),
            Statement::Suggest { action, .. } => ("suggestion", action, uptake.suggestion),
            Statement::Delay { .. } => ("delay", "", uptake.delay),
            Statement::Transient => ("transient", "", uptake.transient),
            Statement::Stop => ("stop", "", uptake.stop),
            Statement::Narrow { field, .. } | Statement::Page { field, .. } => ("narrow", field, uptake.narrow),
            Statement::Contract { .. } => ("contract", "", uptake.contract),
            Statement::Example { .. } => ("example", "", uptake.example),
        }
    }

    /// Draws whether a statement is followed. The draw is keyed by the statement's content, not by its position in the text.
    pub(super) fn takes_up(&self, kind: &str, subject: &str, probability: f64) -> bool {
        self.chance(probability, || format!("agent/uptake/{kind}/{subject}"))
    }

    pub(super) fn chance<P: AsRef<str>>(&self, probability: f64, purpose: impl FnOnce() -> P) -> bool {
        if probability <= 0.0 || probability >= 1.0 {
            return probability >= 1.0;
        }
        self.draws(purpose().as_ref()).chance(probability)
    }

    pub(super) fn draws(&self, purpose: &str) -> Draws {
        self.start.draws.draws(purpose, (self.step as u64) << 32 | self.attempts)
    }
}
