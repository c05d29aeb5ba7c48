//! Random operations on a table, and the same on a plain list of rows: all answers are equal.

use healbench_engine::definition::{Filter, Relation, Rule};

use super::*;

/// The operations of one test run; `HEALBENCH_WORLD_OPERATIONS` asks for more.
const OPERATIONS: u64 = 60_000;
/// A new table after as many, so that there are always base rows.
const PER_TABLE: u64 = 200;

fn tools() -> Vec<Tool> {
    let table = || "rows".to_owned();
    let filter = |column: &str, relation| Filter { argument: column.to_owned(), column: column.to_owned(), relation };
    let filters = vec![filter("group", Relation::Equal), filter("size", Relation::Before)];
    let any = || json!({"additionalProperties": true});
    let mut add = action("add", any(), Handler::Insert { table: table() });
    add.rules = vec![Rule::Conflict { table: table(), fields: vec!["email".to_owned()] }];
    let mut set = action("set", any(), Handler::Update { table: table(), by: "id".to_owned() });
    set.rules = vec![Rule::Conflict { table: table(), fields: vec!["email".to_owned()] }];
    let actions = vec![
        action("list", any(), Handler::Select { table: table(), filters, page: None }),
        action("get", any(), Handler::Get { table: table(), by: "id".to_owned() }),
        add,
        set,
        action("rename", any(), Handler::Update { table: table(), by: "old".to_owned() }),
        action("del", any(), Handler::Delete { table: table(), by: "id".to_owned() }),
    ];
    vec![tool("rows", actions)]
}

/// A generator of pseudorandom numbers (xorshift), the same in every test run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// Returns a key: mostly one of few integers, sometimes with a fraction of zero, a string or null.
    fn key(&mut self) -> Value {
        let number = self.below(12) + 1;
        match self.below(12) {
            0 => json!(number as f64),
            1 => json!(number.to_string()),
            2 => Value::Null,
            _ => json!(number),
        }
    }

    fn row(&mut self) -> Object {
        let mut row = Object::new();
        if self.below(3) > 0 {
            row.insert("email".to_owned(), json!(format!("user{}@example.com", self.below(20))));
        }
        if self.below(2) > 0 {
            row.insert("group".to_owned(), self.one(&[json!("a"), json!("b"), Value::Null]));
        }
        if self.below(2) > 0 {
            row.insert("size".to_owned(), self.one(&[json!(1), json!(2.5), json!(3), json!("3"), Value::Null]));
        }
        row
    }
}

/// A list of rows that does as the documentation of handlers says.
#[derive(Default)]
struct Model {
    rows: Vec<Object>,
    base_rows: usize,
    generated: usize,
}

impl Model {
    fn at(&self, key: &Value) -> Option<usize> {
        self.rows.iter().position(|row| same(&row["id"], key))
    }

    /// Returns the answer, or the code of the error.
    fn call(&mut self, name: &str, sent: &Object) -> Result<Value, &'static str> {
        let by = if name == "rename" { "old" } else { "id" };
        let found = self.at(sent.get(by).unwrap_or(&Value::Null));
        let own = found.filter(|_| name == "set");
        // A row keeps what is not sent.
        let email = sent.get("email").or_else(|| self.rows[own?].get("email"));
        let is_taken = self.rows.iter().enumerate().any(|(at, row)| row.get("email") == email && Some(at) != own);
        match name {
            "list" => {
                let is_shown = |row: &&Object| {
                    let group = sent.get("group").is_none_or(|group| row.get("group") == Some(group));
                    let size = |limit: &Value| match (row.get("size"), limit) {
                        (Some(Value::Number(size)), Value::Number(limit)) => size.as_f64() < limit.as_f64(),
                        (Some(Value::String(size)), Value::String(limit)) => size < limit,
                        _ => false,
                    };
                    group && sent.get("size").is_none_or(size)
                };
                let offset = sent.get("offset").and_then(Value::as_u64).unwrap_or(0) as usize;
                let limit = sent.get("limit").and_then(Value::as_u64).map_or(usize::MAX, |limit| limit as usize);
                let rows = self.rows.iter().filter(is_shown).skip(offset).take(limit);
                Ok(rows.cloned().map(Value::Object).collect())
            }
            "add" if is_taken => Err("CONFLICT"),
            "add" => {
                let mut row = sent.clone();
                if row.get("id").is_some_and(Value::is_null) {
                    row.shift_remove("id");
                }
                match row.get("id") {
                    Some(key) if self.at(key).is_some() => return Err("CONFLICT"),
                    Some(_) => {}
                    None => {
                        let key = loop {
                            self.generated += 1;
                            let key = json!(self.base_rows + self.generated);
                            if self.at(&key).is_none() {
                                break key;
                            }
                        };
                        row.shift_insert(0, "id".to_owned(), key);
                    }
                }
                self.rows.push(row.clone());
                Ok(Value::Object(row))
            }
            "set" if is_taken => Err("CONFLICT"),
            _ if found.is_none() => Err("NOT_FOUND"),
            _ => {
                let at = found.unwrap();
                match name {
                    "get" => Ok(Value::Object(self.rows[at].clone())),
                    "del" => {
                        self.rows.remove(at);
                        Ok(json!({"deleted": sent[by]}))
                    }
                    _ => {
                        let new_key = sent.get("id").filter(|key| by != "id" && !key.is_null());
                        if new_key.is_some_and(|key| self.at(key).is_some_and(|taken| taken != at)) {
                            return Err("CONFLICT");
                        }
                        let kept =
                            |(name, value): &(&String, &Value)| *name != by && (*name != "id" || !value.is_null());
                        let changes = sent.iter().filter(kept).map(|(name, value)| (name.clone(), value.clone()));
                        self.rows[at].extend(changes);
                        Ok(Value::Object(self.rows[at].clone()))
                    }
                }
            }
        }
    }
}

