//! Audits of MCP servers: what their errors are worth to a reader, without a model.
//!
//! Each tool is called with arguments that are right and with arguments that are wrong in one respect. The score says for how
//! many of the wrong calls the answer is an error, names the place, states the remedy, and leads a reader to the right call.

mod answer;
mod audit;
mod base;
mod baseline;
mod better;
mod calls;
mod contract;
mod findings;
mod kinds;
mod likeness;
mod limits;
mod mend;
mod outage;
mod places;
mod probes;
mod readers;
mod render;
mod report;
mod score;
mod subject;
mod templates;
mod tool;

pub use audit::{AuditError, Options, Server, audit};
pub use baseline::{Change, changes};
pub use calls::{CallsError, CallsFile, ToolCalls, first_calls_file};
pub use findings::{FINDINGS, FindingEntry};
pub use kinds::{KINDS, KindEntry, ProbeKind};
pub use render::{SourceFile, badge, junit, markdown, sarif, svg, terminal};
pub use report::{
    AnswerKind, AuditReport, Base, BaseSource, BaseState, Counts, Environment, Finding, FormatText, KindScore, Probe,
    ReportError, Scored, ServerSeen, Template, ToolAudit, Uncalled,
};

/// Returns the JSON Schema of [`AuditReport`].
pub fn json_schema() -> String {
    let schema = schemars::schema_for!(AuditReport);
    format!("{:#}\n", serde_json::json!(schema))
}
