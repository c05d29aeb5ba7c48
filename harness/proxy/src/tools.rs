//! The tools of the server, as far as they are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use healbench_core::ToolSpec;
use healbench_engine::definition::Tool;
use healbench_engine::{CompileError, Engine};
use healbench_scenarios::load_tools_str;
use serde_json::{Value, json};

use crate::guard::Rules;

/// A tool as the guardrails need it.
struct Known {
    spec: ToolSpec,
    has_output_schema: bool,
}

/// The tools of the server.
#[derive(Default)]
pub(crate) struct Tools {
    known: BTreeMap<String, Known>,
    /// True if the list was read to its end, or refused, and the server has not changed it since.
    is_settled: bool,
    engine: Option<Arc<Engine>>,
}

impl Tools {
    /// Returns true if there is no use in asking for the list.
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// The server does not tell more.
    pub(crate) fn settle(&mut self) {
        self.is_settled = true;
    }

    /// The server said that its list has changed. What is known stays in use until it is read again.
    pub(crate) fn changed(&mut self) {
        self.is_settled = false;
    }

    /// Reads a page of `tools/list`, and returns the cursor of the next one.
    pub(crate) fn read_page(&mut self, is_first: bool, result: &Value) -> Option<String> {
        if is_first {
            self.known.clear();
        }
        self.engine = None;
        for definition in result["tools"].as_array().into_iter().flatten() {
            if let Some(spec) = spec(definition) {
                let has_output_schema = definition.get("outputSchema").is_some();
                self.known.entry(spec.name.clone()).or_insert(Known { spec, has_output_schema });
            }
        }
        let next = result["nextCursor"].as_str().map(str::to_owned);
        self.is_settled = next.is_none();
        next
    }

    /// Returns the guardrails of a tool, and whether it has an output schema; `None` for a tool that is not known.
    pub(crate) fn guard(&mut self, name: &str, rules: &Rules) -> Result<Option<(Arc<Engine>, bool)>, CompileError> {
        let Some(known) = self.known.get(name) else { return Ok(None) };
        let engine = match &self.engine {
            Some(engine) => Arc::clone(engine),
            None => {
                let specs: Vec<ToolSpec> = self.known.values().map(|known| known.spec.clone()).collect();
                let engine = Arc::new(rules.engine(&specs)?);
                Arc::clone(self.engine.insert(engine))
            }
        };
        Ok(Some((engine, known.has_output_schema)))
    }
}

/// Returns a tool of `tools/list`; `None` if its definition cannot be used.
fn spec(definition: &Value) -> Option<ToolSpec> {
    let list = load_tools_str("tools/list", &json!({"tools": [definition]}).to_string()).ok()?;
    list.tools.first().map(Tool::advertised)
}
