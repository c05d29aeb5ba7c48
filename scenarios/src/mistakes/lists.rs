//! List calls without filters.

use healbench_engine::definition::Handler;

use super::{Edit, InapplicableMistake, MistakeParams, MutationPlan, Target, reject_params};

pub(super) fn unfiltered(target: &Target<'_>, params: &MistakeParams) -> Result<MutationPlan, InapplicableMistake> {
    reject_params("unfiltered_list", params)?;
    let Handler::Select { filters, .. } = &target.action.handler else {
        return Err(InapplicableMistake::kind(format!(
            "`{}` does not list rows: its handler is not `select`",
            target.action.name
        )));
    };
    let is_filter = |name: &str| filters.iter().any(|filter| filter.argument == name);
    let given = target.arguments.keys().filter(|name| is_filter(name) && !target.is_required(name));
    let edits: Vec<Edit> = given.map(|name| Edit::Remove(name.clone())).collect();
    match edits.is_empty() {
        true => Err(InapplicableMistake::kind("the call has no filter that could be left out")),
        false => Ok(MutationPlan::of_mutation(edits)),
    }
}
