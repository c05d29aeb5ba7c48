//! Tests of transcripts on a terminal.

use healbench_analysis::{CallStep, SentCall, Transcript, TranscriptStep, note_reactions};
use healbench_core::{CallRecord, Condition, ErrorFormat, ErrorKind, ErrorReading, Guardrails, Outcome};
use healbench_render::{TranscriptOptions, transcript};
use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

const PIPE: TranscriptOptions = TranscriptOptions { width: 80, color: false, full: false };

/// Returns the calls of one chain, one in a turn, each with its response; the last one succeeds.
fn calls(made: &[(Value, &str)]) -> Vec<TranscriptStep> {
    let mut sent: Vec<SentCall> = Vec::new();
    let step = |(index, (arguments, response)): (usize, &(Value, &str))| {
        let is_error = index + 1 < made.len();
        let row = CallRecord {
            call: index as u32 + 1,
            turn: Some(index as u32 + 1),
            tool: "users".into(),
            action: Some("invite".into()),
            is_error,
            error_class: is_error.then(|| "VALIDATION".into()),
            chain: Some(1),
            request_tokens: 30,
            response_tokens: 60,
            guardrail_tokens: if is_error { 55 } else { 0 },
            ..CallRecord::default()
        };
        let call = SentCall { arguments: arguments.clone(), row };
        let step = CallStep::new(&sent, &call, index == 0, (*response).to_owned());
        sent.push(call);
        TranscriptStep::Call(Box::new(step))
    };
    made.iter().enumerate().map(step).collect()
}

fn transcript_with(steps: Vec<TranscriptStep>) -> Transcript {
    Transcript {
        episode: Some(1234),
        scenario: "users/invite".to_owned(),
        description: "Whether the answer names the role.".to_owned(),
        agent: "openai:gpt-5-mini · seeded · native".to_owned(),
        condition: (&Condition::new(Guardrails::ALL, ErrorFormat::FusionXml)).into(),
        trial: 2,
        prompt: "Invite Priya as an editor.".to_owned(),
        calls: steps.iter().filter(|step| matches!(step, TranscriptStep::Call(_))).count() as u32,
        steps,
        outcome: Outcome::TaskFail,
        unmet: vec!["a row in users".to_owned()],
    }
}

fn two_calls() -> Transcript {
    let first = json!({"action": "invite", "role": "root", "teams": [{"id": 1}, {"id": 2}], "foo": 1});
    let second = json!({"action": "invite", "role": "editor", "teams": [{"id": 1}, {"id": 7}], "currency": "USD"});
    let error = "<validation_error>\n  <field name=\"role\">Invalid enum value. You sent: 'root'. Valid options: 'viewer', 'editor'.</field>\n</validation_error>";
    let mut steps = vec![TranscriptStep::Message("First this.".to_owned())];
    steps.extend(calls(&[(first.clone(), error), (first, error), (second, "{\"id\":1}")]));
    steps.insert(2, TranscriptStep::Wait { seconds: 1 });
    steps.extend([TranscriptStep::Answer(String::new())]);
    transcript_with(steps)
}

#[test]
fn a_call_of_two_digits_is_apart_from_its_tool_and_one_without_a_result_is_not_ok() {
    let mut steps = calls(&vec![(json!({}), "none"); 10]);
    if let Some(TranscriptStep::Call(call)) = steps.last_mut() {
        (call.row.response_tokens, call.response) = (0, String::new());
    }
    let shown = transcript(&transcript_with(steps), PIPE);
    assert!(shown.contains("call 9 users") && shown.contains("call 10 users"), "{shown}");
    assert!(shown.contains("NO RESULT") && !shown.contains("OK"), "{shown}");
}

