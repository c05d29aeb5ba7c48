#![no_main]

use healbench_core::{ErrorFormat, TemplateSource};
use healbench_fuzz::{Input, render};
use libfuzzer_sys::fuzz_target;

// The template is whatever the fuzzer writes; half of the time one that compiles.
fuzz_target!(|given: (bool, String, Input)| {
    let (ours, text, input) = given;
    let text = if ours { include_str!("../../../scenarios/templates/teaching.jinja").to_owned() } else { text };
    render(&ErrorFormat::Template(TemplateSource { file: "own".to_owned(), text }), input);
});
