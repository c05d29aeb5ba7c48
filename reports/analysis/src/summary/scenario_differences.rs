//! The scenarios in which two conditions differ in success, in descending order of the difference.

use super::{AgentReport, ReportRow};

/// The success of one condition minus that of another one, by scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioDifferences<'a> {
    /// Scenarios with scored episodes under both conditions.
    pub scenarios: u64,
    /// Those in which more episodes succeed.
    pub more: u64,
    /// Those in which fewer succeed.
    pub fewer: u64,
    /// Those that differ: the ids and the differences in success, from -1 to 1. The largest absolute ones come first, equal ones as in the
    /// plan.
    pub differing: Vec<(&'a str, f64)>,
}

impl AgentReport {
    /// Compares the success of two conditions, as indices of the rows, in each scenario.
    pub fn scenario_differences(&self, condition: usize, other: usize) -> ScenarioDifferences<'_> {
        let scenarios = |row: usize| self.rows.get(row).map_or(&[][..], |row: &ReportRow| &row.scenarios);
        let both = scenarios(condition).iter().zip(scenarios(other));
        let known: Vec<(&str, f64)> = both
            .filter_map(|(here, there)| Some((here.scenario.as_str(), here.success.rate? - there.success.rate?)))
            .collect();
        let count = |is: fn(f64) -> bool| known.iter().filter(|(_, difference)| is(*difference)).count() as u64;
        let (scenarios, more, fewer) = (known.len() as u64, count(|of| of > 0.0), count(|of| of < 0.0));
        let mut differing: Vec<(&str, f64)> = known.into_iter().filter(|(_, difference)| *difference != 0.0).collect();
        differing.sort_by(|(_, a), (_, b)| b.abs().total_cmp(&a.abs()));
        ScenarioDifferences { scenarios, more, fewer, differing }
    }
}
