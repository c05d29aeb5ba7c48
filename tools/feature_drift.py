#!/usr/bin/env python3
"""Compares the features of crates in the program with those in the tests of the workspace.

usage: tools/feature_drift.py

A crate that the tests want with other features than the program is built a second time by `cargo test`, and so is everything that depends on it. Exits 1
and names these crates if there are any.
"""

import collections
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def features(*selection):
    """Returns the sets of features of every crate on this platform; a crate that build scripts and macros use may have two."""
    command = ["cargo", "tree", "--locked", "--prefix", "none", "--format", "{p}\t{f}\t", *selection]
    tree = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = collections.defaultdict(set)
    for line in tree.splitlines():
        if line:
            crate, enabled, _ = line.split("\t")
            found[" ".join(crate.split()[:2])].add(enabled)
    return found


def main():
    # What `cargo build` and `cargo run` build, and what `cargo test --workspace` builds.
    program = features("--edges", "normal,build")
    tests = features("--workspace", "--edges", "normal,build,dev")
    different = [crate for crate in sorted(program) if not program[crate] <= tests[crate]]
    for crate in different:
        sets = (" and ".join(f"[{enabled}]" for enabled in sorted(found[crate])) or "nothing" for found in (program, tests))
        print("{}: the program has {}, the tests have {}".format(crate, *sets))
    if different:
        print("A normal dependency with the features of the tests builds such a crate once (reports/frames/Cargo.toml has some).")
        return 1
    print(f"the {len(program)} crates of the program have the same features in the tests")
    return 0


sys.exit(main())
