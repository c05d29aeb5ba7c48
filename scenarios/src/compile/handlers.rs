use healbench_engine::definition::{Code, Effects, Filter, Handler, Relation, Rule, Severity, ToolFailure};
use indexmap::IndexMap;
use serde_json::Value;

use super::Compiler;
use super::conditions::Names;
use super::world::Tables;
use crate::declared::{declared_help, is_declared};
use crate::file::{AllowFile, DenyFile, FailFile, FilterFile, HandlerFile, RequiredFile, RuleFile};
use crate::locate::child;

pub(super) fn handler(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    mut file: HandlerFile,
    input: &Value,
    tables: &Tables,
) -> Option<(Handler, Effects)> {
    let (set, except) = (std::mem::take(&mut file.set), std::mem::take(&mut file.except));
    let also = std::mem::take(&mut file.also);
    let writes = file.insert.is_some() || file.update.is_some();
    let may_also = writes || file.delete.is_some() || file.constant.is_some();
    let unused = [
        ("set", !set.is_empty() && !writes),
        ("except", !except.is_empty() && !writes),
        ("also", !also.is_empty() && !may_also),
    ];
    for (key, _) in unused.into_iter().filter(|(_, is_unused)| *is_unused) {
        let kinds = if key == "also" { "insert, update, delete and return" } else { "insert and update" };
        compiler.at_key(&child(pointer, key), format!("`{key}` belongs to {kinds}"), None);
    }
    // A row that is inserted has no values before, but the further writes can refer to it.
    let before = file.update.clone();
    let after = [&file.insert, &file.update, &file.delete].into_iter().flatten().next().cloned();
    let handler = kind(compiler, pointer, file, input, tables);
    let names = |row_of| Names { input, tables, row_of };
    let set = compiler.columns(&child(pointer, "set"), &set, names(before.as_deref()));
    let effects = compiler.effects(pointer, set, except, also, names(after.as_deref()));
    Some((handler?, effects?))
}

fn kind(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    file: HandlerFile,
    input: &Value,
    tables: &Tables,
) -> Option<Handler> {
    let given = [
        ("insert", file.insert.is_some()),
        ("select", file.select.is_some()),
        ("get", file.get.is_some()),
        ("update", file.update.is_some()),
        ("delete", file.delete.is_some()),
        ("return", file.constant.is_some()),
        ("fail", file.fail.is_some()),
    ];
    let kind = compiler.exactly_one(pointer, &given)?;
    if file.by.is_some() && !matches!(kind, "get" | "update" | "delete") {
        compiler.at_key(&child(pointer, "by"), format!("`by` has no meaning together with `{kind}`"), None);
    }
    let of_lists = [("filters", !file.filters.is_empty()), ("page", file.page.is_some())];
    for (key, _) in of_lists.into_iter().filter(|(_, is_given)| *is_given && kind != "select") {
        let verb = if key == "page" { "has" } else { "have" };
        compiler.at_key(&child(pointer, key), format!("`{key}` {verb} no meaning together with `{kind}`"), None);
    }
    if let Some(value) = file.constant {
        return Some(Handler::Return(value));
    }
    if let Some(file) = file.fail {
        let failure = failure(file);
        compiler.check_placeholders(&child(pointer, "fail"), &failure, Names { input, tables, row_of: None });
        return Some(Handler::Fail(failure));
    }
    let table = [file.insert, file.select, file.get, file.update, file.delete].into_iter().flatten().next()?;
    let at = child(pointer, kind);
    if !compiler.has_table(&at, &table, tables) {
        return None;
    }
    match kind {
        "insert" => Some(Handler::Insert { table }),
        "select" => {
            let mut filters = filters(compiler, &child(pointer, "filters"), &table, file.filters, input, tables);
            filters.retain(|filter| file.page.is_none() || filter.argument != "cursor");
            check_cursor(compiler, &child(pointer, "page"), file.page, input);
            Some(Handler::Select { table, filters, page: file.page.and_then(|size| usize::try_from(size).ok()) })
        }
        _ => {
            let (key_pointer, by) = match file.by {
                Some(by) => (child(pointer, "by"), by),
                None => (at, tables.get(&table)?.def.key.clone()),
            };
            check_key(compiler, &key_pointer, &by, input)?;
            Some(match kind {
                "get" => Handler::Get { table, by },
                "update" => Handler::Update { table, by },
                _ => Handler::Delete { table, by },
            })
        }
    }
}