/// Returns true for equal keys, such as 1 and 1.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

#[test]
fn a_table_behaves_like_a_list_of_rows() {
    let asked = std::env::var("HEALBENCH_WORLD_OPERATIONS").ok().map(|number| number.parse().unwrap());
    let operations: u64 = asked.unwrap_or(OPERATIONS);
    let engine = engine(&tools(), "healing".parse().unwrap());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut answered = [0_u64; 2];
    for table in 0..operations.div_ceil(PER_TABLE) {
        let base_rows = random.below(6) as usize;
        let rows: Vec<Object> = (1..=base_rows)
            .map(|id| {
                let mut row = random.row();
                row.insert("id".to_owned(), json!(id));
                row.insert("email".to_owned(), json!(format!("base{id}@example.com")));
                row
            })
            .collect();
        let mut model = Model { rows: rows.clone(), base_rows, generated: 0 };
        let def = TableDef {
            name: "rows".to_owned(),
            singular: "row".to_owned(),
            key: "id".to_owned(),
            key_prefix: String::new(),
            rows,
        };
        let mut world = world(WorldDef { tables: vec![def], ..WorldDef::default() });
        for step in 0..PER_TABLE {
            let name = random.one(&["list", "get", "add", "add", "set", "set", "rename", "del"]);
            let mut sent = if matches!(name, "add" | "set" | "rename") { random.row() } else { Object::new() };
            match name {
                "list" => {
                    for (argument, value) in
                        [("group", json!("a")), ("size", json!(3)), ("limit", json!(2)), ("offset", json!(1))]
                    {
                        if random.below(3) == 0 {
                            sent.insert(argument.to_owned(), value);
                        }
                    }
                }
                "add" if random.below(2) == 0 => {}
                "rename" => {
                    sent.insert("old".to_owned(), random.key());
                    sent.insert("id".to_owned(), random.key());
                }
                _ => drop(sent.insert("id".to_owned(), random.key())),
            }
            let expected = model.call(name, &sent);
            let mut arguments = sent.clone();
            arguments.insert("action".to_owned(), json!(name));
            let reply = engine.call(&mut world, &call("rows", Value::Object(arguments)));
            let place = format!("table {table}, step {step}: {name} {}", Value::Object(sent));
            match (reply.failure, expected) {
                (None, Ok(expected)) => {
                    let text = reply.response.text();
                    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{place}: {text}"));
                    assert_eq!(answer, expected, "{place}");
                    answered[0] += 1;
                }
                (Some(failure), Err(code)) => {
                    assert_eq!(failure.class().to_string(), code, "{place}");
                    answered[1] += 1;
                }
                (failure, expected) => panic!("{place}: {failure:?}, and not {expected:?}"),
            }
            let rows: Vec<&Object> = world.tables().rows("rows");
            assert!(rows.len() == model.rows.len() && rows.iter().zip(&model.rows).all(|(a, b)| *a == b), "{place}");
        }
    }
    // Both kinds of answers are common.
    assert!(answered.iter().all(|count| *count > operations / 10), "{answered:?}");
}
