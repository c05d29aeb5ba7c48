#!/usr/bin/env bash
# Compares the values of six runs with the recorded ones, to show that a change of names or of structure changed no value.
#
# usage: tools/oracle.sh [check|record] [PROGRAM]
#
# PROGRAM is the healbench program to check, by default the release build of this tree. The release build is made in either case, because
# the hashes of the columns are computed by an example of it. The runs are those of both baselines, every set of guardrails on the
# quickstart suite, a template, and two replays of recorded models. tools/oracle.tsv has a line for each column of their frames: run,
# frame, column, rows, hash of the values. `record` writes
# tools/oracle.tsv anew.
set -euo pipefail
do=${1:-check}
program=$(realpath "${2:-$(dirname "$0")/../target/release/healbench}")
cd "$(dirname "$0")/.."
# One command for both, so that nothing is built twice with other features.
cargo build --release --quiet -p healbench -p healbench-frames --bin healbench --example column_hashes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
run() { "$program" run "${@:2}" --quiet --out "$work/$1" > /dev/null; }

run formats scenarios/suites/quickstart --agent scripted:typical,scripted:perfect --format all
run suites scenarios/suites --agent scripted:typical --format fusion-xml
run sweep quickstart --guardrails full
run template quickstart --agent scripted:typical --format template:scenarios/templates/teaching.jinja
models=(--config agents/e2e/healbench.toml --format fusion-xml,fusion-text,llm-friendly,zod-json --trials 1 --replay agents/e2e/cassettes)
run small-models quickstart --agent model:smollm2-135m,model:qwen-0.5b "${models[@]}"
ten=(bad-date control-nothing-wrong control-unmendable hallucinated-fields missing-discriminator missing-field misspelled-action
    new-required-field out-of-range oversized-list)
ten=("${ten[@]/#/scenarios/suites/quickstart/}")
run qwen-1.5b "${ten[@]/%/.yaml}" --agent model:qwen-1.5b "${models[@]}"

for name in formats suites sweep template small-models qwen-1.5b; do
    target/release/examples/column_hashes "$work/$name"/{calls,episodes}.parquet \
        | sed "s/^/$name\t/"
done | LC_ALL=C sort > "$work/now.tsv"

case $do in
    record) cp "$work/now.tsv" tools/oracle.tsv ;;
    check)
        LC_ALL=C sort tools/oracle.tsv > "$work/expected.tsv"
        # A column that is new since has nothing to be compared with.
        missing=$(LC_ALL=C comm -23 "$work/expected.tsv" "$work/now.tsv")
        [ -z "$missing" ] || { echo "these columns have other values now:"; echo "$missing"; exit 1; } >&2
        echo "$(wc -l < "$work/expected.tsv") columns have the recorded values"
        ;;
esac
