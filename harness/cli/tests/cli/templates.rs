//! Templates of the user that ask for more memory, time or stack than there is: an error line, or an error in their place.

#![allow(clippy::print_stderr, reason = "a long run says what it met")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::*;

const TOOLS: &str = r#"{"tools": [
    {"name": "ping", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}},
    {"name": "pong", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
]}"#;

/// Templates, and the reasons why there is no text.
fn hostile() -> Vec<(String, &'static str)> {
    let memory = "more than 256 MiB of memory";
    let doubling = "{% set x = message ~ 'x' %}".to_owned() + &"{% set x = x ~ x %}".repeat(40);
    vec![
        (r#"{{ "a\nb"|indent(10000000000) }}"#.to_owned(), memory),
        (format!("{doubling}{{{{ x|length }}}}"), memory),
        (doubling.replace("x ~ x", "[x, x]|join"), memory),
        (doubling.replace("x ~ x", "x|replace('x', 'xxxxxxxx')"), memory),
        ("{{ ".to_owned() + &"(message * 1500000) ~ ".repeat(8) + "message }}", memory),
        ("{{ ([message] * 99999999)|list|length }}".to_owned(), memory),
        ("{% set x %}{% for i in range(9999) %}{{ 'x' * 999999 }}{% endfor %}{% endset %}".to_owned(), memory),
        ("{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}".to_owned(), "its text has more than 1 MiB"),
        ("{% for i in range(9999) %}{% for i in range(9999) %}{{ i }}{% endfor %}{% endfor %}".to_owned(), ""),
        ("{{ ".to_owned() + &"1 ~ ".repeat(1_000_000) + "1 }}", "nested too deeply"),
    ]
}

fn calls(sandbox: &Sandbox, template: &str) -> (CommandResult, Vec<Value>) {
    sandbox.write("t.jinja", template);
    let mut command = sandbox.command(&["call", "--tools", "tools.json", "--format", "template:t.jinja"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let calls = format!("{}\n{}\n", json!({"tool": "ping", "arguments": {}}), json!({"tool": "pong", "arguments": {}}));
    // A command that refuses the template reads nothing.
    let _ = child.stdin.take().unwrap().write_all(calls.as_bytes());
    let result = CommandResult::new(child.wait_with_output().unwrap());
    let results = result.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (result, results)
}

#[cfg(target_os = "linux")]
#[test]
fn a_template_that_asks_for_too_much_is_an_error_line_or_an_error_in_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", TOOLS);
    for (template, reason) in hostile() {
        let shown = &template[..template.len().min(60)];
        let (refused, _) = calls(&sandbox, &template);
        assert_eq!(refused.code, Some(2), "{shown}: {}", refused.err);
        assert!(refused.err.starts_with("error: template `t.jinja`, line "), "{shown}: {}", refused.err);
        assert!(refused.err.lines().count() == 1 && refused.err.contains(reason), "{shown}: {}", refused.err);
        if template.len() > 1_000_000 {
            continue;
        }
        // It does so for one tool only, which is not known before.
        let (answered, results) = calls(&sandbox, &format!("{{% if tool == 'ping' %}}{template}{{% endif %}}fine"));
        assert_eq!((answered.code, answered.err.as_str()), (Some(0), ""), "{shown}");
        let texts = results.iter().map(|result| result["content"][0]["text"].as_str().unwrap());
        let [ping, pong] = texts.collect::<Vec<_>>()[..] else { panic!("{results:?}") };
        assert!(ping.contains("[template `t.jinja` failed: ") && ping.contains(reason), "{shown}: {ping}");
        assert_eq!(pong, "fine", "{shown}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_goes_on_after_a_template_that_asks_for_too_much() {
    let sandbox = Sandbox::new();
    let (hostile, reason) = &hostile()[0];
    sandbox.write("t.jinja", &format!("{{% if description %}}{hostile}{{% endif %}}fine"));
    let args = ["run", "quickstart/missing-field", "--agent", "scripted:blind", "--trials", "2", "--format"];
    sandbox.ok(&[&args[..], &["template:t.jinja", "--jobs", "2", "--out", "r"]].concat());
    let shown = sandbox.ok(&["show", "r", "0", "--guardrails", "all", "--full"]).out;
    assert!(unbroken(&shown).contains(reason), "{shown}");
    assert!(sandbox.ok(&["report", "r", "--output", "html"]).out.contains("template:t.jinja"));
}

/// A source of random templates.
struct Templates(u64);

impl Templates {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }

    fn one_of<'a>(&mut self, words: &'a str) -> &'a str {
        let words: Vec<&str> = words.split(' ').collect();
        words[self.below(words.len())]
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 || self.below(4) == 0 {
            let values = "x ns.x message issues schema arguments 'ab' 'a\\nb' 7 0 -1 1e300 9223372036854775807 99999999 \
                          10000000000 1.5 none true range(9999) range(9,0,-1) [] {} dict(a=1) missing";
            return self.one_of(values).to_owned();
        }
        let (a, b) = (self.value(depth - 1), self.value(depth - 1));
        match self.below(9) {
            0 => format!("({a} ~ {b})"),
            1 => format!("({a} {} {b})", self.one_of("+ * - ** // % / in == < and")),
            2 => format!("[{a}, {b}]"),
            3 => format!("{{'k': {a}, 'l': {b}}}"),
            4 => format!("{a}[{b}:]"),
            5 => format!("{a}[::{b}]"),
            6 => format!("({a} if {b} else x)"),
            _ => {
                let filters = "indent join replace batch slice list tojson string length sort unique reverse map groupby items \
                               dictsort sum upper title round default first select split lines xml line int float min";
                let filter = self.one_of(filters);
                match self.below(3) {
                    0 => format!("({a}|{filter})"),
                    1 => format!("({a}|{filter}({b}))"),
                    _ => format!("({a}|{filter}({b}, x))"),
                }
            }
        }
    }

    fn statements(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..=self.below(4) {
            let value = self.value(3);
            let inner = if depth > 0 { self.statements(depth - 1) } else { "y".to_owned() };
            out.push_str(&match self.below(7) {
                0 => format!("{{{{ {value} }}}}"),
                1 => format!("{{% set x = {value} %}}"),
                2 => format!("{{% set ns.x = {value} %}}"),
                3 => format!("{{% for i in range(9999) %}}{inner}{{% endfor %}}"),
                4 => format!("{{% for x in {value} recursive %}}{inner}{{{{ loop([x]) }}}}{{% endfor %}}"),
                5 => format!("{{% set x %}}{inner}{{% endset %}}"),
                _ => format!("{{% set x = {value} %}}{}", "{% set x = [x, x] %}".repeat(self.below(60))),
            });
        }
        out
    }
}

/// Some templates; as many as `HEALBENCH_FUZZ_SECONDS` lets, if it is set.
#[cfg(target_os = "linux")]
#[test]
fn whatever_a_template_says_there_is_a_text_or_one_error() {
    let seconds: Option<u64> = std::env::var("HEALBENCH_FUZZ_SECONDS").ok().map(|text| text.parse().unwrap());
    let started = std::time::Instant::now();
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", TOOLS);
    let mut ends = BTreeMap::new();
    for seed in 1_u64.. {
        if seconds.map_or(seed > 12, |seconds| started.elapsed().as_secs() > seconds) {
            break;
        }
        let mut templates = Templates(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let template = format!("{{% set ns = namespace(x='a') %}}{}", templates.statements(2));
        let (result, results) = calls(&sandbox, &template);
        let shown = format!("seed {seed}, {template}: {}", result.err);
        match result.code {
            Some(0) => assert!(result.err.is_empty() && results.len() == 2, "{shown}"),
            Some(2) => assert!(result.err.starts_with("error: ") && result.err.lines().count() == 1, "{shown}"),
            _ => panic!("{shown}"),
        }
        let words: String = result.err.split(": ").last().unwrap_or_default().trim().chars().take(40).collect();
        *ends.entry(words).or_insert(0) += 1;
    }
    if seconds.is_some() {
        eprintln!("{ends:#?}");
    }
}
