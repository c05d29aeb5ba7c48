//! The interaction of content and error format: how much the effect of one depends on the other.

use std::collections::BTreeSet;

use healbench_core::{CellRef, Content, ErrorFormat, Guardrails, Outcome, Plan};
use schemars::JsonSchema;
use serde::Serialize;

use super::episode_metrics::{EpisodeMetrics, RunEpisodes};
use crate::rate::CONFIDENCE;
use crate::statistics::{ClusterSums, Interval, clustered_mean, holm};

/// The difference of two differences in the rate of success: the effect of a level of content in one error format, minus its effect in
/// another. It is also the effect of the format at one level, minus its effect at the other.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Interaction {
    /// The agent as requested, with its opening and tools mode.
    pub agent: String,
    /// The guardrails of all four conditions.
    #[schemars(with = "crate::schema::GuardrailsSchema")]
    pub guardrails: Guardrails,
    /// The level of content.
    pub content: String,
    /// The level that it is compared with.
    pub reference_content: String,
    /// The error format.
    pub format: String,
    /// The format that it is compared with.
    pub reference_format: String,
    /// Trials of scenarios in which the episodes of all four conditions were scored, with the same mistakes and faults.
    pub trials: u64,
    /// The mean over these trials, between -2 and 2; null if there are none.
    pub difference: Option<f64>,
    /// What other scenarios of the same suites would show: Student's interval with clusters of scenarios as a sample; null for fewer
    /// than two clusters, and if no cluster differs from another.
    pub interval: Option<Interval>,
    /// The two-sided test of the same statistic.
    pub p_value: Option<f64>,
    /// The same, adjusted by Holm for all interactions of the matrix.
    pub p_adjusted: Option<f64>,
}

/// Computes the interaction of each level of content and format with the reference of both, for each agent and set of guardrails that has
/// all four conditions. Without a reference, the first one of the plan is used. The client is that of the first condition.
pub(super) fn interactions(
    plan: &Plan,
    episodes: &RunEpisodes,
    reference_content: Option<&str>,
    reference_format: Option<&str>,
) -> Vec<Interaction> {
    let at = |guardrails: Guardrails, content: Content, format: &ErrorFormat| {
        plan.conditions.iter().position(|condition| {
            let is_same = condition.guardrails() == guardrails && condition.values.content == content;
            is_same && condition.format() == format && condition.values.client == plan.conditions[0].values.client
        })
    };
    let with_healing = || plan.conditions.iter().filter(|condition| condition.guardrails().healing);
    let is = |name: Option<&str>, other: &str| name.is_none_or(|name| name == other);
    let base_content =
        with_healing().map(|condition| condition.values.content).find(|c| is(reference_content, c.name()));
    let base_format = with_healing().map(|condition| condition.format()).find(|f| is(reference_format, &f.name()));
    let (Some(base_content), Some(base_format)) = (base_content, base_format) else { return Vec::new() };
    let mut found: Vec<Interaction> = Vec::new();
    for (agent, spec) in plan.agents.iter().enumerate() {
        // Each condition that differs in both from the references has one interaction; another of the same parts repeats it.
        for (index, condition) in plan.conditions.iter().enumerate() {
            let (guardrails, content, format) = (condition.guardrails(), condition.values.content, condition.format());
            let differs = content != base_content && format != base_format;
            if !differs || !guardrails.healing || at(guardrails, content, format) != Some(index) {
                continue;
            }
            let others = [(base_content, format), (content, base_format), (base_content, base_format)]
                .map(|(content, format)| at(guardrails, content, format));
            let [Some(second), Some(third), Some(fourth)] = others else { continue };
            let clusters = contrasts(plan, episodes, agent, [index, second, third, fourth]);
            let sum = |of: fn(&ClusterSums) -> f64| clusters.iter().map(of).sum::<f64>();
            let trials = sum(|cluster| cluster.denominator);
            let clustered = clustered_mean(&clusters, CONFIDENCE);
            found.push(Interaction {
                agent: spec.title(),
                guardrails,
                content: content.name().to_owned(),
                reference_content: base_content.name().to_owned(),
                format: format.name().into_owned(),
                reference_format: base_format.name().into_owned(),
                trials: trials as u64,
                difference: (trials > 0.0).then(|| sum(|cluster| cluster.numerator) / trials),
                interval: clustered
                    .map(|mean| Interval { lower: mean.interval.lower.max(-2.0), upper: mean.interval.upper.min(2.0) }),
                p_value: clustered.map(|mean| mean.p_value),
                p_adjusted: None,
            });
        }
    }
    let p_values: Vec<f64> = found.iter().filter_map(|entry| entry.p_value).collect();
    let mut adjusted = holm(&p_values).into_iter().flatten();
    for entry in found.iter_mut().filter(|entry| entry.p_value.is_some()) {
        entry.p_adjusted = adjusted.next();
    }
    found
}

/// Returns the sums of first - second - (third - fourth) over the trials of each cluster of scenarios, 1 for a success and 0 for none.
fn contrasts(plan: &Plan, episodes: &RunEpisodes, agent: usize, conditions: [usize; 4]) -> Vec<ClusterSums> {
    let has_copies = plan.agents[agent].is_deterministic();
    let mut names: Vec<&str> = Vec::new();
    let mut clusters: Vec<ClusterSums> = Vec::new();
    let families = plan.families();
    for (scenario, planned) in plan.scenarios.iter().enumerate() {
        let at = names.iter().position(|known| *known == planned.cluster).unwrap_or_else(|| {
            names.push(&planned.cluster);
            clusters.push(ClusterSums { numerator: 0.0, denominator: 0.0, stratum: families[scenario] });
            names.len() - 1
        });
        let mut seen = BTreeSet::new();
        for trial in 0..plan.trials {
            let episode = |condition| episodes.get(plan, CellRef { scenario, agent, condition, trial });
            let [Some(first), Some(second), Some(third), Some(fourth)] = conditions.map(episode) else { continue };
            let all = [first, second, third, fourth];
            let is_complete = all.iter().all(|one| one.is_scored() && one.schedule == first.schedule);
            if !is_complete || (has_copies && !seen.insert(first.schedule)) {
                continue;
            }
            let [first, second, third, fourth] = all.map(success);
            clusters[at].numerator += first - second - (third - fourth);
            clusters[at].denominator += 1.0;
        }
    }
    clusters
}

fn success(episode: &EpisodeMetrics) -> f64 {
    f64::from(u8::from(episode.outcome == Outcome::Success))
}