#[test]
fn only_a_success_is_green_and_only_a_failure_is_red() {
    let verdict = |change: fn(&mut CallStep)| {
        let mut steps = calls(&[(json!({}), "done")]);
        let Some(TranscriptStep::Call(call)) = steps.last_mut() else { panic!("{steps:?}") };
        change(call);
        let episode = Transcript { outcome: Outcome::Unknown, unmet: Vec::new(), ..transcript_with(steps) };
        let shown = transcript(&episode, TranscriptOptions { color: true, ..PIPE });
        assert!(shown.ends_with("\u{1b}[2mend    \u{1b}[0munknown after 1 call\n"), "{shown}");
        let line = shown.lines().find(|line| line.contains('→')).unwrap();
        line.split("\u{1b}[2m  →    \u{1b}[0m").nth(1).unwrap().split("  ").next().unwrap().to_owned()
    };
    assert_eq!(verdict(|_| {}), "\u{1b}[32mOK");
    assert_eq!(verdict(|call| call.row.is_error = true), "\u{1b}[31mERROR");
    assert_eq!(verdict(|call| call.refused = true), "REFUSED");
    assert_eq!(verdict(|call| call.row.response_tokens = 0), "NO RESULT");
}

#[test]
fn a_text_that_the_agent_acts_on_is_not_said_to_have_nothing() {
    let nothing =
        ErrorReading { kind: ErrorKind::Unclear, names_field: false, states_remedy: false, names_tool: false };
    let said = |made: &[(Value, &str)], kind: ErrorKind| {
        let mut steps = calls(made);
        for step in &mut steps {
            if let TranscriptStep::Call(call) = step {
                call.row.is_error = call.response != "done";
                call.row.reading = call.row.is_error.then_some(ErrorReading { kind, ..nothing });
            }
        }
        note_reactions(&mut steps);
        transcript(&transcript_with(steps), PIPE).replace("\n           ", " ").matches("found nothing").count()
    };
    let [root, editor] = ["root", "editor"].map(|role| json!({"role": role}));
    let made = |second: &Value, end| [(root.clone(), "Failed."), (second.clone(), end)];
    // The last error has no next call.
    assert_eq!(said(&made(&editor, "Failed."), ErrorKind::Unclear), 1);
    assert_eq!(said(&made(&root, "Failed."), ErrorKind::Unclear), 2);
    assert_eq!(said(&made(&root, "done"), ErrorKind::Unclear), 0);
    assert_eq!(said(&made(&root, "Failed."), ErrorKind::Transient), 0);
}

