//! Comparisons and operands, and the placeholders of texts.

use healbench_core::{Object, ValuePath};
use healbench_engine::definition::{
    Comparison, Condition, Effects, Expression, OPERATORS, Operand, Operator, Progress, RowsCondition, ToolFailure,
    Write,
};
use healbench_engine::placeholders;
use serde_json::Value;

use super::Compiler;
use super::world::Tables;
use crate::declared::{declared_help, is_declared};
use crate::file::{RowsFile, WriteFile};
use crate::locate::child;
use crate::suggest;

/// The names that an action can refer to.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) input: &'a Value,
    pub(super) tables: &'a Tables,
    /// The table of the row that the handler reads or changes, or that a rule counts.
    pub(super) row_of: Option<&'a str>,
}

/// The keys of `when` that are not arguments.
const ROW: &str = "row";
const ROWS: &str = "rows";
const NOW: &str = "now";
/// The keys of references to a value.
const REFERENCES: [&str; 3] = [ROW, "sent", NOW];
/// Names that authors write in place of `sent`.
const OTHER_NAMES: [&str; 4] = ["args", "arguments", "argument", "params"];

impl Compiler<'_> {
    /// Returns the condition of a rule. Keys other than `row`, `rows` and `now` are arguments; so are these, if they are declared.
    pub(super) fn condition(&mut self, pointer: &str, file: &Object, names: Names<'_>) -> Option<Condition> {
        let mut condition = Condition::default();
        let mut is_complete = true;
        for (key, value) in file {
            let at = child(pointer, key);
            if key == ROW && !is_declared(names.input, ROW) {
                is_complete &= self.row_condition(&at, value, names, &mut condition).is_some();
            } else if key == ROWS && !is_declared(names.input, ROWS) {
                let pointers = if value.is_array() { self.items(&at) } else { vec![at] };
                for at in pointers {
                    let rows = self.rows_condition(&at, names);
                    is_complete &= rows.is_some();
                    condition.rows.extend(rows);
                }
            } else if key == NOW && !is_declared(names.input, NOW) {
                for (measure, value) in value.as_object().into_iter().flatten() {
                    let at = child(&at, measure);
                    let one = self.progress(&at, measure, true).zip(self.comparison(&at, value, names));
                    is_complete &= one.is_some();
                    condition.now.extend(one);
                }
                if condition.now.is_empty() && is_complete {
                    let help = "write `now: {calls: …}` or `now: {seconds: …}`".to_owned();
                    self.at_value(&at, "`now` compares calls or seconds", help);
                    is_complete = false;
                }
            } else {
                let path = self.argument(&at, key, names.input, true);
                // An argument that may be an object is compared with one, unless all of its keys are comparisons.
                let constant = value.as_object().filter(|map| {
                    let may_be_object = path.as_ref().is_some_and(|path| may_be_object(path.schema(names.input)));
                    may_be_object && (map.is_empty() || map.keys().any(|key| operator(key).is_none()))
                });
                let comparison = match constant.filter(|map| reference(map).is_none()) {
                    Some(_) => Some(Comparison::equal(value.clone())),
                    None => self.comparison(&at, value, names),
                };
                is_complete &= path.is_some() && comparison.is_some();
                condition.sent.extend(path.zip(comparison));
            }
        }
        is_complete.then_some(condition)
    }

    /// Returns a measure of how far the episode has come, by its name, which stands as a key or as a value.
    pub(super) fn progress(&mut self, pointer: &str, name: &str, is_key: bool) -> Option<Progress> {
        let known = Progress::named(name);
        if known.is_none() {
            let help = suggest::help(name, Progress::ALL.iter().map(|(name, _)| *name));
            self.at(pointer, is_key, format!("`{name}` cannot be counted"), help);
        }
        known
    }

    fn row_condition(
        &mut self,
        pointer: &str,
        value: &Value,
        names: Names<'_>,
        condition: &mut Condition,
    ) -> Option<()> {
        let Some(columns) = value.as_object() else {
            let help = "write the columns of the row: `row: {status: shipped}`".to_owned();
            self.at_value(pointer, "`row` compares columns", help);
            return None;
        };
        let Some(table) = names.row_of else {
            let help = "the handler reads or changes no row; name the table: `rows: {in: TABLE, where: …}`".to_owned();
            self.at_key(pointer, "there is no row to compare", help);
            return None;
        };
        condition.row = self.matching(pointer, columns.iter(), table, names)?;
        Some(())
    }

    fn rows_condition(&mut self, pointer: &str, names: Names<'_>) -> Option<RowsCondition> {
        let file: RowsFile = self.part(pointer)?;
        if !self.has_table(&child(pointer, "in"), &file.table, names.tables) {
            return None;
        }
        let matching = self.matching(&child(pointer, "where"), file.matching.iter(), &file.table, names);
        let count = match &file.count {
            Some(count) => self.comparison(&child(pointer, "count"), count, names),
            None => Some(Comparison::any()),
        };
        Some(RowsCondition { table: file.table, matching: matching?, count: count? })
    }

    /// Returns comparisons of the columns of a table.
    fn matching<'f>(
        &mut self,
        pointer: &str,
        columns: impl Iterator<Item = (&'f String, &'f Value)>,
        table: &str,
        names: Names<'_>,
    ) -> Option<Vec<(ValuePath, Comparison)>> {
        let one = |(column, value): (&String, &Value)| {
            let at = child(pointer, column);
            let path = self.column(&at, column, table, names.tables, true);
            let comparison = self.comparison(&at, value, names);
            Some((path?, comparison?))
        };
        let all: Vec<_> = columns.map(one).collect();
        all.into_iter().collect()
    }

    /// Returns the comparison with a constant, with `{row: COLUMN}` or `{sent: ARGUMENT}`, or by operators such as `less`.
    fn comparison(&mut self, pointer: &str, value: &Value, names: Names<'_>) -> Option<Comparison> {
        let Some(map) = value.as_object().filter(|map| reference(map).is_none()) else {
            return Some(Comparison(vec![(OPERATORS[0].1, self.operand(pointer, value, names)?)]));
        };
        self.check_reference(pointer, value)?;
        let mut parts = Vec::new();
        for (key, value) in map {
            let at = child(pointer, key);
            let Some(operator) = operator(key) else {
                let known = OPERATORS.iter().map(|(name, ..)| *name).chain(REFERENCES);
                self.at_key(&at, format!("unknown comparison `{key}`"), suggest::help(key, known));
                return None;
            };
            let operand = self.operand(&at, value, names)?;
            if let Some(needed) = needed_constant(operator, &operand) {
                self.at_value(&at, format!("`{key}` needs {needed}"), None);
                return None;
            }
            parts.push((operator, operand));
        }
        if parts.is_empty() {
            let known: Vec<&str> = OPERATORS.iter().map(|(name, ..)| *name).collect();
            self.at_value(
                pointer,
                "an empty comparison says nothing",
                format!("write one of {}", suggest::list(&known)),
            );
            return None;
        }
        Some(Comparison(parts))
    }

    pub(super) fn operand(&mut self, pointer: &str, value: &Value, names: Names<'_>) -> Option<Operand> {
        self.check_reference(pointer, value)?;
        match value.as_object().and_then(reference) {
            Some((ROW, path)) => {
                let at = child(pointer, ROW);
                let Some(table) = names.row_of else {
                    self.at_value(&at, "there is no row here to take a value from", None);
                    return None;
                };
                Some(Operand::Row(self.column(&at, path, table, names.tables, false)?))
            }
            Some((NOW, name)) => Some(Operand::Now(self.progress(&child(pointer, NOW), name, false)?)),
            Some((key, path)) => Some(Operand::Sent(self.argument(&child(pointer, key), path, names.input, false)?)),
            None => Some(Operand::Constant(value.clone())),
        }
    }

    /// Reports `{row: 5}` and `{sent: 5}`, which refer to nothing.
    pub(super) fn check_reference(&mut self, pointer: &str, value: &Value) -> Option<()> {
        let named = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        let Some((key, _)) = named.filter(|(key, value)| REFERENCES.contains(&key.as_str()) && !value.is_string())
        else {
            return Some(());
        };
        let what = match key.as_str() {
            ROW => "the name of a column",
            NOW => "`calls` or `seconds`",
            _ => "the name of an argument",
        };
        self.at_value(&child(pointer, key), format!("`{key}` needs {what}"), None);
        None
    }

    /// Returns the path of an argument, which stands as a key or as a value.
    pub(super) fn argument(&mut self, pointer: &str, text: &str, input: &Value, is_key: bool) -> Option<ValuePath> {
        let path = if is_declared(input, text) { ValuePath::of_name(text) } else { self.path(pointer, text, is_key)? };
        if is_declared(input, path.first()) {
            if let Some((name, known)) = path.undeclared(input) {
                let help = suggest::help(name, known.keys().map(String::as_str));
                self.at(pointer, is_key, format!("the input schema declares no `{name}` in `{text}`"), help);
                return None;
            }
            return Some(path);
        }
        let message = format!("the input schema declares no argument `{}`", path.first());
        self.at(pointer, is_key, message, declared_help(input, path.first()));
        None
    }

    fn column(&mut self, pointer: &str, text: &str, table: &str, tables: &Tables, is_key: bool) -> Option<ValuePath> {
        let path = self.path(pointer, text, is_key)?;
        let known = tables.known_columns(table);
        if known.as_ref().is_some_and(|known| !known.contains(path.first())) {
            let help = suggest::help(path.first(), known.iter().flatten().copied());
            self.at(pointer, is_key, format!("unknown column of `{table}`: `{}`", path.first()), help);
            return None;
        }
        Some(path)
    }

    fn path(&mut self, pointer: &str, text: &str, is_key: bool) -> Option<ValuePath> {
        let path = ValuePath::parse(text);
        if let Err(error) = &path {
            self.at(pointer, is_key, error.to_string(), None);
        }
        path.ok()
    }

    fn at(&mut self, pointer: &str, is_key: bool, message: String, help: Option<String>) {
        match is_key {
            true => self.at_key(pointer, message, help),
            false => self.at_value(pointer, message, help),
        }
    }

    /// Returns what a handler writes beside the arguments. `set` are the columns of its own row.
    pub(super) fn effects(
        &mut self,
        pointer: &str,
        set: Option<Vec<(String, Expression)>>,
        except: Vec<String>,
        also: Vec<WriteFile>,
        names: Names<'_>,
    ) -> Option<Effects> {
        for (index, argument) in except.iter().enumerate() {
            let at = child(&child(pointer, "except"), index);
            if self.argument(&at, argument, names.input, false).is_some_and(|path| !path.is_name()) {
                self.at_value(&at, "only whole arguments can be left out", None);
            }
        }
        let also = self.writes(&child(pointer, "also"), also, names);
        Some(Effects { set: set?, except, meanwhile: Vec::new(), also: also? })
    }

    /// Returns the writes of a list.
    pub(super) fn writes(&mut self, pointer: &str, files: Vec<WriteFile>, names: Names<'_>) -> Option<Vec<Write>> {
        let write = |(index, file)| self.write(&child(pointer, index), file, names);
        let writes: Vec<Option<Write>> = files.into_iter().enumerate().map(write).collect();
        writes.into_iter().collect()
    }

    fn write(&mut self, pointer: &str, file: WriteFile, names: Names<'_>) -> Option<Write> {
        let given =
            [("insert", file.insert.is_some()), ("update", file.update.is_some()), ("delete", file.delete.is_some())];
        let kind = self.exactly_one(pointer, &given)?;
        let table = [file.insert, file.update, file.delete].into_iter().flatten().next()?;
        if !self.has_table(&child(pointer, kind), &table, names.tables) {
            return None;
        }
        let unused = [
            ("where", kind == "insert" && !file.matching.is_empty()),
            ("set", kind == "delete" && !file.set.is_empty()),
        ];
        for (key, _) in unused.into_iter().filter(|(_, is_unused)| *is_unused) {
            self.at_key(&child(pointer, key), format!("`{key}` has no meaning together with `{kind}`"), None);
        }
        let matching = self.matching(&child(pointer, "where"), file.matching.iter(), &table, names);
        let set = self.columns(&child(pointer, "set"), &file.set, names);
        if let ("update", Some(key)) = (kind, names.tables.get(&table).map(|plan| &plan.def.key))
            && file.set.contains_key(key)
        {
            self.at_key(&child(&child(pointer, "set"), key), format!("rows keep their key `{key}`"), None);
        }
        let (matching, set) = (matching?, set?);
        Some(match kind {
            "insert" => Write::Insert { table, set },
            "update" => Write::Update { table, matching, set },
            _ => Write::Delete { table, matching },
        })
    }

    /// Reports placeholders of a failure that name nothing, and texts that seem to be one.
    pub(super) fn check_placeholders(&mut self, pointer: &str, failure: &ToolFailure, names: Names<'_>) {
        self.check_texts(pointer, failure, Some(names));
    }

    /// Reports the placeholders of a warning, which has no values for them.
    pub(super) fn check_warning(&mut self, pointer: &str, warning: &ToolFailure) {
        self.check_texts(pointer, warning, None);
    }

    fn check_texts(&mut self, pointer: &str, failure: &ToolFailure, names: Option<Names<'_>>) {
        let details = failure.details.iter().map(|(name, value)| (child("/details", name), value.as_str()));
        let texts = [
            ("/message", Some(failure.message.as_str())),
            ("/recovery", failure.recovery.as_deref()),
            ("/bare", failure.bare.as_deref()),
        ];
        let texts = texts.map(|(key, text)| (key.to_owned(), text)).into_iter().chain(details);
        for (key, text) in texts {
            let at = format!("{pointer}{key}");
            // What a run has stored was shown as it stands.
            let lookalikes = text.into_iter().filter(|_| !self.is_stored).flat_map(lookalikes);
            for inner in lookalikes.collect::<Vec<_>>() {
                let help = "write `{row.COLUMN}`, `{sent.ARGUMENT}`, `{now.calls}` or `{now.seconds}`".to_owned();
                self.at_value(&at, format!("`{{{inner}}}` is shown as it stands"), help);
            }
            let Some(names) = names else {
                if !self.is_stored && text.is_some_and(|text| !placeholders(text).is_empty()) {
                    self.at_value(&at, "a warning has no values for placeholders", None);
                }
                continue;
            };
            for operand in text.into_iter().flat_map(placeholders) {
                match &operand {
                    Operand::Sent(path) => _ = self.argument(&at, &path.to_string(), names.input, false),
                    Operand::Row(path) => match names.row_of {
                        Some(table) => _ = self.column(&at, &path.to_string(), table, names.tables, false),
                        None => self.at_value(&at, format!("there is no row for `{{row.{path}}}`"), None),
                    },
                    Operand::Constant(_) | Operand::Now(_) => {}
                }
            }
        }
    }
}

