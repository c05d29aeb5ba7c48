#!/usr/bin/env python3
"""Prints the size and the structure of the project.

usage: tools/structure.py [--program PROGRAM] [REVISION]

Without a revision it counts the working tree. Lines of code and of tests are without blank lines and comments; tests are the folders `tests`,
files named `tests.rs`, and modules under `#[cfg(test)]`. Circles are groups of files of a crate that use each other, by their `use crate::`
and `use super::` lines; `mod.rs` and a file beside a folder of its name are the module of that name. With a program it also counts the
commands, and the options of `run`.
"""
import argparse
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

LONG_FILE, LONG_FUNCTION = 500, 60
TEST_MODULE = re.compile(r"^#\[cfg\(test\)\]\n(?:#\[[^\n]*\n)*(?:pub(?:\([^)]*\))? )?mod \w+ \{\n.*?^\}\n", re.S | re.M)
GENERATED = {"docs/SUMMARY.md"}

sys.setrecursionlimit(10_000)
options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
options.add_argument("--program")
options.add_argument("revision", nargs="?")
options = options.parse_args()


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def read(path):
    if options.revision:
        return output("git", "show", f"{options.revision}:{path}")
    return Path(path).read_text() if Path(path).exists() else ""


def code_lines(text):
    lines = (line.strip() for line in text.split("\n"))
    return sum(1 for line in lines if line and not line.startswith("//"))


def long_functions(text):
    """The names and lengths of functions with too many lines, by the indentation of their closing brace."""
    for start in re.finditer(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn (\w+)", text, re.M):
        end = re.compile(rf"^{start[1]}\}}", re.M).search(text, start.end())
        lines = text.count("\n", start.start(), end.end()) + 1 if end else 0
        if lines > LONG_FUNCTION:
            yield start[2], lines


def module_of(path):
    """The path of a file's module within its crate."""
    parts = path.split("/src/")[1].removesuffix(".rs").split("/")
    return tuple(parts[:-1] if parts[-1] in ("lib", "main", "mod") else parts)


def used_paths(text):
    """The paths that `use` lines name, each as a tuple, with braces written out."""
    for tree in re.findall(r"^ *(?:pub(?:\([^)]*\))? )?use ((?:crate|super|self)::[^;]+);", text, re.M):
        open_prefixes, prefix = [], ()
        for token in re.findall(r"\w+|::|[{},*]", re.sub(r"\s+as \w+", "", tree)):
            if token == "{":
                open_prefixes.append(prefix)
            elif token == ",":
                yield prefix
                prefix = open_prefixes[-1]
            elif token == "}":
                yield prefix
                prefix = open_prefixes.pop()
            elif token not in ("::", "*"):
                prefix += (token,)
        yield prefix


def circles(modules):
    """The groups of modules that use each other. `modules` maps a module to its text."""
    edges = defaultdict(set)
    for module, text in modules.items():
        for path in used_paths(text):
            base, path = ((), path[1:]) if path[0] == "crate" else (module, path)
            while path and path[0] in ("super", "self"):
                base, path = (base[:-1] if path[0] == "super" else base), path[1:]
            path = base + path
            while path and path not in modules:
                path = path[:-1]
            # A module and what lies within it are one thing to a reader who looks for circles.
            if path and path[: len(module)] != module and module[: len(path)] != path:
                edges[module].add(path)
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(edges[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[len(stack) - len(group) :]
            if len(group) > 1:
                found.append(group)

    for module in sorted(modules):
        if module not in index:
            visit(module)
    return found


listing = ["git", "ls-tree", "-r", "--name-only", options.revision] if options.revision else ["git", "ls-files", "-co", "--exclude-standard"]
files = sorted(set(output(*listing).split("\n")))
code, tests, rows, long_files, functions = Counter(), 0, 0, [], []
crates = defaultdict(dict)
for path in files:
    if not path.endswith(".rs"):
        continue
    text = read(path)
    rows += text.count("\n")
    folders = path.split("/")
    is_test = "tests" in folders or folders[-1] == "tests.rs" or "src" not in folders
    if text.count("\n") > LONG_FILE:
        long_files.append((text.count("\n"), path))
    if is_test:
        tests += code_lines(text)
        continue
    without_tests = TEST_MODULE.sub("", text)
    functions += [(lines, f"{path} {name}") for name, lines in long_functions(without_tests)]
    tests += code_lines(text) - code_lines(without_tests)
    code[path.split("/src/")[0]] += code_lines(without_tests)
    crates[path.split("/src/")[0]][module_of(path)] = without_tests
words = {path: len(read(path).split()) for path in files if re.fullmatch(r"[A-Z]+\.md|docs/[^/]+\.md", path) and path not in GENERATED}

for crate, lines in sorted(code.items()):
    print(f"{lines:8,}  {crate}")
print(f"{sum(code.values()):8,}  lines of code")
print(f"{tests:8,}  lines of tests")
print(f"{rows:8,}  lines of Rust with comments and blank lines")
print(f"{sum(words.values()):8,}  words of documentation")
print(f"{len(long_files):8,}  files of more than {LONG_FILE} lines")
for lines, path in sorted(long_files, reverse=True):
    print(f"          {lines} {path}")
print(f"{len(functions):8,}  functions of more than {LONG_FUNCTION} lines")
for lines, name in sorted(functions, reverse=True):
    print(f"          {lines} {name}")
groups = [(crate, group) for crate, modules in sorted(crates.items()) for group in circles(modules)]
print(f"{len(groups):8,}  circles of files")
for crate, group in groups:
    print(f"          {crate}: {', '.join('::'.join(module) for module in sorted(group))}")
if options.program:
    shown = len(re.findall(r"^ +(?:-\w, )?--[a-z]", output(options.program, "run", "--help"), re.M))
    commands = re.search(r"^Commands:\n((?:  .*\n)+)", output(options.program, "--help"), re.M)
    names = [line for line in (commands[1].split("\n") if commands else []) if re.match(r"  [a-z]", line)]
    print(f"{shown:8,}  options of run\n{len(names):8,}  commands")
