#!/usr/bin/env bash
# Records a small model in the families of scenarios under texts that are assigned to it: does a text cause a repair?
#
# usage: agents/e2e/assigned.sh FOLDER [PARTS]
#
# FOLDER gets the server, the weights (0.5 GB), and a run for each part. Part N has the Nth scenario of each family, so that what is
# recorded so far has all families alike. `cut-lists` is left out for time: a request there had 6,800 tokens. A part of 32 episodes takes 12
# to 15 minutes of two idle cores. What the model says is recorded in FOLDER/cassettes, and what is recorded there is not asked again:
# interrupted, the same command goes on. HEALBENCH is the program; it is built if that is not set.
#
# cassettes/assigned has the first five parts. `healbench run --config agents/e2e/assigned.toml` replays them.
set -euo pipefail
folder=${1:?usage: agents/e2e/assigned.sh FOLDER [PARTS]}
parts=${2:-22}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
cd "$(dirname "$0")/../.."
here=agents/e2e
model=qwen2.5-coder-0.5b-instruct
. "$here/serve.sh"
if [ -z "${HEALBENCH:-}" ]; then
    cargo build --release --locked --quiet
    HEALBENCH=target/release/healbench
fi
python3 "$here/models.py" fetch "$folder" "$model"
serve "$folder" "$model" 18116 "$folder/assigned.log"
for part in $(seq "$parts"); do
    [ ! -e "$folder/assigned-$part/done" ] || continue
    scenarios=()
    for family in contracts domain-errors fields look-ups server-bugs strictness transient values; do
        mapfile -t files < <(find "scenarios/suites/$family" -name '*.yaml' | LC_ALL=C sort)
        [ "$part" -gt ${#files[@]} ] || scenarios+=("${files[part - 1]}")
    done
    [ ${#scenarios[@]} != 0 ] || break
    rm -rf "$folder/assigned-$part"
    "$HEALBENCH" run "${scenarios[@]}" --config "$here/assigned.toml" --agent model:qwen-0.5b --trials 1 --quiet \
        --condition bare,sdk-typescript,fusion,diagnosis --record "$folder/cassettes" --out "$folder/assigned-$part" > /dev/null
    touch "$folder/assigned-$part/done"
    echo "part $part: ${#scenarios[@]} scenarios"
done
