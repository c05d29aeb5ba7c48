#!/usr/bin/env bash
# Plays a suite with real small models on this machine, and records what they say.
#
# usage: agents/e2e/run.sh FOLDER [OPTION OF healbench run]...
#
# MODELS names the models, by their tables in healbench.toml; all of them unless it is set.
#
# FOLDER gets the server, the weights (1.6 GB), and for each model a run of the default conditions, one of error formats and, but for the largest, one of the suite `published`. What the models say is recorded in agents/e2e/cassettes, and what is
# recorded there is not asked again: interrupted, the same command goes on.
set -euo pipefail
folder=${1:?usage: agents/e2e/run.sh FOLDER [OPTION]...}
shift
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
# The program is built from the repository that this file is in.
cd "$(dirname "$0")/../.."
here=agents/e2e
. "$here/serve.sh"

weights() {
    case $1 in
        smollm2-135m) echo smollm2-135m-instruct ;;
        qwen-0.5b) echo qwen2.5-coder-0.5b-instruct ;;
        qwen-1.5b) echo qwen2.5-coder-1.5b-instruct ;;
        *) echo "no model $1 in agents/e2e/healbench.toml" >&2; return 1 ;;
    esac
}
names=${MODELS:-smollm2-135m qwen-0.5b qwen-1.5b}
for name in $names; do
    python3 "$here/models.py" fetch "$folder" "$(weights "$name")"
done

for name in $names; do
    serve "$folder" "$(weights "$name")" 18115 "$folder/$name.log"
    rm -rf "$folder/run-$name" "$folder/formats-$name"
    record=(cargo run --release --locked --quiet -- run --config "$here/healbench.toml" --agent "model:$name" --trials 1
        --record "$here/cassettes")
    "${record[@]}" quickstart --out "$folder/run-$name" "$@"
    # The larger model is not recorded on these tasks.
    if [ "$name" != qwen-1.5b ]; then
        rm -rf "$folder/published-$name"
        "${record[@]}" published --guardrails all --format fusion-xml --vary content=diagnosis,next-step --out "$folder/published-$name" "$@"
    fi
    "${record[@]}" quickstart --format fusion-xml,fusion-text,llm-friendly,zod-json --out "$folder/formats-$name" "$@"
    end_serving
done
