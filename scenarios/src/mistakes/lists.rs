//! Lists that are asked for whole.

use healbench_engine::definition::Handler;

use super::{Edit, Fixed, Inapplicable, MistakeKind, Plan, Target, nothing_fixed};

pub(super) fn unfiltered(target: &Target<'_>, fixed: &Fixed) -> Result<Plan, Inapplicable> {
    nothing_fixed(MistakeKind::UnfilteredList, fixed)?;
    let Handler::Select { filters, .. } = &target.action.handler else {
        return Err(Inapplicable::kind(format!("`{}` does not list anything (`select`)", target.action.name)));
    };
    let is_filter = |name: &str| filters.iter().any(|filter| filter.argument == name);
    let given = target.arguments.keys().filter(|name| is_filter(name) && !target.is_required(name));
    let edits: Vec<Edit> = given.map(|name| Edit::Remove(name.clone())).collect();
    match edits.is_empty() {
        true => Err(Inapplicable::kind("the call has no filter that could be left out")),
        false => Ok(Plan { fields: vec![vec![edits]] }),
    }
}
