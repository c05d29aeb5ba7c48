//! The settings of a resumed run, as the settings file has them now. What a run was lost to is corrected there.

use healbench_core::{AgentSpec, ChangedSetting, Opening, changed_settings};
use healbench_store::{RunManifest, SettingChange};
use healbench_text::plain_text;
use serde_json::Value;

use crate::args::AxisArgs;
use crate::clock::timestamp;
use crate::error::{CliError, ErrorKind};
use crate::load::check_opening;
use crate::models::{ModelCatalog, agent_spec};
use crate::run_spec::{AgentConfig, RunSpec};
use crate::terminal::Terminal;

use super::MANIFEST_TIME;

/// Takes the settings of models and agent programs from the settings file, as far as it has tables of them, and says which changed.
/// Returns true if any did.
pub(super) fn take_settings(
    run_spec: &mut RunSpec,
    manifest: &mut RunManifest,
    args: &AxisArgs,
    terminal: &Terminal,
) -> Result<bool, CliError> {
    let Some(file) = &args.config else { return Ok(false) };
    let is_set = |config: &AgentConfig| !matches!(config, AgentConfig::Scripted(_));
    if !run_spec.configs.iter().any(is_set) {
        return Ok(false);
    }
    let catalog = ModelCatalog::read(args)?;
    let before = manifest.changes.len();
    for (spec, config) in run_spec.plan.agents.iter_mut().zip(&mut run_spec.configs) {
        let Some(current) = catalog.current(spec)? else { continue };
        // Both as this version writes settings, so that a setting that a version added is no change.
        let changes = changed_settings(&spec_of(spec, config).settings, &spec_of(spec, &current).settings);
        if let Some(change) = changes.iter().find(|change| change.is_of_all_episodes()) {
            return Err(CliError::new(format_args!(
                "{spec}: `{}` is {} in `{}`, and was {} when the run began, whose episodes are compared",
                plain_text(&change.setting),
                value_text(&change.to),
                file.display(),
                value_text(&change.from),
            ))
            .kind(ErrorKind::Conflict)
            .help("set it back, name the run's own settings file with `--config`, or begin a new run"));
        }
        if let AgentConfig::Model(model) = &current {
            check_opening(&spec.name, model, spec.opening)?;
        }
        for change in changes {
            let change = SettingChange { at: timestamp(MANIFEST_TIME), agent: spec.to_string(), change };
            // A model with several openings is in the plan several times.
            if !manifest.changes[before..]
                .iter()
                .any(|known| (&known.agent, &known.change) == (&change.agent, &change.change))
            {
                terminal.note(&describe(&change.agent, &change.change));
                manifest.changes.push(change);
            }
        }
        *spec = spec_of(spec, &current);
        *config = current;
    }
    manifest.plan = run_spec.plan.clone();
    Ok(manifest.changes.len() > before)
}

/// Returns the plan's entry of an agent with other settings.
fn spec_of(spec: &AgentSpec, config: &AgentConfig) -> AgentSpec {
    match config {
        AgentConfig::Scripted(_) => spec.clone(),
        AgentConfig::Model(model) => agent_spec(model, &spec.name, spec.opening.unwrap_or(Opening::Seeded), false),
        AgentConfig::Program(program) => program.spec(&spec.name),
    }
}

fn describe(agent: &str, change: &ChangedSetting) -> String {
    let (setting, from, to) = (plain_text(&change.setting), value_text(&change.from), value_text(&change.to));
    format!("{}: `{setting}` was {from} until now, and is {to}", plain_text(agent))
}

/// The largest number of characters of a value in a message.
const MAX_VALUE_CHARS: usize = 80;

fn value_text(value: &Value) -> String {
    if value.is_null() {
        return "not set".to_owned();
    }
    let text = value.to_string();
    let cut: String = text.chars().take(MAX_VALUE_CHARS).collect();
    plain_text(&if cut.len() < text.len() { format!("{cut}…") } else { cut }).into_owned()
}
