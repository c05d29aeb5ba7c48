//! Selects the question that a plan asks, and answers it for each agent that has a headline.

use std::collections::BTreeMap;

use healbench_core::{AgentKind, Condition, Guardrails, Plan};

use super::carriers::{carriers, saving};
use super::factors::{alone, content_and_form, without_each};
use super::recorded::recorded;
use super::{
    AgentGain, Agents, Answer, Claims, ConditionResult, Finding, Gain, NamedCondition, Pair, RECOMMENDS_AT, Server,
    Single, Who, WorstTool, choice, is_below_the_floor,
};
use crate::metric::RowMetric;
use crate::rate::Rate;
use crate::statistics::Interval;
use crate::summary::outcomes::Outcomes;
use crate::summary::pairs::Pairs;
use crate::summary::{Ablation, AgentReport, ClaimReport, ClaimVerdict, Totals, has_headline};

/// The fixed chains and all chains of each tool, by agent and condition.
pub(in crate::summary) type ToolChains = BTreeMap<(usize, usize), BTreeMap<String, [u64; 2]>>;

/// What an answer is computed from.
pub(in crate::summary) struct Context<'a> {
    pub(in crate::summary) plan: &'a Plan,
    pub(in crate::summary) agents: &'a [AgentReport],
    pub(in crate::summary) outcomes: &'a Outcomes,
    pub(in crate::summary) claims: &'a [ClaimReport],
    pub(in crate::summary) totals: Totals,
    /// Empty unless a server answered the calls.
    pub(in crate::summary) tool_chains: &'a ToolChains,
    /// The comparisons of conditions.
    pub(in crate::summary) pairs: &'a Pairs,
    /// The effects of guardrails.
    pub(in crate::summary) ablation: &'a [Ablation],
    /// Returns a metric of the episodes of a scenario, an agent and a condition.
    pub(in crate::summary) cell_rate: &'a dyn Fn([usize; 3], RowMetric) -> Rate,
    /// True if a condition may be recommended.
    pub(in crate::summary) may_recommend: bool,
}

/// Returns true if a run of so many clusters of scenarios and trials may recommend a condition.
pub(in crate::summary) fn may_recommend(clusters: u64, trials: u32) -> bool {
    clusters >= RECOMMENDS_AT.0 && trials >= RECOMMENDS_AT.1
}

/// Answers what the plan asks.
pub(in crate::summary) fn answer(context: &Context<'_>) -> Answer {
    let has_model = context.agents.iter().any(|agent| agent.kind != AgentKind::Scripted);
    let speaks = |agent: &usize| has_headline(context.agents[*agent].kind, has_model);
    let speakers: Vec<usize> = (0..context.agents.len()).filter(speaks).collect();
    let scored = speakers.iter().map(|agent| context.outcomes.scored_scenarios(context.plan, *agent));
    let [scenarios, clusters] = scored.max().unwrap_or_default();
    let Totals { episodes, scored, .. } = context.totals;
    Answer {
        episodes,
        lost: episodes - scored,
        scenarios,
        only_these_scenarios: is_below_the_floor(clusters),
        may_recommend: context.may_recommend,
        findings: if scored == 0 { Vec::new() } else { findings(context, &speakers, clusters) },
        recorded: (!has_model).then(|| recorded(context.plan)),
    }
}

fn findings(context: &Context<'_>, speakers: &[usize], clusters: u64) -> Vec<Finding> {
    let plan = context.plan;
    let mut findings = Vec::new();
    if !context.claims.is_empty() {
        findings.extend(speakers.iter().map(|agent| claims(context, *agent)));
    }
    if plan.scenarios.iter().all(|scenario| !scenario.claims.is_empty()) {
        return findings;
    }
    if let Some(name) = &plan.environment.server {
        findings.extend(speakers.iter().filter_map(|agent| server(context, *agent, name)));
    }
    findings.extend(match (plan.conditions.len(), speakers) {
        (0 | 1, _) => speakers.iter().map(|agent| single(context, *agent)).collect(),
        (2, [agent]) => vec![pair(context, *agent)],
        (2, _) => vec![agents(context, speakers)],
        _ => content_and_form(context, speakers, clusters)
            .or_else(|| alone(context, speakers))
            .or_else(|| without_each(context, speakers))
            .unwrap_or_else(|| choice::choices(context, speakers)),
    });
    findings
}

