use healbench_core::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Action, Handler, Tool};

/// The way in which simulated time passes. A reader that is simulated can always wait by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// No agent is given a way to wait.
    #[default]
    None,
    /// The tool [`WAIT_TOOL`] lets time pass, and is in the list of every agent.
    WaitTool,
    /// A later call that a limit concerns counts as made after the delay that the limit stated.
    OnRetry,
}

/// A measure of how far an episode has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The valid calls that reached the tables, the present one included.
    Calls,
    /// The simulated seconds that have passed.
    Seconds,
}

impl Progress {
    /// All measures, with their names in scenario files.
    pub const ALL: [(&str, Progress); 2] = [("calls", Progress::Calls), ("seconds", Progress::Seconds)];

    /// Returns the measure with this name.
    pub fn named(name: &str) -> Option<Progress> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, progress)| progress)
    }
}

/// The name of the tool that lets simulated time pass.
pub const WAIT_TOOL: &str = "wait";

/// The longest wait in one call, in seconds.
const MAX_WAIT_S: u32 = 3600;

impl Tool {
    /// Creates the tool that lets simulated time pass.
    pub fn wait() -> Tool {
        let seconds =
            json!({"type": "integer", "minimum": 1, "maximum": MAX_WAIT_S, "description": "The time to wait."});
        let action = Action {
            name: WAIT_TOOL.to_owned(),
            input: json!({"type": "object", "properties": {"seconds": seconds}, "required": ["seconds"]}),
            handler: Handler::Wait,
            read_only: true,
            ..Action::default()
        };
        let description = "Waits for a number of seconds. Nothing else happens meanwhile.".to_owned();
        Tool { name: WAIT_TOOL.to_owned(), description, discriminator: None, actions: vec![action], ..Tool::default() }
    }
}

impl Handler {
    /// Returns the seconds that pass in a call with these arguments.
    pub(crate) fn waits(&self, arguments: &Object) -> Option<u32> {
        let Handler::Wait = self else { return None };
        // A whole number may be written with a fraction: `30.0`. The schema bounds it.
        arguments.get("seconds").and_then(Value::as_f64).map(|seconds| seconds as u32)
    }
}
