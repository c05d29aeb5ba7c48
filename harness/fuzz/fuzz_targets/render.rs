#![no_main]

use healbench_core::FORMATS;
use healbench_fuzz::{Input, render};
use libfuzzer_sys::fuzz_target;

// Any text in any built-in format.
fuzz_target!(|given: (u8, Input)| {
    let (format, input) = given;
    render(&FORMATS[usize::from(format) % FORMATS.len()].format, input);
});
