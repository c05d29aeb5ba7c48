//! A condition as a value: of each axis one, and a name if somebody gave it one.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::ConditionEntry;
use super::axis::{AXES, Axis, AxisValueError, AxisValues, Files, Need};
use crate::{ErrorFormat, Guardrails};

/// Everything that decides what an agent is shown of its calls: the unit that is compared.
///
/// The label is computed from the value. Nothing is read from a label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Condition {
    /// The name that the project or the user gave to some values; null if the values say all.
    pub name: Option<String>,
    /// The values that the name stands for; null if they are the values, and without a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stands_for: Option<Box<AxisValues>>,
    /// The values.
    #[serde(flatten)]
    pub values: AxisValues,
}

/// The index of a condition in its plan.
pub type ConditionId = usize;

impl Condition {
    /// Creates the unnamed condition of guardrails and an error format. Everything else follows or has its default.
    pub fn new(guardrails: Guardrails, format: ErrorFormat) -> Condition {
        Condition { name: None, stands_for: None, values: AxisValues::of(guardrails, format) }
    }

    /// Returns the unnamed conditions of all pairs. A set without `healing` has one, since no format has an effect.
    pub fn of_parts(guardrails: &[Guardrails], formats: &[ErrorFormat]) -> Vec<Condition> {
        let mut conditions: Vec<Condition> = Vec::new();
        for guardrails in guardrails {
            let formats = if guardrails.healing { formats } else { &[ErrorFormat::Bare] };
            for condition in formats.iter().map(|format| Condition::new(*guardrails, format.clone())) {
                if !conditions.contains(&condition) {
                    conditions.push(condition);
                }
            }
        }
        conditions
    }

    /// Creates a condition with a name.
    pub fn named(name: impl Into<String>, values: AxisValues) -> Condition {
        Condition { name: Some(name.into()), stands_for: None, values }
    }

    /// Returns the condition of an entry of the registry.
    pub fn of(entry: &ConditionEntry) -> Condition {
        Condition::named(entry.name, entry.values.clone())
    }

    /// Returns the condition without its name.
    #[must_use]
    pub fn unnamed(&self) -> Condition {
        Condition { name: None, stands_for: None, values: self.values.clone() }
    }

    /// Returns the guardrails that are on.
    pub fn guardrails(&self) -> Guardrails {
        self.values.guardrails()
    }

    /// Returns the error format.
    pub fn format(&self) -> &ErrorFormat {
        &self.values.errors
    }

    /// Returns the condition with another value of an axis. An axis without an effect keeps its value.
    ///
    /// # Errors
    /// [`AxisValueError`] if there is no such value.
    pub fn with(&self, axis: &Axis, word: &str, files: &Files<'_>) -> Result<Condition, AxisValueError> {
        let mut values = self.values.clone();
        (axis.set)(&mut values, word, files)?;
        let has_effect = axis.needs != Some(Need::Healing) || self.guardrails().healing;
        Ok(self.with_values(if has_effect { values } else { self.values.clone() }))
    }

    /// Returns the condition of the same name with other values.
    pub fn with_values(&self, values: AxisValues) -> Condition {
        let stands_for = self.name.is_some().then(|| self.stands_for().clone()).filter(|known| *known != values);
        Condition { name: self.name.clone(), stands_for: stands_for.map(Box::new), values }
    }

    /// Returns the values that the name stands for; without a name, the values.
    fn stands_for(&self) -> &AxisValues {
        self.stands_for.as_deref().unwrap_or(&self.values)
    }

    /// Returns the text that identifies the condition in rows, reports and baselines: its name, or its guardrails and error format;
    /// then what it does not share with them.
    pub fn label(&self) -> String {
        self.label_without(&[])
    }

    /// Returns the label without the words of some axes.
    pub fn label_without(&self, left_out: &[&str]) -> String {
        let mut label = match &self.name {
            Some(name) => name.clone(),
            None if left_out.contains(&"errors") => self.guardrails().to_string(),
            None => format!("{} {}", self.guardrails(), self.values.errors),
        };
        for axis in self.said().filter(|axis| !left_out.contains(&axis.key)) {
            label.push(' ');
            label.push_str(&self.words(axis));
        }
        label
    }