impl Context<'_> {
    pub(super) fn who(&self, agent: usize) -> Who {
        Who::new(self.agents, agent)
    }

    pub(super) fn success(&self, agent: usize, condition: usize) -> Rate {
        self.agents[agent].rows[condition].rate(RowMetric::Success)
    }

    pub(super) fn billed(&self, agent: usize, condition: usize) -> Rate {
        self.agents[agent].rows[condition].rate(RowMetric::BilledTokensPerEpisode)
    }

    pub(super) fn result(&self, agent: usize, condition: usize, names: &Names) -> ConditionResult {
        ConditionResult {
            condition: self.plan.conditions[condition].label(),
            name: names.names[condition].clone(),
            success: self.success(agent, condition),
            billed_tokens_per_episode: self.billed(agent, condition),
        }
    }
}

/// The names of a plan's conditions in an answer.
pub(super) struct Names {
    /// The noun for what the conditions differ in.
    pub(super) noun: &'static str,
    pub(super) names: Vec<String>,
}

impl Names {
    pub(super) fn of(plan: &Plan) -> Names {
        let healing: Vec<&Condition> =
            plan.conditions.iter().filter(|condition| condition.guardrails().healing).collect();
        let is_same = |of: &dyn Fn(&Condition) -> String| healing.windows(2).all(|two| of(two[0]) == of(two[1]));
        let has_names = plan.conditions.iter().any(|condition| condition.own_name().is_some());
        let same_guardrails = is_same(&|condition| condition.guardrails().to_string());
        let same_format = is_same(&|condition| condition.format().to_string());
        let same_parts = is_same(&Condition::other_parts);
        let noun = match (has_names || plan.conditions.len() == 1, same_guardrails, same_format, same_parts) {
            (false, true, false, true) => "format",
            (false, true, true, false) => "level of content",
            (false, _, true, true) => "set of guardrails",
            _ => "condition",
        };
        let name = |condition: &Condition| match noun {
            "format" if condition.guardrails().healing => condition.format().to_string(),
            "level of content" if condition.guardrails().healing => condition.values.content.name().to_owned(),
            _ => short_name(condition, noun == "set of guardrails"),
        };
        Names { noun, names: plan.conditions.iter().map(name).collect() }
    }
}

fn short_name(condition: &Condition, without_format: bool) -> String {
    match (condition.is_plain(), condition.guardrails()) {
        (true, Guardrails::NONE) => "no guardrails".to_owned(),
        (true, Guardrails::ALL) if without_format => "all guardrails".to_owned(),
        (true, guardrails) if without_format => guardrails.to_string(),
        _ => condition.short_label(),
    }
}

fn single(context: &Context<'_>, agent: usize) -> Finding {
    let mean = context.outcomes.contrast(context.plan, agent, &[(0, 1.0)]);
    let within = |interval: Interval| Interval { lower: interval.lower.max(0.0), upper: interval.upper.min(1.0) };
    Finding::Single(Single {
        agent: context.who(agent),
        result: context.result(agent, 0, &Names::of(context.plan)),
        interval: mean.interval.map(within),
    })
}

fn pair(context: &Context<'_>, agent: usize) -> Finding {
    let gain = context.pairs.gain(agent, 1, 0);
    let cost = |condition| context.billed(agent, condition).rate.unwrap_or(f64::INFINITY);
    let second_leads = match gain.difference {
        Some(difference) if difference != 0.0 => difference > 0.0,
        _ => cost(1) < cost(0),
    };
    let (first, second) = if second_leads { (1, 0) } else { (0, 1) };
    let gain = if second_leads { gain } else { gain.reversed() };
    let names = Names::of(context.plan);
    let (cheaper, dearer) = if cost(first) < cost(second) { (first, second) } else { (second, first) };
    let saving = saving(context, agent, cheaper, &[dearer]).filter(|(saving, _)| *saving > 0.0);
    Finding::Pair(Pair {
        agent: context.who(agent),
        first: context.result(agent, first, &names),
        second: context.result(agent, second, &names),
        gain,
        saving_without: saving.and_then(|(_, without)| without),
        carriers: carriers(context, &names, agent, [first, second]),
    })
}

