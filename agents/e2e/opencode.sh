#!/usr/bin/env bash
# Plays the suite `domain-errors` with opencode and a real small model on this machine.
#
# usage: agents/e2e/opencode.sh FOLDER [HEALBENCH]
#
# FOLDER gets the server, the weights and the run, which an interrupted command resumes. MODEL is a model of run.sh [default: qwen-1.5b].
# opencode is that of agents/clients (`npm install --no-save --ignore-scripts` there), or on the path.
set -euo pipefail
folder=${1:?usage: agents/e2e/opencode.sh FOLDER [HEALBENCH]}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
healbench=${2:+$(realpath "$2")}
cd "$(dirname "$0")/../.."
here=agents/e2e
. "$here/serve.sh"
modules=$PWD/agents/clients/node_modules
export PATH=$modules/opencode-linux-x64/bin:$modules/opencode-linux-x64-baseline/bin:$PATH
case ${MODEL:=qwen-1.5b} in
    smollm2-135m) weights=smollm2-135m-instruct ;;
    qwen-0.5b) weights=qwen2.5-coder-0.5b-instruct ;;
    qwen-1.5b) weights=qwen2.5-coder-1.5b-instruct ;;
    *) echo "no model $MODEL in $here/healbench.toml" >&2; exit 1 ;;
esac

python3 "$here/models.py" fetch "$folder" "$weights"
serve "$folder" "$weights" 18115 "$folder/$MODEL-tools.log" tools
# The server has one place for a conversation, so episodes run one after the other.
run=$folder/opencode-$MODEL
if [ -d "$run" ]; then
    words=(run --resume "$run")
else
    words=(run domain-errors --config "$here/healbench.toml" --agent agent:opencode --condition sdk-typescript,fusion --trials 1 --jobs 1
        --out "$run")
fi
if [ -n "$healbench" ]; then
    "$healbench" "${words[@]}"
else
    cargo run --release --locked --quiet -- "${words[@]}"
fi
