//! To come.

use super::{ActionFacts, Sheet, Told, bare_line};

pub(super) fn sheet(_: &ActionFacts) -> Sheet {
    Sheet::default()
}

pub(super) fn render(told: &Told<'_>) -> String {
    bare_line(told.failure)
}