/// Reports a row without an argument that names it.
fn check_key(compiler: &mut Compiler<'_>, at: &str, by: &str, input: &Value) -> Option<()> {
    if !is_declared(input, by) {
        let message = format!("the input schema declares no argument `{by}` to hold the key");
        compiler.at_value(at, message, declared_help(input, by));
        return None;
    }
    Some(())
}

/// Reports pages of which no call can name the second one.
fn check_cursor(compiler: &mut Compiler<'_>, at: &str, page: Option<u32>, input: &Value) {
    if let Some(size) = page
        && !is_declared(input, "cursor")
    {
        let help = "declare an optional argument `cursor` of type string".to_owned();
        compiler.at_key(at, format!("nothing can show more than the first {size} rows"), help);
    }
}

/// Arguments of a select that page or sort instead of filtering.
const PAGING_ARGUMENTS: [&str; 3] = ["limit", "offset", "sort"];

fn filters(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    table: &str,
    mut declared: IndexMap<String, FilterFile>,
    input: &Value,
    tables: &Tables,
) -> Vec<Filter> {
    let columns = tables.columns(table);
    let is_column = |name: &str| columns.as_ref().is_none_or(|columns| columns.contains(name));
    for (argument, filter) in &declared {
        let at = child(pointer, argument);
        if !is_declared(input, argument) {
            let message = format!("the input schema declares no argument `{argument}`");
            compiler.at_key(&at, message, declared_help(input, argument));
        }
        if !is_column(&filter.column) {
            let known = columns.iter().flatten().copied();
            compiler.report_unknown(&child(&at, "column"), &format!("column of `{table}`:"), &filter.column, known);
        }
    }
    let mut filters = Vec::new();
    for (argument, _) in crate::declared::declared(input) {
        match declared.shift_remove(argument) {
            Some(file) => filters.push(Filter {
                argument: argument.to_owned(),
                column: file.column,
                relation: relation(&file.relation),
            }),
            None if !PAGING_ARGUMENTS.contains(&argument) && columns.is_some() && is_column(argument) => filters
                .push(Filter { argument: argument.to_owned(), column: argument.to_owned(), relation: Relation::Equal }),
            None => {}
        }
    }
    filters
}

fn relation(name: &str) -> Relation {
    match name {
        "before" => Relation::Before,
        "after" => Relation::After,
        "contains" => Relation::Contains,
        _ => Relation::Equal,
    }
}

/// Compiles the warning of an action, which is one whether or not its severity is given.
pub(super) fn warning(compiler: &mut Compiler<'_>, pointer: &str, file: FailFile) -> ToolFailure {
    if file.severity.as_deref().is_some_and(|severity| severity != "warning") {
        let help = "leave `severity` out: the result succeeded".to_owned();
        compiler.at_value(&child(pointer, "severity"), "what accompanies a result is a warning", help);
    }
    let warning = ToolFailure { severity: Some(Severity::Warning), ..failure(file) };
    compiler.check_warning(pointer, &warning);
    warning
}

fn failure(file: FailFile) -> ToolFailure {
    ToolFailure {
        severity: match file.severity.as_deref() {
            Some("warning") => Some(Severity::Warning),
            Some("critical") => Some(Severity::Critical),
            Some("none") => None,
            Some(_) => Some(Severity::Error),
            None => file.code.is_some().then_some(Severity::Error),
        },
        code: file.code,
        message: file.message,
        recovery: file.recovery,
        recovery_is_generated: false,
        available_actions: file.available_actions,
        details: file.details.into_iter().collect(),
        retry_after: file.retry_after,
        bare: file.bare,
        misleading: file.misleading,
    }
}

