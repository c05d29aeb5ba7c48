#!/usr/bin/env bash
# Builds the wheel from what `cargo build --release` has built: only the program is linked again, for glibc 2.28.
#
# usage: tools/wheel.sh [FOLDER]     the default is target/wheels
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/wheels}
most=$((20 * 1000 * 1000))
venv=target/wheel-venv
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --require-hashes --only-binary :all: --requirement tools/requirements/wheel.txt
# Man pages and completions are in `share` of the environment that the wheel is installed in.
cargo build --release --locked --quiet
tools/generated-docs.sh target/release/healbench target/healbench.data/data/share
PYTHON=$PWD/$venv/bin/python "$venv/bin/maturin" build --quiet --release --locked --compatibility manylinux_2_28 --out "$out" \
    -- -C "linker=$PWD/tools/zig-cc.sh"
for wheel in "$out"/healbench-*.whl; do
    bytes=$(stat -c %s "$wheel")
    echo "$wheel: $((bytes / 1000)) kB"
    [ "$bytes" -le "$most" ] || { echo "a wheel may have 20 MB" >&2; exit 1; }
done
