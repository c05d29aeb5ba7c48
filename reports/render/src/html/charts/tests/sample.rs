//! A sample chart with numbers typical of a run.

use super::super::{Caption, Forest, ForestRow};

fn effect(group: usize, label: &str, (low, estimate, high): (f64, f64, f64)) -> ForestRow {
    ForestRow::Effect {
        label: label.into(),
        estimate: Some(estimate),
        interval: Some((low, high)),
        is_clear: low > 0.0 || high < 0.0,
        text: format!("{estimate:+} [{low}, {high}]"),
        group,
    }
}

/// Effects of one agent, and one of each other color.
pub(super) fn sample() -> Forest {
    let unknown = ForestRow::Effect {
        label: "all four".into(),
        estimate: None,
        interval: None,
        is_clear: false,
        text: "—".into(),
        group: 0,
    };
    let label = "healing × strict".into();
    let alone =
        ForestRow::Effect { label, estimate: Some(-4.0), interval: None, is_clear: false, text: "-4".into(), group: 0 };
    let others = (1..8).map(|group| effect(group, &format!("agent {group}"), (1.0, 2.0, 3.0)));
    let mut rows = vec![
        ForestRow::Heading("typical, json-rpc: whatever the other switches".into()),
        effect(0, "healing", (55.0, 64.0, 73.0)),
        effect(0, "strict", (9.0, 14.0, 23.0)),
        effect(0, "truncation", (-3.0, 1.0, 5.0)),
        effect(0, "contract", (-1.0, 0.0, 2.0)),
        ForestRow::Heading("interactions of two".into()),
        alone,
        effect(0, "strict × contract", (-9.0, -5.5, -2.0)),
        unknown,
    ];
    rows.extend(others);
    let caption =
        Caption { id: "forest".into(), title: "The forest".into(), description: "What there is to see.".into() };
    Forest { caption, axis: "Change of success, percentage points".into(), rows, range: (0.0, 0.0) }
}
