#!/usr/bin/env bash
# Builds the packages for tests of servers: pytest-healbench (sdist and wheel) and vitest-healbench. Needs npm.
#
# usage: tools/test-packages.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
grep -qx "version = \"$version\"" packaging/pytest-healbench/pyproject.toml || { echo "pytest-healbench has another version" >&2; exit 1; }
grep -q "\"version\": \"$version\"" packaging/vitest-healbench/package.json || { echo "vitest-healbench has another version" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r packaging/pytest-healbench packaging/vitest-healbench "$work"
for package in pytest vitest; do cp LICENSE-* "$work/$package-healbench"; done
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --require-hashes --only-binary :all: --requirement tools/requirements/pytest.txt
(
    cd "$work/pytest-healbench"
    "$work/venv/bin/python" -c 'import sys; from flit_core.buildapi import *; build_sdist(sys.argv[1]); build_wheel(sys.argv[1])' "$out"
)
npm pack --silent --pack-destination "$out" "$work/vitest-healbench"