#[test]
fn changes_are_described_where_there_is_no_color() {
    insta::assert_snapshot!(transcript(&two_calls(), TranscriptOptions { width: 60, ..PIPE }), @r#"
    users/invite · openai:gpt-5-mini · seeded · native
    all/fusion-xml · trial 2 · episode 1234
    Whether the answer names the role.

    task   Invite Priya as an editor.
    says   First this.

    call 1 users {"action":"invite","role":"root",
           "teams":[{"id":1},{"id":2}],"foo":1}
           scheduled opening: no request was sent to the model
      →    VALIDATION  30 tokens sent, 60 tokens back, 55
           guardrail tokens
           <validation_error>
             <field name="role">Invalid enum value. You sent:
             'root'. Valid options: 'viewer', 'editor'.</field>
           </validation_error>
    waits  1 second

    call 2 users {"action":"invite","role":"root",
           "teams":[{"id":1},{"id":2}],"foo":1}
           the same arguments again
      →    VALIDATION  30 tokens sent, 60 tokens back, 55
           guardrail tokens
           <validation_error>
             <field name="role">Invalid enum value. You sent:
             'root'. Valid options: 'viewer', 'editor'.</field>
           </validation_error>

    call 3 users {"action":"invite","role":"editor",
           "teams":[{"id":1},{"id":7}],"currency":"USD"}
           changes role: "root" → "editor", teams[1].id: 2 → 7;
           adds currency: "USD"; drops foo
      →    OK  30 tokens sent, 60 tokens back
           {"id":1}
    answer (nothing)

    unmet  a row in users
    end    failed after 3 calls
    "#);
}

#[test]
fn changed_arguments_are_highlighted_in_color() {
    let text = transcript(&two_calls(), TranscriptOptions { color: true, ..PIPE });
    let call = text.lines().find(|line| line.contains("call 3")).unwrap();
    insta::assert_snapshot!(call.replace('\u{1b}', "^"), @r#"^[2mcall 3 ^[0musers {"action":"invite","role":^[1;4;33m"editor"^[0m,"teams":[{"id":1},{"id":^[1;4;33m7^[0m}],"#);
    let plain = transcript(&two_calls(), PIPE);
    assert!(!plain.contains('\u{1b}'));
    assert_eq!(without_colors(&text), plain);
}

/// Removes ANSI sequences.
fn without_colors(text: &str) -> String {
    let parts = text.split("\u{1b}[").enumerate();
    parts.map(|(index, part)| if index == 0 { part } else { part.split_once('m').unwrap().1 }).collect()
}

/// A text of a scenario, a server or a model that attacks the terminal of its reader.
const HOSTILE: &str = "<script>alert(1)</script> ]]> \u{1b}[31mred\u{1b}]0;owned\u{7} \u{202e}evil \u{2066}isolated\u{2069} \u{9b}2J\r\u{8}";

fn hostile(long: &str) -> Transcript {
    let text = format!("{HOSTILE}\n{long}");
    let mut steps = calls(&[
        (json!({"action": HOSTILE, HOSTILE: long}), &text),
        (json!({"action": HOSTILE, HOSTILE: HOSTILE}), &text),
        (json!(long), &text),
    ]);
    for make in [
        TranscriptStep::Message,
        TranscriptStep::User,
        TranscriptStep::Done,
        TranscriptStep::Answer,
        TranscriptStep::Incomplete,
        TranscriptStep::GiveUp,
        TranscriptStep::Failed,
    ] {
        steps.push(make(text.clone()));
    }
    for step in &mut steps {
        if let TranscriptStep::Call(call) = step {
            call.tool = HOSTILE.to_owned();
            call.row.error_class = Some(text.as_str().into());
        }
    }
    Transcript {
        scenario: text.clone(),
        description: text.clone(),
        agent: text.clone(),
        prompt: text.clone(),
        unmet: vec![text],
        ..transcript_with(steps)
    }
}

#[test]
fn hostile_texts_are_shown_and_never_obeyed() {
    // A line of a mebibyte is tested below; here it would only be slow.
    for long in ["x", "\u{301}", " ", "☺\u{fe0f}"].map(|text| text.repeat(1 << 12)) {
        let hostile = hostile(&long);
        let text = transcript(&hostile, PIPE);
        let raw =
            |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!text.contains(raw), "{:?}", text.find(raw));
        assert!(text.lines().all(|line| line.width() <= 80));
        // A truncated line ends with a notice: 18 texts, and arguments.
        assert!(text.len() < 60_000, "{}", text.len());
        assert!(text.contains("<script>alert(1)</script> ]]> \\u{1b}[31mred"), "{text}");
        assert!(text.contains("more characters"), "{text}");
        let full = transcript(&hostile, TranscriptOptions { full: true, ..PIPE });
        assert!(!full.contains(raw) && !full.contains("more character"));
        assert!(full.lines().all(|line| line.width() <= 80));
    }
    // The number of omitted characters is exact.
    let steps = vec![TranscriptStep::Message("x".repeat(1 << 20)), TranscriptStep::Message("line\n".repeat(100))];
    let text = transcript(&transcript_with(steps), PIPE);
    assert!(text.contains("… 1,048,176 more characters"), "{text}");
    assert!(text.contains("… 77 lines more …") && text.matches("line\n").count() == 23, "{text}");
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal_and_nothing_is_lost(text in "[ ,a-é\u{301}中☺\u{fe0f}\u{1f3fd}\n\u{1b}\\PC]{0,200}", width in 60usize..140) {
        let episode = transcript_with(vec![TranscriptStep::Message(text.clone())]);
        let shown = transcript(&episode, TranscriptOptions { width, color: false, full: true });
        for line in shown.lines() {
            prop_assert!(line.width() <= width, "{line:?}");
        }
        let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let plain: String = text.lines().map(|line| healbench_text::plain_text(line).into_owned()).collect();
        prop_assert!(visible(&shown).contains(&visible(&plain)), "{shown}");
    }
}