pub(super) fn rules(
    compiler: &mut Compiler<'_>,
    pointer: &str,
    files: Vec<RuleFile>,
    names: Names<'_>,
) -> Option<Vec<Rule>> {
    let read = |(index, file)| rule(compiler, &child(pointer, index), file, names);
    // Collect all results before combining them, so that all rules are checked.
    let rules: Vec<Option<Rule>> = files.into_iter().enumerate().map(read).collect();
    rules.into_iter().collect()
}

fn rule(compiler: &mut Compiler<'_>, pointer: &str, file: RuleFile, names: Names<'_>) -> Option<Rule> {
    let Names { input, tables, .. } = names;
    let given = [
        ("required", file.required.is_some()),
        ("deny", file.deny.is_some()),
        ("allow", file.allow.is_some()),
        ("conflict", file.conflict.is_some()),
        ("missing", file.missing.is_some()),
    ];
    compiler.exactly_one(pointer, &given)?;
    if let Some(RequiredFile { argument }) = file.required {
        check_argument(compiler, &child(&child(pointer, "required"), "argument"), &argument, input);
        return Some(Rule::Required { argument });
    }
    if let Some(file) = file.deny {
        return deny(compiler, &child(pointer, "deny"), file, names);
    }
    if let Some(file) = file.allow {
        return Some(allow(compiler, &child(pointer, "allow"), file, names));
    }
    if let Some(conflict) = file.conflict {
        let at = child(pointer, "conflict");
        for (index, field) in conflict.fields.iter().enumerate() {
            check_argument(compiler, &child(&child(&at, "fields"), index), field, input);
        }
        let exists = compiler.has_table(&child(&at, "table"), &conflict.table, tables);
        return exists.then_some(Rule::Conflict { table: conflict.table, fields: conflict.fields });
    }
    let missing = file.missing?;
    let at = child(pointer, "missing");
    check_argument(compiler, &child(&at, "argument"), &missing.argument, input);
    let exists = compiler.has_table(&child(&at, "table"), &missing.table, tables);
    exists.then_some(Rule::Missing { table: missing.table, argument: missing.argument })
}

/// Reports an argument of a rule that the input schema does not declare.
fn check_argument(compiler: &mut Compiler<'_>, at: &str, argument: &str, input: &Value) {
    if !is_declared(input, argument) {
        let message = format!("the input schema declares no argument `{argument}`");
        compiler.at_value(at, message, declared_help(input, argument));
    }
}

fn deny(compiler: &mut Compiler<'_>, at: &str, deny: DenyFile, names: Names<'_>) -> Option<Rule> {
    let when = compiler.condition(&child(at, "when"), &deny.when, names);
    let failure = failure(FailFile {
        code: deny.code.or_else(|| Some(Code::Forbidden.name().to_owned())),
        severity: deny.severity,
        message: deny.message,
        recovery: deny.recovery,
        available_actions: deny.available_actions,
        details: deny.details,
        retry_after: deny.retry_after,
        bare: deny.bare,
        misleading: deny.misleading,
    });
    let when = when?;
    let counted = when.rows.first().filter(|rows| rows.count.needs_one()).map(|rows| rows.table.as_str());
    let row_of = names.row_of.or(counted);
    compiler.check_placeholders(at, &failure, Names { row_of, ..names });
    Some(Rule::Deny { unless_role: deny.unless_role, when, failure })
}

fn allow(compiler: &mut Compiler<'_>, at: &str, allow: AllowFile, names: Names<'_>) -> Rule {
    check_argument(compiler, &child(at, "argument"), &allow.argument, names.input);
    let otherwise = failure(allow.otherwise);
    // The message of this rule has a placeholder of its own.
    let message = otherwise.message.replace("{sent}", "");
    let checked = ToolFailure { message, ..otherwise.clone() };
    compiler.check_placeholders(&child(at, "otherwise"), &checked, names);
    Rule::Allow { argument: allow.argument, options: allow.options, otherwise }
}
