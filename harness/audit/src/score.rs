//! Points, and their means: over the probes of a kind, then over the kinds of a tool, then over tools.

use std::collections::BTreeMap;

use crate::kinds::{KINDS, ProbeKind};
use crate::probes::Draft;
use crate::report::{AnswerKind, KindScore, Probe, RepairAnswer, Scored, ToolAudit, ToolRepairs};

/// Returns true if a probe has points: it is invalid by the schema and could not be understood, or the calls file says
/// that it is wrong, or the server found out that what it names does not exist.
pub(crate) fn is_scored(draft: &Draft, answer: AnswerKind) -> bool {
    let counts = match draft.kind {
        ProbeKind::Declared => true,
        ProbeKind::Coercible | ProbeKind::UnknownTool => false,
        // It may be the name of something new.
        ProbeKind::NoSuch => !answer.is_accepted(),
        // Models send it for what they leave out.
        ProbeKind::Null if draft.optional && answer.is_accepted() => false,
        _ => draft.invalid,
    };
    // A server that asks its user has not answered yet, and what failed before the call was looked at says nothing of it.
    counts && !matches!(answer, AnswerKind::Asks | AnswerKind::Environment)
}

/// Returns the points of a scored probe.
pub(crate) fn points(answer: AnswerKind, parts: [Option<bool>; 3]) -> f64 {
    if !answer.is_refusal() && answer != AnswerKind::Warned {
        return 0.0;
    }
    let parts: Vec<bool> = std::iter::once(answer.is_refusal()).chain(parts.into_iter().flatten()).collect();
    100.0 * parts.iter().filter(|part| **part).count() as f64 / parts.len() as f64
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Returns the score of a tool: calls that its schema cannot tell from right ones are worth as much as all others.
pub(crate) fn of_tool(probes: &[Probe]) -> Option<f64> {
    let mut kinds: BTreeMap<ProbeKind, Vec<f64>> = BTreeMap::new();
    for probe in probes {
        if let Some(points) = probe.points {
            kinds.entry(probe.kind).or_default().push(points);
        }
    }
    let half = |is_domain: bool| {
        mean(
            kinds
                .iter()
                .filter(|(kind, _)| kind.is_domain() == is_domain)
                .filter_map(|(_, points)| mean(points.iter().copied())),
        )
    };
    mean([half(false), half(true)].into_iter().flatten())
}

/// Takes the points of a tool whose only mistake is a field beside its own: nothing is lost if that is ignored.
pub(crate) fn without_lone_undeclared(probes: &mut [Probe]) {
    if probes.iter().all(|probe| probe.kind == ProbeKind::Undeclared) {
        probes.iter_mut().for_each(|probe| probe.points = None);
    }
}

/// Returns the score of a server, and what is behind it.
pub(crate) fn of_server(tools: &[ToolAudit]) -> (Option<f64>, Scored) {
    let scored: Vec<&Probe> =
        tools.iter().flat_map(|tool| &tool.probes).filter(|probe| probe.points.is_some()).collect();
    let kinds = KINDS.iter().filter(|entry| scored.iter().any(|probe| probe.kind == entry.kind)).count();
    let with_score = tools.iter().filter(|tool| tool.score.is_some()).count();
    (mean(tools.iter().filter_map(|tool| tool.score)), Scored { tools: with_score, probes: scored.len(), kinds })
}

/// Returns how many errors of a server the reader repairs.
pub(crate) fn repairs(tools: &[ToolAudit]) -> RepairAnswer {
    let of_tool = |tool: &ToolAudit| {
        let errors = tool.probes.iter().filter(|probe| probe.points.is_some() && probe.answer.is_refusal());
        let repaired: Vec<bool> = errors.filter_map(|probe| probe.repaired).collect();
        let count = repaired.iter().filter(|repaired| **repaired).count();
        ToolRepairs { tool: tool.name.clone(), repaired: count, errors: repaired.len() }
    };
    let tools: Vec<ToolRepairs> = tools.iter().map(of_tool).collect();
    let missed = tools.iter().filter(|tool| tool.repaired < tool.errors);
    // Shares are compared without rounding: a/b < c/d if a d < c b.
    let worst = missed
        .min_by(|a, b| (a.repaired * b.errors).cmp(&(b.repaired * a.errors)).then_with(|| b.errors.cmp(&a.errors)));
    RepairAnswer {
        repaired: tools.iter().map(|tool| tool.repaired).sum(),
        errors: tools.iter().map(|tool| tool.errors).sum(),
        worst: worst.cloned(),
    }
}

/// Returns the means of the kinds that occur, in the order of [`KINDS`].
pub(crate) fn of_kinds<'p>(probes: impl Iterator<Item = &'p Probe> + Clone) -> Vec<KindScore> {
    let of_kind = |kind: ProbeKind| {
        let all: Vec<&Probe> = probes.clone().filter(|probe| probe.kind == kind).collect();
        let scored = || all.iter().filter(|probe| probe.points.is_some());
        let refused = || scored().filter(|probe| probe.answer.is_refusal());
        let share = |part: fn(&Probe) -> Option<bool>| {
            mean(refused().filter_map(|probe| part(probe)).map(|holds| if holds { 1.0 } else { 0.0 }))
        };
        KindScore {
            kind,
            probes: all.len(),
            scored: scored().count(),
            refused: all.iter().filter(|probe| probe.answer.is_refusal()).count(),
            score: mean(scored().filter_map(|probe| probe.points)),
            field: share(|probe| probe.field),
            remedy: share(|probe| probe.remedy),
            repaired: share(|probe| probe.repaired),
        }
    };
    KINDS.iter().map(|entry| of_kind(entry.kind)).filter(|score| score.probes > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_the_share_of_the_parts_that_apply() {
        let refused = AnswerKind::IsError;
        assert_eq!(points(refused, [Some(true), Some(true), Some(true)]), 100.0);
        assert_eq!(points(refused, [Some(true), Some(false), Some(false)]), 50.0);
        // One of (refused, remedy): no field, and no reader.
        assert_eq!(points(refused, [None, Some(false), None]), 50.0);
        assert_eq!(points(refused, [None, None, None]), 100.0);
        // Not refused, but the field is named.
        assert_eq!(points(AnswerKind::Warned, [Some(true), Some(false), None]), 100.0 / 3.0);
        for answer in [AnswerKind::AcceptedSame, AnswerKind::SoftError, AnswerKind::Slow, AnswerKind::Died] {
            assert_eq!(points(answer, [Some(true), Some(true), Some(true)]), 0.0);
        }
    }

    #[test]
    fn a_mean_of_nothing_is_unknown() {
        assert_eq!((mean([]), mean([1.0, 2.0])), (None, Some(1.5)));
    }
}
