#!/usr/bin/env python3
"""Runs the examples of documents, and compares what they print with what stands there.

usage: tools/examples.py PROGRAM [--write] [--in FOLDER] FILE...

Each block `console` has commands, which begin with `$ `, and what they print; of a command alone the output is not compared. All blocks of
a file run in one folder that has the files of the repository. A `healbench run` without `--out` becomes `RUN`, which later commands name.
With `--write`, the blocks get what is printed now. With `--in`, the blocks of all files run in this folder, and what they write stays.
"""

import argparse
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)


def prepared(command, number):
    """Returns a command that leaves its run as `RUN`, if it makes one."""
    if not command.startswith("healbench run") or " --out " in command:
        return command
    return f"{command} --quiet --out run-{number}\nln -sfn run-{number} RUN"


def printed(block, number, folder):
    shown = [line for line in block.splitlines(keepends=True) if line.startswith("$ ")]
    commands = [prepared(line[2:].rstrip("\n"), number) for line in shown]
    # The output of each ends with a NUL.
    script = "\n".join(["set -euo pipefail", *(f"{command}\nprintf '\\0'" for command in commands)])
    env = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{commands}: exit code {done.returncode}")
    if len(shown) == len(block.splitlines()):
        return block
    # A blank line at the end of an output is not shown.
    outputs = [output.rstrip("\n") for output in done.stdout.split("\0")]
    return "".join(command + (output + "\n" if output else "") for command, output in zip(shown, outputs, strict=False))


def prepare(folder, program):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "healbench").symlink_to(pathlib.Path(program).resolve())
    for name in ("agents", "examples", "scenarios"):
        (folder / name).symlink_to(ROOT / name)


def main(program, write, folder, files):
    differs = False
    if folder:
        prepare(folder, program)
    for file in files:
        with tempfile.TemporaryDirectory() as temporary:
            place = folder or pathlib.Path(temporary)
            if not folder:
                prepare(place, program)
            path = ROOT / file
            before = path.read_text(encoding="utf-8")
            numbers = itertools.count()
            after = BLOCK.sub(lambda block: printed(block.group(1), next(numbers), place), before)  # noqa: B023
        if after == before:
            continue
        differs = True
        if write:
            path.write_text(after, encoding="utf-8")
            print(f"{file}: written")
        else:
            subprocess.run(["diff", path, "-"], input=after, text=True, check=False)
    return 1 if differs and not write else 0


if __name__ == "__main__":
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("program")
    options.add_argument("files", nargs="+")
    options.add_argument("--write", action="store_true")
    options.add_argument("--in", type=pathlib.Path, dest="folder")
    options.error = lambda _: sys.exit(__doc__)
    chosen = options.parse_args()
    sys.exit(main(chosen.program, chosen.write, chosen.folder and chosen.folder.resolve(), chosen.files))
