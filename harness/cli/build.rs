//! Passes options to the linker that make the release binary smaller.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    // On this target rustc links with LLD, which can merge identical functions, of which Polars has many. Other linkers
    // may not support the options.
    if is("TARGET", "x86_64-unknown-linux-gnu") && is("PROFILE", "release") {
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
