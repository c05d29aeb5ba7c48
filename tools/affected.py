#!/usr/bin/env python3
"""Runs the tests of the crates that have changes: those not committed, and those since the branch left main.

usage: tools/affected.py [BASE]

BASE is the branch or commit to compare with [default: main]. Of the program's crate only the unit tests run; its other tests start the
program, and take minutes.
"""
import json
import subprocess
import sys
from pathlib import Path


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


base = sys.argv[1] if len(sys.argv) > 1 else "main"
root = Path(output("git", "rev-parse", "--show-toplevel").strip())
since = output("git", "merge-base", base, "HEAD").strip()
changed = output("git", "diff", "--name-only", since).split() + output("git", "ls-files", "--others", "--exclude-standard").split()
packages = json.loads(output("cargo", "metadata", "--no-deps", "--format-version", "1"))["packages"]
folders = {Path(package["manifest_path"]).parent.relative_to(root): package["name"] for package in packages}
affected = {next((folders[folder] for folder in Path(path).parents if folder in folders), None) for path in changed} - {None}
program = affected & {"healbench"}
tests = [option for name in sorted(affected - program) for option in ("-p", name)]
print("changed:", ", ".join(sorted(affected)) or "no crate", flush=True)
for command in [["cargo", "test", *tests]] * bool(tests) + [["cargo", "test", "-p", "healbench", "--bins"]] * bool(program):
    subprocess.run(command, check=True)
