use std::collections::{BTreeMap, BTreeSet};

use healbench_core::canonical_json;
use healbench_engine::definition::TableDef;
use serde_json::Value;

use super::{Compiler, short_json};
use crate::declared::declared;
use crate::file::{FieldFile, GenerateFile, TableFile};
use crate::generate::{ColumnGenerator, Sequence, TablePlan};
use crate::locate::child;

/// The tables of a file by name, in order; `None` for an invalid one.
pub(super) struct Tables {
    pub(super) role: Option<String>,
    pub(super) is_fixed: bool,
    pub(super) tables: Vec<(String, Option<TablePlan>)>,
    /// The columns that handlers write, by table.
    written: BTreeMap<String, BTreeSet<String>>,
}

impl Tables {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// Returns the valid tables.
    pub(super) fn valid(&self) -> impl Iterator<Item = &TablePlan> {
        self.tables.iter().filter_map(|(_, plan)| plan.as_ref())
    }

    pub(super) fn get(&self, name: &str) -> Option<&TablePlan> {
        self.valid().find(|plan| plan.def.name == name)
    }

    /// Returns all columns that occur in a table, or `None` if they are unknown.
    pub(super) fn columns(&self, name: &str) -> Option<BTreeSet<&str>> {
        let plan = self.get(name)?;
        let generated = plan.columns.iter().map(|(column, _)| column.as_str());
        let declared = plan.def.rows.iter().flat_map(|row| row.keys().map(String::as_str));
        Some(generated.chain(declared).chain([plan.def.key.as_str()]).collect())
    }

    /// Returns the columns that rows of a table can have, or `None` if they are unknown.
    pub(super) fn known_columns(&self, name: &str) -> Option<BTreeSet<&str>> {
        let written = self.written.get(name).into_iter().flatten().map(String::as_str);
        self.columns(name).map(|columns| columns.into_iter().chain(written).collect())
    }

    pub(super) fn into_checked(self) -> Option<Vec<TablePlan>> {
        self.tables.into_iter().map(|(_, plan)| plan).collect()
    }
}

impl Compiler<'_> {
    /// Returns true if a table exists, and reports a problem otherwise.
    pub(super) fn has_table(&mut self, pointer: &str, name: &str, tables: &Tables) -> bool {
        let exists = tables.names().any(|known| known == name);
        if !exists {
            match tables.tables.is_empty() {
                true => self.at_value(pointer, format!("unknown table `{name}`"), "`world` has no tables".to_owned()),
                false => self.report_unknown(pointer, "table", name, tables.names()),
            }
        }
        exists
    }
}

pub(super) fn compile(compiler: &mut Compiler<'_>) -> Tables {
    let role = compiler.section("/world/role");
    let is_fixed = compiler.section("/world/fixed").unwrap_or_default();
    let mut tables = Vec::new();
    for name in compiler.keys("/world").into_iter().filter(|name| name != "role" && name != "fixed") {
        let pointer = child("/world", &name);
        // Values that are not mappings, such as a misspelled `role`, are not tables.
        if !compiler.content.pointer(&pointer).is_some_and(Value::is_object) {
            continue;
        }
        if name.trim().is_empty() {
            compiler.at_key(&pointer, "a table needs a name", None);
        }
        let file: Option<TableFile> = compiler.section(&pointer);
        let plan = file.and_then(|file| table(compiler, &pointer, &name, file));
        tables.push((name, plan));
    }
    Tables { role, is_fixed, tables, written: written_columns(&compiler.content) }
}

/// Returns the columns that the handlers of a file write, by table. Nothing is reported: what is wrong is reported elsewhere.
fn written_columns(content: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut written: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let values = |value: &Value| -> Vec<Value> {
        value.as_object().into_iter().flatten().map(|(_, value)| value.clone()).collect()
    };
    for action in values(&content["tools"]).iter().flat_map(|tool| values(&tool["actions"])) {
        let handler = &action["handler"];
        let lists = [&handler["also"], &action["meanwhile"]].into_iter().filter_map(Value::as_array);
        let also = lists.flatten().map(|write| (write, &Value::Null));
        for (write, input) in also.chain([(handler, &action["input"])]) {
            let set = write["set"].as_object().into_iter().flat_map(|map| map.keys().map(String::as_str));
            let arguments = declared(input).map(|(name, _)| name);
            let columns: Vec<String> = set.chain(arguments).map(str::to_owned).collect();
            for table in ["insert", "update"].into_iter().filter_map(|kind| write[kind].as_str()) {
                written.entry(table.to_owned()).or_default().extend(columns.clone());
            }
        }
    }
    written
}

