use std::collections::BTreeMap;

use super::EndedChains;

/// A step of the share of chains that are fixed.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct FixedWithin {
    /// Attempts after the first error.
    pub attempts: u32,
    /// Chains that were neither fixed nor left unfixed after fewer.
    pub at_risk: u64,
    /// The share of all chains that are fixed within this number of attempts, from 0 to 1.
    pub share: f64,
}

/// Returns the cumulative share of chains that are fixed, one step for each number of attempts after which a chain
/// ended.
///
/// This is the cumulative incidence of being fixed: a chain that is left unfixed is never fixed later. One minus the
/// Kaplan-Meier survival would be larger because it treats such a chain as censored: T. A. Gooley, W. Leisenring, J.
/// Crowley, B. E. Storer (1999), "Estimation of failure probabilities in the presence of competing risks", Statistics
/// in Medicine 18, 695-706.
pub fn cumulative_incidence(ended: &BTreeMap<u32, EndedChains>) -> Vec<FixedWithin> {
    let chains: u64 = ended.values().map(|ended| ended.fixed + ended.censored).sum();
    let (mut at_risk, mut fixed) = (chains, 0);
    let step = |(attempts, ended): (&u32, &EndedChains)| {
        let here = at_risk;
        at_risk -= ended.fixed + ended.censored;
        fixed += ended.fixed;
        FixedWithin { attempts: *attempts, at_risk: here, share: fixed as f64 / chains as f64 }
    };
    ended.iter().map(step).collect()
}
