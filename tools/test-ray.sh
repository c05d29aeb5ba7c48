#!/usr/bin/env bash
# Runs a plan in 4 shards on a Ray of this machine, and compares the merged rows with those of one process. One shard is killed midway
# and run again by Ray.
#
# usage: tools/test-ray.sh PROGRAM PYTHON     PYTHON has the package ray
set -euo pipefail
program=$(realpath "$1") python=$2
driver=$(dirname "$(realpath "$0")")/../examples/cluster/ray_driver.py
if ! "$python" -c 'import ray' 2> /dev/null; then
    echo "UNPROVEN: Ray: the Python package is not installed"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
plan=(quickstart --trials "${TRIALS:-400}" --agent scripted:typical)
"$program" run "${plan[@]}" --quiet --out whole > /dev/null
export HEALBENCH=$program RAY_USAGE_STATS_ENABLED=0
"$python" "$driver" job 4 -- "${plan[@]}" > report 2> log &
driver_pid=$!
killed=
for _ in $(seq 1200); do
    killed=$(pgrep -f "run quickstart .*--shard 2/4 .*$work" | head -n 1 || true)
    [ -n "$killed" ] && [ -e job/shards/shard-2-of-4/calls.parquet.part ] && break
    kill -0 "$driver_pid" 2> /dev/null || break
    sleep 0.1
done
[ -z "$killed" ] || kill -KILL "$killed"
code=0
wait "$driver_pid" || code=$?
if [ "$code" != 0 ]; then
    cat log >&2
    exit "$code"
fi
[ -n "$killed" ] || { echo "shard 2 was not killed" >&2; exit 1; }
for frame in calls episodes responses; do cmp "whole/$frame.parquet" "job/run/$frame.parquet"; done
"$python" -c 'import ray; print("Ray", ray.__version__ + ": 4 shards, of which one was killed and run again, have the rows of one process to the byte")'
