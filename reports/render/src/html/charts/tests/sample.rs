//! Sample charts with numbers typical of a run.

use super::super::{
    Bar, CallKind, CallStatus, Caption, Curve, Curves, Forest, ForestRow, Link, Panel, Point, Scatter, Stacks,
};

pub(super) const AGENTS: [&str; 5] = ["blind", "careless", "typical", "careful", "perfect"];

pub(super) fn caption(id: &str) -> Caption {
    Caption { id: id.into(), title: format!("The {id}"), description: "What there is to see.".into() }
}

fn effect(label: &str, (low, estimate, high): (f64, f64, f64)) -> ForestRow {
    ForestRow::Effect {
        label: label.into(),
        estimate: Some(estimate),
        interval: Some((low, high)),
        text: format!("{estimate:+} [{low}, {high}]"),
        group: 0,
    }
}

pub(super) fn forest() -> Forest {
    let unknown =
        ForestRow::Effect { label: "all four".into(), estimate: None, interval: None, text: "—".into(), group: 0 };
    let label = "healing × strict".into();
    let alone = ForestRow::Effect { label, estimate: Some(-4.0), interval: None, text: "-4".into(), group: 0 };
    let rows = vec![
        ForestRow::Heading("typical, json-rpc: whatever the other switches".into()),
        effect("healing", (55.0, 64.0, 73.0)),
        effect("strict", (9.0, 14.0, 23.0)),
        effect("truncation", (-3.0, 1.0, 5.0)),
        effect("contract", (-1.0, 0.0, 2.0)),
        ForestRow::Heading("interactions of two".into()),
        alone,
        effect("strict × contract", (-9.0, -5.5, -2.0)),
        unknown,
    ];
    Forest { caption: caption("forest"), axis: "Change of success, percentage points".into(), rows, range: (0.0, 0.0) }
}

pub(super) fn curves() -> Curves {
    let curve = |label: &str, shares: &[f64]| Curve {
        label: label.into(),
        group: 0,
        filled: label.ends_with("all"),
        link: None,
        points: (0..).zip(shares.iter().copied()).collect(),
    };
    let mut curves = Curves {
        caption: caption("curves"),
        x_title: "Further attempts".into(),
        y_title: "Error chains fixed".into(),
        series: vec![
            curve("blind, none", &[0.0, 0.02, 0.03, 0.03, 0.03, 0.03, 0.04]),
            curve("blind, all", &[0.0, 0.05, 0.07, 0.07, 0.07, 0.07, 0.07]),
            curve("typical, none", &[0.0, 0.22, 0.31, 0.35, 0.36, 0.37, 0.37]),
            curve("typical, all", &[0.0, 0.71, 0.88, 0.92, 0.93, 0.93]),
            curve("careful, none", &[0.0, 0.35, 0.52, 0.58, 0.60, 0.61, 0.61]),
            curve("careful, all", &[0.0, 0.86, 0.95, 0.97, 0.97]),
            curve("perfect, none", &[0.0, 0.61, 0.70, 0.72, 0.72, 0.72, 0.73]),
            curve("perfect, all", &[0.0, 0.97, 1.0]),
        ],
    };
    curves.series.iter_mut().enumerate().for_each(|(index, curve)| curve.group = index);
    curves
}

/// Builds `rows` points for every agent, with and without guardrails.
pub(super) fn scatter(rows: usize) -> Scatter {
    let point = |index: usize| {
        let (group, filled, row) = (index / 2 % AGENTS.len(), index.is_multiple_of(2), index / 10);
        let skill = 0.22 + group as f64 * 0.1 + if filled { 0.32 } else { 0.0 };
        let y = (skill + (row as f64 * 0.37).sin() * 0.15).clamp(0.0, 1.0);
        Point {
            label: format!("{} {}", AGENTS[group], if filled { "all" } else { "none" }),
            group,
            filled,
            x: 900.0 * (1.0 + group as f64).powf(1.8) * (1.6 + (row as f64 * 0.71).cos()),
            y,
            y_interval: Some((y - 0.06, y + 0.05)),
            link: Some(Link { agent: group, condition: Some(usize::from(filled)) }),
            text: format!("{} {y:.2}", AGENTS[group]),
        }
    };
    Scatter {
        caption: caption("scatter"),
        x_title: "Tokens per episode".into(),
        y_title: "Success".into(),
        groups: AGENTS.map(String::from).to_vec(),
        filled: "guardrails on".into(),
        hollow: "guardrails off".into(),
        points: (0..rows).map(point).collect(),
    }
}

pub(super) fn stacks() -> Stacks {
    let kind = |label: &str, status| CallKind { label: label.into(), status };
    let classes =
        ["VALIDATION_ERROR", "UNKNOWN_ACTION", "MISSING_DISCRIMINATOR", "NOT_FOUND", "RATE_LIMITED", "CONFLICT"];
    let mut kinds = vec![kind("ok", CallStatus::Ok)];
    kinds.extend(classes.map(|class| kind(class, CallStatus::Error)));
    kinds.push(kind("other", CallStatus::Other));
    let panel = |title: &str, failing: u64| Panel { title: title.into(), link: None, bars: bars(failing) };
    Stacks {
        caption: caption("stacks"),
        x_title: "Position of the call in its episode".into(),
        y_title: "Calls".into(),
        kinds,
        panels: vec![panel("none", 3), panel("all", 1)],
    }
}

/// Builds thirteen positions with a decreasing number of calls.
fn bars(failing: u64) -> Vec<Bar> {
    let failed = |at: u64| {
        let classes = (1..).zip([22, 14, 11, 9, 6, 4, 2]);
        classes.map(move |(class, calls)| calls * failing * (13 - at) / (10 + class))
    };
    let bar = |at: u64| Bar {
        label: if at == 12 { "13+".into() } else { (at + 1).to_string() },
        counts: [60 * (14 - at)].into_iter().chain(failed(at)).collect(),
    };
    (0..13).map(bar).collect()
}
