#![no_main]

use healbench_fuzz::{Input, render};
use healbench_protocol::ErrorFormat;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| render(&ErrorFormat::ProblemJson, input));
