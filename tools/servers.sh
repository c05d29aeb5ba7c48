#!/bin/sh
# Installs the MCP servers of scenarios/servers, as its lock files name and hash them, and writes the lists of their tools.
#
# usage: tools/servers.sh [PROGRAM | --install]
#
# PROGRAM is healbench [default: target/release/healbench]. With --install no list is written. Servers of the same lock files are not
# installed again. Everything is written to ignored folders of scenarios/servers.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
healbench=${1:-$root/target/release/healbench}
[ "$healbench" = --install ] || healbench=$(realpath "$healbench")
cd "$root/scenarios/servers"
if ! cmp -s package-lock.json node_modules/installed; then
    npm ci --silent --no-audit --no-fund --ignore-scripts
    cp package-lock.json node_modules/installed
fi
if ! cmp -s requirements.txt venv/installed; then
    python3 -m venv --clear venv
    venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: --requirement requirements.txt
    cp requirements.txt venv/installed
fi
[ "$healbench" != --install ] || exit 0
mkdir -p tools
list() {
    name=$1
    shift
    "$healbench" new --quiet --from-server --out "tools/$name.json" -- "$@"
}
list filesystem "$PWD/node_modules/.bin/mcp-server-filesystem" '{dir}'
list memory env 'MEMORY_FILE_PATH={dir}/memory.json' "$PWD/node_modules/.bin/mcp-server-memory"
list everything "$PWD/node_modules/.bin/mcp-server-everything"
list git "$PWD/venv/bin/mcp-server-git"
list time "$PWD/venv/bin/mcp-server-time" --local-timezone UTC