    /// Returns the axes whose values the name, or the guardrails and the error format, do not say.
    fn said(&self) -> impl Iterator<Item = &'static Axis> {
        AXES.iter().filter(|axis| match self.name {
            Some(_) => (axis.word)(&self.values) != (axis.word)(self.stands_for()),
            None => !(axis.follows)(&self.values),
        })
    }

    /// Returns what is to be varied to get this condition: of the named one, or of that with its guardrails and error format. A lockfile
    /// is called `FILE`.
    pub fn variations(&self) -> Vec<(&'static Axis, String)> {
        let word = |axis: &Axis| match (axis.key, &self.values.contract.lock) {
            ("contract", Some(lock)) => (axis.word)(&self.values).replace(lock.get(..12).unwrap_or(lock), "FILE"),
            _ => (axis.word)(&self.values),
        };
        self.said().map(|axis| (axis, word(axis))).collect()
    }

    /// Returns the words for a value in a label. A value that would not say what it is of has its axis before it.
    fn words(&self, axis: &Axis) -> Cow<'static, str> {
        let word = (axis.word)(&self.values);
        match axis.key {
            "contract" => self.values.contract.label().unwrap_or_else(|| format!("contract:{word}")).into(),
            "truncation" | "domain_errors" => format!("{}:{word}", axis.key.replace('_', "-")).into(),
            _ => word.into(),
        }
    }

    /// Returns true if guardrails, error format, level of content and contracts say all: the condition has no name, and nothing
    /// else has another value than follows from them.
    pub fn is_plain(&self) -> bool {
        let may_differ = ["content", "contract"];
        self.name.is_none() && AXES.iter().all(|axis| (axis.follows)(&self.values) || may_differ.contains(&axis.key))
    }

    /// Returns the label, unless guardrails, error format and level of content say all.
    pub fn own_name(&self) -> Option<String> {
        (!self.is_plain() || self.values.contract.label().is_some()).then(|| self.label())
    }

    /// Returns the label; if the condition has no [name of its own](Condition::own_name), only its guardrails, the error format unless
    /// `healing` is off, and the level of content unless it is `native`.
    pub fn short_label(&self) -> String {
        match (self.own_name(), self.format()) {
            (Some(name), _) => name,
            (None, ErrorFormat::Bare) => self.guardrails().to_string(),
            (None, format) => format!("{} {format}{}", self.guardrails(), self.content_suffix()),
        }
    }

    /// Returns the label; of a [plain](Condition::is_plain) condition `all/fusion-xml next-step`, and the changes that errors show if they are
    /// not those of the scenario.
    pub fn title(&self) -> String {
        let contract = self.values.contract.label().map(|label| format!(" {label}")).unwrap_or_default();
        match self.is_plain() {
            true => format!("{}/{}{}{contract}", self.guardrails(), self.format(), self.content_suffix()),
            false => self.label(),
        }
    }

    /// Returns the level of content with a space before it; empty for `native`, and for a condition that is not plain.
    fn content_suffix(&self) -> String {
        match self.is_plain() && !self.values.content.is_native() {
            true => format!(" {}", self.values.content.name()),
            false => String::new(),
        }
    }

    /// Returns true if this is the condition of that name, with any client.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.as_deref() == Some(name) && self.said().all(|axis| axis.key == "client")
    }

    /// Returns the values that the guardrails and the error format leave open, as text: `strip message native`, then the client
    /// unless it is `raw`, and the changes that errors show if they are not those of the scenario.
    pub fn other_parts(&self) -> String {
        let AxisValues { undeclared, domain_errors, content, client, contract, .. } = &self.values;
        let client = (!client.is_raw()).then(|| client.name().to_owned());
        let parts = [undeclared.name(), domain_errors.name(), content.name()].map(str::to_owned);
        parts.into_iter().chain(client).chain(contract.label()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CONDITIONS, Client, Content, Undeclared, axis};
    use super::*;

    fn with(condition: &Condition, key: &str, word: &str) -> Condition {
        let files = Files { lock: &|_| Ok("0123".to_owned()), ..Files::NONE };
        condition.with(axis(key).unwrap(), word, &files).unwrap()
    }

    #[test]
    fn a_condition_is_labelled_by_its_values() {
        let none = Condition::new(Guardrails::NONE, ErrorFormat::Bare);
        assert_eq!((none.label().as_str(), none.values.undeclared), ("none bare", Undeclared::Pass));
        let all = Condition::new(Guardrails::ALL, ErrorFormat::FusionXml);
        assert_eq!((all.label().as_str(), all.values.undeclared), ("all fusion-xml", Undeclared::Reject));
        assert_eq!((all.values.content, all.values.client), (Content::Native, Client::Raw));
        let stripping = with(&none, "undeclared", "strip");
        assert_eq!(stripping.own_name().as_deref(), Some("none bare strip"));
        let advised = with(&all, "content", "next-step");
        assert_eq!((advised.label().as_str(), advised.values.content), ("all fusion-xml next-step", Content::NextStep));
        assert!(advised.own_name().is_none() && advised.short_label() == "all fusion-xml next-step");
        // No level has an effect on bare lines.
        assert_eq!(with(&none, "content", "next-step"), none);
        assert_eq!(stripping.other_parts(), "strip everything native");
        assert_eq!(with(&advised, "client", "raw"), advised);
        let shown = with(&advised, "client", "codex-0.169.0");
        assert_eq!(shown.own_name().as_deref(), Some("all fusion-xml next-step codex-0.169.0"));
        assert_eq!(shown.label_without(&["client"]), advised.label());
        assert_eq!(shown.other_parts(), "reject everything next-step codex-0.169.0");
        let locked = with(&all, "contract", "all-severities+max-deltas:3+lock:contracts.lock");
        assert_eq!(
            (locked.label(), locked.title()),
            (
                "all fusion-xml lock:0123 all-severities max-deltas:3".to_owned(),
                "all/fusion-xml lock:0123 all-severities max-deltas:3".to_owned()
            )
        );
        assert_eq!((locked.own_name(), locked.short_label()), (Some(locked.label()), locked.label()));
    }

    #[test]
    fn a_named_condition_says_what_its_name_does_not() {
        for entry in &CONDITIONS {
            let condition = Condition::of(entry);
            assert_eq!((condition.label().as_str(), condition.own_name().as_deref()), (entry.name, Some(entry.name)));
            let json = serde_json::to_value(&condition).unwrap();
            assert_eq!(serde_json::from_value::<Condition>(json).unwrap(), condition);
            let plain = Condition::new(condition.guardrails(), condition.format().clone());
            assert!(plain.own_name().is_none() && plain != condition);
        }
        let fusion = Condition::of(CONDITIONS.iter().find(|entry| entry.name == "fusion").unwrap());
        let labels = [
            ("errors", "zod-json", "fusion zod-json"),
            ("undeclared", "strip", "fusion strip"),
            ("content", "placebo", "fusion placebo"),
            ("domain_errors", "message", "fusion domain-errors:message"),
            ("truncation", "off", "fusion truncation:off"),
            ("contract", "off", "fusion contract:off"),
            ("client", "opencode-1.18.33", "fusion opencode-1.18.33"),
        ];
        for (key, word, label) in labels {
            let varied = with(&fusion, key, word);
            assert_eq!(varied.label(), label);
            let variations: Vec<&str> = varied.variations().into_iter().map(|(axis, _)| axis.key).collect();
            assert_eq!(variations, [key]);
            // Back at the values of its name, it is the same condition.
            let back = (axis(key).unwrap().word)(&fusion.values);
            assert_eq!(with(&varied, key, &back), fusion);
        }
        assert_eq!(with(&fusion, "client", "raw"), fusion);
        // The order in which values are set does not matter.
        let bare = with(&fusion, "errors", "bare");
        assert_eq!(with(&with(&fusion, "content", "placebo"), "errors", "bare"), bare);
        assert_eq!(with(&bare, "content", "placebo"), bare);
    }

    #[test]
    fn every_word_of_an_axis_reads_back() {
        let all = Condition::new(Guardrails::ALL, ErrorFormat::FusionXml);
        for axis in &AXES {
            for (word, summary) in (axis.values)() {
                let word = word.replace(":N", ":3");
                let condition = with(&all, axis.key, &word);
                assert_eq!((axis.word)(&condition.values), word, "{}", axis.key);
                assert!(summary.ends_with('.') && axis.summary.ends_with('.'), "{word}");
            }
            let error = all.with(axis, "no-such-value", &Files::NONE).unwrap_err();
            assert!(error.to_string().contains("unknown"), "{error}");
        }
        let error = all.with(axis("errors").unwrap(), "template:a", &Files::NONE).unwrap_err();
        assert_eq!(error.to_string(), "no file can be named here");
    }
}