/// Returns what stands in braces and seems to be a placeholder without being one.
fn lookalikes(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.match_indices('{').filter_map(|(at, _)| Some(text[at + 1..].split_once('}')?.0));
    inner.filter(|inner| {
        // Of two braces, one stands.
        let meant = inner.trim_start_matches('{').trim();
        let name = meant.split_once('.').map(|(name, _)| name);
        let is_reference =
            |name: &str| REFERENCES.iter().chain(&OTHER_NAMES).any(|known| known.eq_ignore_ascii_case(name));
        let seems = name.is_some_and(is_reference) || meant.eq_ignore_ascii_case("sent");
        seems && (inner.starts_with('{') || placeholders(&format!("{{{inner}}}")).is_empty())
    })
}

fn operator(key: &str) -> Option<Operator> {
    OPERATORS.iter().find(|(name, ..)| *name == key).map(|(_, operator, _)| *operator)
}

/// Returns what an operator needs, if a constant is something else.
fn needed_constant(operator: Operator, operand: &Operand) -> Option<&'static str> {
    let value = match operand {
        Operand::Constant(value) => Some(value),
        Operand::Sent(_) | Operand::Row(_) | Operand::Now(_) => None,
    };
    let (needed, is_it) = match operator {
        Operator::In | Operator::NotIn => ("a list", value.is_none_or(Value::is_array)),
        Operator::Present => ("`true` or `false`", value.is_some_and(Value::is_boolean)),
        Operator::Less | Operator::AtMost | Operator::Greater | Operator::AtLeast => {
            ("a number or a text", value.is_none_or(|value| value.is_number() || value.is_string()))
        }
        Operator::Equals | Operator::Not | Operator::Contains | Operator::NotContains => return None,
    };
    (!is_it).then_some(needed)
}

/// Returns true if a value of the schema may be an object.
fn may_be_object(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(name) => name == "object",
        Value::Array(names) => names.iter().any(|name| name == "object"),
        _ => true,
    }
}

/// Returns the key and the text of `{row: COLUMN}`, `{sent: ARGUMENT}` and `{now: calls}`.
fn reference(map: &Object) -> Option<(&'static str, &str)> {
    let (key, value) = map.iter().next().filter(|_| map.len() == 1)?;
    let key = REFERENCES.into_iter().find(|known| known == key)?;
    Some((key, value.as_str()?))
}