fn agents(context: &Context<'_>, speakers: &[usize]) -> Finding {
    let plan = context.plan;
    let switches = |condition: usize| plan.conditions[condition].guardrails().bits().count_ones();
    // The one that is not the reference; without one, that with more guardrails.
    let guarded = match plan.reference_condition() {
        Some(reference) => 1 - reference,
        None => usize::from(switches(1) >= switches(0)),
    };
    let gains: Vec<Gain> = speakers.iter().map(|agent| context.pairs.gain(*agent, guarded, 1 - guarded)).collect();
    let better = gains.iter().filter(|gain| gain.is_better()).count();
    let worse = gains.iter().filter(|gain| gain.is_worse()).count();
    let names = Names::of(plan);
    let (first, second) = if better >= worse { (guarded, 1 - guarded) } else { (1 - guarded, guarded) };
    let named = |condition: usize| NamedCondition {
        condition: plan.conditions[condition].label(),
        name: names.names[condition].clone(),
    };
    let turned = |gain: Gain| if better >= worse { gain } else { gain.reversed() };
    Finding::Agents(Agents {
        first: named(first),
        second: named(second),
        agents: speakers
            .iter()
            .zip(gains)
            .map(|(agent, gain)| AgentGain { agent: context.who(*agent), gain: turned(gain) })
            .collect(),
    })
}

fn claims(context: &Context<'_>, agent: usize) -> Finding {
    let report = &context.agents[agent];
    let mut found = Claims { agent: context.who(agent), supported: 0, contradicted: 0, undecided: 0 };
    for claim in context.claims {
        let rows = claim.rows.iter().filter(|row| row.title == report.title);
        let verdicts: Vec<ClaimVerdict> = rows.filter_map(|row| row.verdict).collect();
        let is_contradicted =
            |verdict: &ClaimVerdict| !matches!(verdict, ClaimVerdict::Supported | ClaimVerdict::Inconclusive);
        if verdicts.iter().any(is_contradicted) {
            found.contradicted += 1;
        } else if !verdicts.is_empty() && verdicts.iter().all(|verdict| *verdict == ClaimVerdict::Supported) {
            found.supported += 1;
        } else {
            found.undecided += 1;
        }
    }
    Finding::Claims(found)
}

/// Returns the errors of a server that an agent fixed; `None` if its plan has no condition with the server's own texts.
fn server(context: &Context<'_>, agent: usize, name: &str) -> Option<Finding> {
    let conditions = &context.plan.conditions;
    let plain = conditions.iter().position(|condition| !condition.guardrails().healing)?;
    let guarded = conditions.iter().rposition(|condition| condition.guardrails().healing);
    let fixed = |condition: usize| context.agents[agent].rows[condition].rate(RowMetric::ErrorsFixed);
    let tools = context.tool_chains.get(&(agent, plain)).into_iter().flatten();
    let rates = tools.map(|(tool, [fixed, all])| WorstTool { tool: tool.clone(), fixed: Rate::of(*fixed, *all) });
    let share = |tool: &WorstTool| tool.fixed.rate.unwrap_or(f64::INFINITY);
    // Of equal shares the tool with more errors is worse.
    let worse = |a: &WorstTool, b: &WorstTool| {
        share(a).total_cmp(&share(b)).then(b.fixed.denominator.cmp(&a.fixed.denominator))
    };
    Some(Finding::Server(Server {
        agent: context.who(agent),
        server: name.to_owned(),
        fixed: fixed(plain),
        guarded: guarded.map(fixed),
        succeeded: context
            .agents
            .iter()
            .flat_map(|agent| &agent.rows)
            .map(|row| row.rate(RowMetric::Success).numerator)
            .sum(),
        worst: rates.min_by(worse),
    }))
}
