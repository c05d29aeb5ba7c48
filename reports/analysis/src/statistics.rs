//! Estimates, intervals and tests as plain functions of counts and sums. `summary` documents the populations.

mod bootstrap;
mod clopper_pearson;
mod clustered;
mod exact;
mod fisher;
mod holm;
mod incidence;
mod kaplan_meier;
mod mcnemar;
mod non_inferiority;
mod pairs;
mod pass;
mod power;
mod sign;
mod student;
mod tango;
mod wilson;

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, Normal};

pub use bootstrap::{ClusterSums, RESAMPLES, Resamples, bca_mean, bca_ratio, ratio_interval};
pub use clopper_pearson::clopper_pearson;
pub use clustered::{
    ClusterPairs, ClusteredDifference, Method, ThisSuite, clustered_difference, clustered_non_inferiority,
    fewest_clusters,
};
pub use fisher::fisher_less;
pub use holm::holm;
pub use incidence::{FixedWithin, cumulative_incidence};
pub use kaplan_meier::{EndedChains, Median, kaplan_meier_median};
pub use mcnemar::mcnemar_mid_p;
pub use non_inferiority::{GATE_CONFIDENCE, NonInferiority, non_inferiority, paired_non_inferiority};
pub use pairs::{pairs_for, pairs_to_settle};
pub use pass::{Trials, pass_at_k, pass_hat_k, pass_hat_k_interval};
pub use power::{PlannedPairs, PlannedTest, Population};
pub use sign::{SignInterval, sign_interval};
pub use student::{ClusteredMean, Moments, clustered_mean};
pub use tango::tango;
pub use wilson::wilson;

/// A confidence interval; both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

/// Returns the number of standard deviations around the mean of a normal distribution that contain the share
/// `confidence`; `None` unless the share is between 0 and 1.
fn two_sided_z(confidence: f64) -> Option<f64> {
    if confidence > 0.0 && confidence < 1.0 {
        Some(Normal::standard().inverse_cdf(0.5 + confidence / 2.0))
    } else {
        None
    }
}
