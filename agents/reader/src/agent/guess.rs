//! Random changes of a call that no statement explains.

use serde_json::Value;

use super::ScriptedAgent;
use crate::lookup::discriminator;

impl ScriptedAgent<'_> {
    /// Changes something at random: drops a field, writes a value as another type, or takes another action.
    pub(super) fn change_at_random(&mut self) {
        let mut draws = self.draws("agent/guess/what");
        let call = self.lookup.as_mut().unwrap_or(&mut self.draft);
        let field = discriminator(&self.start, &call.tool);
        let spec = self.start.tools.iter().find(|spec| spec.name == call.tool);
        let Some(object) = call.arguments.as_object_mut() else { return };
        let names: Vec<String> = object.keys().filter(|name| Some(name.as_str()) != field).cloned().collect();
        match (draws.below(3), draws.pick(&names)) {
            (0, Some(name)) => _ = object.shift_remove(name),
            (1, Some(name)) => {
                if let Some(value) = object.get_mut(name) {
                    *value = match &*value {
                        Value::String(text) => text.parse::<i64>().map_or(Value::from(0), Value::from),
                        other => Value::String(other.to_string()),
                    };
                }
            }
            _ => {
                let other = spec.and_then(|spec| draws.pick(&spec.actions));
                if let (Some(field), Some(other)) = (field, other) {
                    object.insert(field.to_owned(), Value::String(other.name.clone()));
                }
            }
        }
    }
}
