use crate::gate::GateReport;

/// The report as JUnit's XML.
pub fn junit(_report: &GateReport) -> String {
    String::new()
}
