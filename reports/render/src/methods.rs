//! The names of the methods that intervals for other scenarios have.

use std::collections::BTreeSet;

use healbench_analysis::statistics::Method;
use healbench_analysis::{Comparison, Effect, Matrix, Metric, MetricDifference, Report};

fn name(method: &Method) -> &'static str {
    match method {
        Method::Score => "clustered score",
        Method::Bootstrap => "BCa bootstrap",
        Method::Strata => "Student's t with families as strata, Satterthwaite",
    }
}

/// The methods of differences in points and of other differences.
#[derive(Default)]
pub(super) struct Methods {
    points: BTreeSet<Method>,
    rest: BTreeSet<Method>,
}

impl Methods {
    /// The methods of the rows' differences to the reference.
    pub(super) fn of_rows(report: &Report) -> Methods {
        let rows = || report.agents.iter().flat_map(|agent| &agent.rows);
        let rest =
            rows().flat_map(|row| [row.calls_vs_reference, row.billed_tokens_vs_reference, row.tokens_vs_reference]);
        Methods {
            points: rows().filter_map(|row| row.vs_reference?.method).collect(),
            rest: rest.filter_map(|found| found?.method).collect(),
        }
    }

    /// The methods of all differences of a report: between conditions of the headline, of rows and of effects.
    pub(super) fn of_report(report: &Report) -> Methods {
        let ablations = report.ablation.iter();
        let effects = ablations.flat_map(|of| [&of.main, &of.interactions, &of.one_in, &of.one_out]).flatten();
        let mut found = Methods::of_rows(report);
        found.add(Methods::of_effects(effects));
        let compared = report.agents.iter().filter_map(|agent| agent.headline);
        for headline in compared {
            found.points.extend(headline.success.method);
            found.rest.extend(
                [headline.calls, headline.billed_tokens, headline.tokens].into_iter().filter_map(|of| of.method),
            );
        }
        found
    }

    pub(super) fn of_effects<'a>(effects: impl Iterator<Item = &'a Effect>) -> Methods {
        let mut found = Methods::default();
        for effect in effects {
            found.points.extend(effect.success.method);
            found.rest.extend(effect.tokens.method);
        }
        found
    }

    /// The methods of what a matrix shows: success and billed tokens.
    pub(super) fn of_matrix(matrix: &Matrix) -> Methods {
        let cells = matrix.columns.iter().flat_map(|column| column.cells.iter().flatten());
        let shown = [Metric::Success, Metric::BilledTokens];
        Methods::of_metrics(cells.flat_map(|cell| &cell.differences).filter(|entry| shown.contains(&entry.metric)))
    }

    pub(super) fn of_comparison(comparison: &Comparison) -> Methods {
        Methods::of_metrics(comparison.cells.iter().flat_map(|cell| &cell.metrics))
    }

    fn of_metrics<'a>(entries: impl Iterator<Item = &'a MetricDifference>) -> Methods {
        let mut found = Methods::default();
        for entry in entries {
            if entry.metric.is_rate() { &mut found.points } else { &mut found.rest }.extend(entry.method);
        }
        found
    }

    fn add(&mut self, other: Methods) {
        self.points.extend(other.points);
        self.rest.extend(other.rest);
    }

    /// ` (clustered score)`; empty without an interval of points.
    pub(super) fn of_points(&self) -> String {
        if self.points.is_empty() { String::new() } else { format!(" ({})", names(&self.points)) }
    }

    /// ` (clustered score for points, BCa bootstrap for the rest)`; empty without an interval.
    pub(super) fn with_rest(&self, rest: &str) -> String {
        match (self.points.is_empty(), self.rest.is_empty()) {
            (true, true) => String::new(),
            (false, true) => self.of_points(),
            _ if self.points == self.rest => self.of_points(),
            (true, false) => format!(" ({} for {rest})", names(&self.rest)),
            (false, false) => format!(" ({} for points, {} for {rest})", names(&self.points), names(&self.rest)),
        }
    }
}

fn names(methods: &BTreeSet<Method>) -> String {
    methods.iter().map(name).collect::<Vec<_>>().join(" or ")
}
