use std::sync::LazyLock;

use healbench_scenarios::{Diagnostic, Syntax, load_str, render_diagnostics};
use proptest::prelude::*;

/// The texts to corrupt.
static TEXTS: LazyLock<Vec<String>> =
    LazyLock::new(|| crate::quickstart().into_iter().map(|scenario| scenario.source.text).collect());

/// Loads a text and checks that its diagnostics are sorted, in range, and can be rendered.
fn try_load(text: &str, syntax: Syntax) -> Option<Vec<Diagnostic>> {
    let diagnostics = load_str("mangled.yaml", text, syntax).err()?;
    assert!(!diagnostics.is_empty());
    assert!(diagnostics.is_sorted());
    let lines = text.split('\n').count();
    for diagnostic in &diagnostics {
        assert!((1..=lines).contains(&diagnostic.line), "{diagnostic}");
        assert!(diagnostic.column >= 1 && diagnostic.length >= 1, "{diagnostic}");
    }
    let sources = [("mangled.yaml".to_owned(), text.to_owned())].into();
    let rendered = render_diagnostics(&diagnostics, &sources, false);
    assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'), "{rendered:?}");
    Some(diagnostics)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mangled_file_never_panics(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        cut in 0_usize..40,
        insert in prop_oneof![
            Just(String::new()), "[ -~]{1,4}", "\\PC{1,3}",
            prop::sample::select(vec!["\t", "\r", "\n", "\0", "\u{1b}[31m", "\u{9b}", "- ", ": ", "{", "[", "&a ", "*a", "<<: "])
                .prop_map(str::to_owned),
        ],
    ) {
        let mut text = which.get(&TEXTS).clone();
        let start = text.floor_char_boundary(at.index(text.len()));
        let end = text.floor_char_boundary((start + cut).min(text.len()));
        text.replace_range(start..end, &insert);
        try_load(&text, Syntax::Yaml);
    }

    #[test]
    fn a_truncated_file_never_panics(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let text = which.get(&TEXTS);
        let end = text.floor_char_boundary(at.index(text.len()));
        try_load(&text[..end], Syntax::Yaml);
    }

    #[test]
    fn any_text_loads_or_is_reported(text in "\\PC{0,60}") {
        try_load(&text, Syntax::Yaml);
        prop_assert!(try_load(&text, Syntax::Json).is_some());
    }
}

#[test]
fn hostile_files_do_not_hang_or_overflow() {
    let bomb = (1..30).fold("a0: &a0 [x, x]\n".to_owned(), |mut text, n| {
        let m = n - 1;
        text.push_str(&format!("a{n}: &a{n} [*a{m}, *a{m}, *a{m}, *a{m}]\n"));
        text
    });
    let deep = "[".repeat(100_000);
    let deep_map = (0..3_000).fold(String::new(), |text, n| text + &" ".repeat(n) + "a:\n");
    let deep_json = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
    let long = format!("id: {}\n", "x".repeat(200_000));
    let cycle = "a: &a\n  b: *a\n".to_owned();
    let table = [
        (bomb, "the aliases (`*name`) unfold to too much"),
        (deep, "nested more than 24 levels deep"),
        (deep_map, "nested more than 24 levels deep"),
        (deep_json.clone(), "nested more than 24 levels deep"),
        (cycle, "an anchor that contains itself"),
    ];
    for (text, wanted) in table {
        assert_eq!(try_load(&text, Syntax::Yaml).unwrap()[0].message, wanted);
    }
    assert_eq!(try_load(&deep_json, Syntax::Json).unwrap()[0].message, "nested more than 100 levels deep");
    assert!(try_load(&long, Syntax::Yaml).is_some());
}
