//! The table that grows during a run: one line per cell, with column widths that are fixed at the start.

use healbench_core::Plan;
use unicode_width::UnicodeWidthStr as _;

use super::labels;
use super::number::{UNKNOWN, count, money, rate_amount, rate_decimal};
use healbench_analysis::LiveCell;
use healbench_text::plain_text;

/// The largest width of the name column; a longer name only misaligns its own line.
const MAX_NAME_WIDTH: usize = 40;

#[derive(Debug)]
pub struct LiveTable {
    scenarios: Vec<String>,
    agents: Vec<String>,
    conditions: Vec<String>,
    /// The widths of scenario, agent, condition and successes.
    widths: [usize; 4],
    /// True if there is a column for costs.
    has_models: bool,
}

impl LiveTable {
    /// Creates the table for the cells of a plan.
    pub fn new(plan: &Plan) -> LiveTable {
        let scenarios: Vec<String> =
            plan.scenarios.iter().map(|scenario| plain_text(&scenario.id).into_owned()).collect();
        let agents: Vec<String> = plan.agents.iter().map(|agent| plain_text(&agent.title()).into_owned()).collect();
        let conditions: Vec<String> = plan.conditions.iter().map(labels::condition_label).collect();
        let trials = count(u64::from(plan.trials)).width();
        let widths = [
            column_width(&scenarios, "scenario"),
            column_width(&agents, "agent"),
            column_width(&conditions, "setting"),
            (2 * trials + 1).max("success".len()),
        ];
        let has_models = plan.agents.iter().any(|agent| agent.opening.is_some());
        LiveTable { scenarios, agents, conditions, widths, has_models }
    }

    /// Returns the heading line.
    pub fn header(&self) -> String {
        self.line(["scenario", "agent", "setting"], "success", ["calls/ep.", "tokens/ep.", "US $/ep."])
    }

    /// Returns the line of a cell.
    pub fn cell(&self, cell: &LiveCell) -> String {
        let names = [
            &*self.scenarios[cell.cell.scenario],
            &*self.agents[cell.cell.agent],
            &*self.conditions[cell.cell.condition],
        ];
        let success = format!("{}/{}", count(cell.success.numerator), count(cell.success.denominator));
        let usd = cell.usd.map_or(UNKNOWN.to_owned(), money);
        self.line(names, &success, [&rate_decimal(cell.calls), &rate_amount(cell.tokens), &usd])
    }

    fn line(&self, names: [&str; 3], success: &str, numbers: [&str; 3]) -> String {
        let mut line = String::new();
        for (name, width) in names.into_iter().zip(self.widths) {
            line.push_str(name);
            line.push_str(&" ".repeat(width.saturating_sub(name.width()) + 2));
        }
        let shown = if self.has_models { 3 } else { 2 };
        line.push_str(&format!("{success:>0$}", self.widths[3]));
        for number in &numbers[..shown] {
            line.push_str(&format!("  {number:>10}"));
        }
        line
    }
}

fn column_width(names: &[String], head: &str) -> usize {
    let widths = names.iter().map(|name| name.width()).filter(|width| *width <= MAX_NAME_WIDTH);
    widths.max().unwrap_or(0).max(head.len())
}