fn table(compiler: &mut Compiler<'_>, pointer: &str, name: &str, file: TableFile) -> Option<TablePlan> {
    let (count, columns) = match file.generate {
        Some(generate) => generated_columns(compiler, pointer, &file.key, &file.key_prefix, generate)?,
        None => (0, Vec::new()),
    };
    let singular = file.singular.unwrap_or_else(|| singular(name));
    let def = TableDef { name: name.to_owned(), singular, key: file.key, key_prefix: file.key_prefix, rows: file.rows };
    let plan = TablePlan { def, count, columns };
    check_keys(compiler, pointer, &plan);
    Some(plan)
}

fn check_keys(compiler: &mut Compiler<'_>, pointer: &str, plan: &TablePlan) {
    let key = &plan.def.key;
    let mut seen = BTreeSet::new();
    for (index, row) in plan.def.rows.iter().enumerate() {
        let at = child(&child(pointer, "rows"), index);
        let Some(value) = row.get(key) else {
            compiler.at_value(&at, format!("a row without its key `{key}`"), None);
            continue;
        };
        let at = child(&at, key);
        if !value.is_string() && !value.is_i64() && !value.is_u64() {
            compiler.at_value(
                &at,
                format!("a key must be a text or a whole number, and this is {}", short_json(value)),
                None,
            );
        } else if !seen.insert(canonical_json(value)) || plan.generates_key(value) {
            let help = format!("`{key}` is the key of the table; every row needs its own");
            compiler.at_value(&at, format!("duplicate key {}", short_json(value)), help);
        }
    }
}

fn generated_columns(
    compiler: &mut Compiler<'_>,
    table: &str,
    key: &str,
    key_prefix: &str,
    file: GenerateFile,
) -> Option<(u32, Vec<(String, ColumnGenerator)>)> {
    let fields = child(&child(table, "generate"), "fields");
    let mut columns = Vec::new();
    let mut complete = true;
    for (name, field) in file.fields {
        let pointer = child(&fields, &name);
        match column(compiler, &pointer, field) {
            Some(column) => {
                if name == key && !matches!(column, ColumnGenerator::Sequence(_)) {
                    let help = format!(
                        "write `{name}: {{sequence: \"{key_prefix}{{n}}\"}}`, or leave it out to number the rows"
                    );
                    compiler.at_value(&pointer, format!("generated rows need different keys in `{name}`"), help);
                }
                columns.push((name, column));
            }
            None => complete = false,
        }
    }
    if !columns.iter().any(|(name, _)| name == key) {
        let numbered = match key_prefix {
            "" => ColumnGenerator::Number,
            prefix => ColumnGenerator::Sequence(Sequence::with_prefix(prefix)),
        };
        columns.insert(0, (key.to_owned(), numbered));
    }
    complete.then_some((file.count, columns))
}

fn column(compiler: &mut Compiler<'_>, pointer: &str, field: FieldFile) -> Option<ColumnGenerator> {
    let given = [
        ("pick", field.pick.is_some()),
        ("range", field.range.is_some()),
        ("sequence", field.sequence.is_some()),
        ("phrase", field.phrase.is_some()),
        ("value", field.value.is_some()),
    ];
    compiler.exactly_one(pointer, &given)?;
    if let Some(values) = field.pick {
        return Some(ColumnGenerator::Pick(values));
    }
    if let Some([low, high]) = field.range.as_deref() {
        if low > high {
            let help = format!("a range is [lowest, highest]: [{high}, {low}]");
            compiler.at_value(&child(pointer, "range"), format!("the range [{low}, {high}] is empty"), help);
            return None;
        }
        return Some(ColumnGenerator::Range(*low, *high));
    }
    if let Some(text) = &field.sequence {
        let sequence = Sequence::parse(text);
        if sequence.is_none() {
            let help = "write the row's number once, as `{n}` or with leading zeros as `{n:04}`".to_owned();
            compiler.at_value(&child(pointer, "sequence"), format!("`{text}` does not number the rows"), help);
        }
        return sequence.map(ColumnGenerator::Sequence);
    }
    if let Some(lists) = field.phrase {
        if let Some(index) = lists.iter().position(Vec::is_empty) {
            compiler.at_value(&child(&child(pointer, "phrase"), index), "a list of words must not be empty", None);
            return None;
        }
        return Some(ColumnGenerator::Phrase(lists));
    }
    field.value.map(ColumnGenerator::Constant)
}

/// Returns the singular of a table's name: `invoice` for `invoices`, `company` for `companies`.
fn singular(plural: &str) -> String {
    match (plural.strip_suffix("ies"), plural.strip_suffix('s')) {
        (Some(stem), _) if !stem.is_empty() => format!("{stem}y"),
        (_, Some(stem)) if !stem.is_empty() && !stem.ends_with('s') => stem.to_owned(),
        _ => plural.to_owned(),
    }
}
