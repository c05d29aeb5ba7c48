//! Statements on two conditions of an agent, read from an output.

use std::collections::BTreeMap;

use healbench_analysis::statistics::Interval;
use healbench_analysis::{Gain, MetricDifference, PairedDifference, Verdict};

use crate::numbers;

/// The statement on a pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Statement {
    pub(crate) difference: Option<f64>,
    pub(crate) interval: Option<Interval>,
    pub(crate) p_adjusted: Option<f64>,
    pub(crate) verdict: Verdict,
}

impl Statement {
    pub(crate) fn reversed(self) -> Statement {
        let interval = self.interval.map(|interval| Interval { lower: -interval.upper, upper: -interval.lower });
        Statement { difference: self.difference.map(|difference| 0.0 - difference), interval, ..self }
    }

    fn is_equal_to(&self, other: &Statement) -> bool {
        let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-9,
            (a, b) => a.is_none() && b.is_none(),
        };
        let ends = |of: &Statement| of.interval.map(|interval| (interval.lower, interval.upper)).unzip();
        let (ours, theirs) = (ends(self), ends(other));
        near(self.difference, other.difference)
            && near(ours.0, theirs.0)
            && near(ours.1, theirs.1)
            && near(self.p_adjusted, other.p_adjusted)
            && self.verdict == other.verdict
    }

    /// Returns true if the interval excludes 0, and the adjusted p-value does not allow to say so.
    pub(crate) fn is_of_pair_alone(&self) -> bool {
        let excludes_zero = self.interval.is_some_and(|interval| interval.lower > 0.0 || interval.upper < 0.0);
        excludes_zero && self.p_adjusted.is_some_and(|p| p >= 0.05) && self.verdict != Verdict::AsGood
    }

    /// `+7`, or `equal`.
    pub(crate) fn points(&self) -> String {
        match self.difference {
            None => numbers::UNKNOWN.to_owned(),
            Some(difference) => numbers::points_or_equal((difference, self.verdict)),
        }
    }

    /// ` [-11, 28]`; empty without one.
    pub(crate) fn interval(&self) -> String {
        match self.interval {
            None => String::new(),
            interval => format!(" {}", numbers::points_interval(interval)),
        }
    }

    /// `+7 [-11, 28]`, or `equal`.
    pub(crate) fn estimate(&self) -> String {
        self.points() + &self.interval()
    }

    /// `+7 [2, 12]†`: the estimate as it stands in a table.
    pub(crate) fn text(&self) -> String {
        self.estimate() + if self.is_of_pair_alone() { "†" } else { "" }
    }

    /// Checks that difference, interval, p-value and verdict agree.
    fn check(&self) {
        let Some(interval) = self.interval else {
            assert!(matches!(self.verdict, Verdict::Equal | Verdict::Unknown), "{self:?}");
            return;
        };
        let difference = self.difference.unwrap();
        let tolerance = 1e-9;
        assert!(interval.lower - tolerance <= difference && difference <= interval.upper + tolerance, "{self:?}");
        // One comparison needs no adjustment, and its interval and p-value are of the same statistic.
        let excludes_zero = interval.lower > 0.0 || interval.upper < 0.0;
        let is_clear = excludes_zero && self.p_adjusted.is_some_and(|p| p < 0.05);
        match self.verdict {
            Verdict::AsGood => assert!(-0.05 < interval.lower && interval.upper < 0.05, "{self:?}"),
            verdict => assert_eq!(verdict == Verdict::Clear, is_clear, "{self:?}"),
        }
        assert!(excludes_zero || self.p_adjusted.is_none_or(|p| p >= 0.05), "{self:?}");
    }

    /// 1 for clearly better, -1 for clearly worse.
    pub(crate) fn sign(&self) -> i8 {
        match self.difference {
            Some(difference) if self.verdict == Verdict::Clear => {
                if difference > 0.0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        }
    }
}

impl From<PairedDifference> for Statement {
    fn from(of: PairedDifference) -> Statement {
        let PairedDifference { difference, interval, p_adjusted, verdict, .. } = of;
        Statement { difference, interval, p_adjusted, verdict }
    }
}

impl From<&MetricDifference> for Statement {
    fn from(of: &MetricDifference) -> Statement {
        let MetricDifference { difference, interval, p_adjusted, verdict, .. } = *of;
        Statement { difference, interval, p_adjusted, verdict }
    }
}

impl From<Gain> for Statement {
    fn from(of: Gain) -> Statement {
        let Gain { difference, interval, p_adjusted, verdict, .. } = of;
        Statement { difference, interval, p_adjusted, verdict }
    }
}

/// The statements on each pair of an agent's conditions, each with the place where it was made first.
#[derive(Default)]
pub(crate) struct Said(BTreeMap<(String, usize, usize), (Statement, &'static str)>);

impl Said {
    /// Notes a statement on `condition` compared with `other`.
    pub(crate) fn note(
        &mut self,
        place: &'static str,
        agent: &str,
        [condition, other]: [usize; 2],
        statement: Statement,
    ) {
        let (key, statement) = match condition < other {
            true => ((agent.to_owned(), condition, other), statement),
            false => ((agent.to_owned(), other, condition), statement.reversed()),
        };
        statement.check();
        let (known, first) = *self.0.entry(key.clone()).or_insert((statement, place));
        assert!(known.is_equal_to(&statement), "{key:?}: {first} {known:?}, {place} {statement:?}");
    }

    /// Returns what is said of every pair.
    pub(crate) fn statements(&self) -> impl Iterator<Item = Statement> {
        self.0.values().map(|(statement, _)| *statement)
    }

    pub(crate) fn get(&self, agent: &str, condition: usize, other: usize) -> Option<Statement> {
        let key = (agent.to_owned(), condition.min(other), condition.max(other));
        let (statement, _) = self.0.get(&key)?;
        Some(if condition < other { *statement } else { statement.reversed() })
    }
}
