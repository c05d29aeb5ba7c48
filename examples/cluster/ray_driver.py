#!/usr/bin/env python3
"""Runs a plan of healbench in shards on a Ray cluster, and merges them.

usage: ray_driver.py DIR SHARDS [--cpus N] -- ARGUMENTS OF `healbench run`

DIR is on a file system that all nodes share. A shard whose worker or node fails is run again, and continues where it was
interrupted; so does the whole driver when it is started again with the same arguments. `HEALBENCH` names the program.
"""

import argparse
import ctypes
import os
import pathlib
import signal
import subprocess
import sys

import ray


def end_with_worker():
    """Makes Linux send SIGTERM to this process when its parent, the worker, ends in any way."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGTERM)


def run_shard(program, out, shard, cpus, arguments):
    if pathlib.Path(out).exists():
        command = [program, "run", "--resume", out]
    else:
        command = [program, "run", *arguments, "--shard", shard, "--out", out]
    command += ["--jobs", str(cpus), "--quiet"]
    ended = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, preexec_fn=end_with_worker
    )
    if ended.returncode != 0:
        # Ray runs the task again, which resumes the shard.
        raise RuntimeError(f"shard {shard} exited with {ended.returncode}: {ended.stderr.strip()}")
    return shard


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("shards", type=int)
    parser.add_argument("--cpus", type=int, default=1, help="cores of a shard (default: 1)")
    parser.add_argument("--retries", type=int, default=3, help="how often a failed shard is run again (default: 3)")
    options = parser.parse_args(arguments[:split])
    plan = arguments[split + 1 :]
    program = os.environ.get("HEALBENCH", "healbench")
    root = options.dir.resolve()
    shards = root / "shards"
    shards.mkdir(parents=True, exist_ok=True)

    ray.init(log_to_driver=False)
    task = ray.remote(run_shard).options(
        num_cpus=options.cpus, max_retries=options.retries, retry_exceptions=True
    )
    width = len(str(options.shards))
    pending = {}
    for number in range(1, options.shards + 1):
        out = shards / f"shard-{number:0{width}}-of-{options.shards}"
        shard = f"{number}/{options.shards}"
        pending[task.remote(program, str(out), shard, options.cpus, plan)] = shard
    failed = []
    while pending:
        done, _ = ray.wait(list(pending))
        for reference in done:
            shard = pending.pop(reference)
            try:
                ray.get(reference)
                print(f"shard {shard} is complete", file=sys.stderr)
            except Exception as error:  # A task fails in as many ways as a node.
                failed.append(shard)
                print(f"shard {shard} failed: {error}", file=sys.stderr)
    ray.shutdown()
    if failed:
        print(f"{len(failed)} shards failed; start the driver again to continue", file=sys.stderr)
        return 4
    return subprocess.run([program, "merge", str(shards), "--out", str(root / "run")], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
