# The commands of the project. `just` alone lists them.

_default:
    @just --list

# Run the quickstart suite.
run *ARGS:
    cargo run -- run {{ ARGS }}

# Formatting, lints, and the tests of the crates that have changes: a few minutes, before a commit.
check: fmt clippy
    tools/affected.py

fmt:
    cargo fmt --all -- --check

clippy:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

# Fail when a committed schema, of scenario files, reports or audits, is not the generated one.
schema:
    cargo run --quiet -- schema scenario | diff scenarios/scenario.schema.json -
    cargo run --quiet -- schema report | diff reports/report.schema.json -
    cargo run --quiet -- schema audit | diff harness/audit/audit.schema.json -

# Regenerate the schemas of scenario files, reports and audits.
schema-write:
    cargo run --quiet -- schema scenario > scenarios/scenario.schema.json
    cargo run --quiet -- schema report > reports/report.schema.json
    cargo run --quiet -- schema audit > harness/audit/audit.schema.json

# Run the scripted suites with a baseline, and gate them. `just gate bless` updates the baselines (CONTRIBUTING.md).
gate DO="gate":
    #!/usr/bin/env bash
    set -euo pipefail
    healbench() { cargo run --release --quiet -- "$@"; }
    held() {
        local runs="$1" baseline="scenarios/baselines/$2.toml"
        if [ "{{ DO }}" = bless ]; then healbench bless "$runs" --out "$baseline"; else healbench gate "$baseline" "$runs"; fi
    }
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    healbench run scenarios/suites/quickstart --agent scripted:typical,scripted:perfect --format all --trials 20 --quiet --out "$work/formats" > /dev/null
    healbench run scenarios/suites --agent scripted:typical --trials 20 --quiet --out "$work/suites" > /dev/null
    held "$work/formats" formats
    held "$work/suites" suites

# Prove that the contract guardrail costs nothing for unchanged contracts (needs valgrind and binutils).
proof *ARGS:
    cargo test --release -p healbench -p healbench-benches --test zero_overhead -- {{ ARGS }}

# Test the pages in a real browser (needs node, npm and chromium).
browser: build
    HEALBENCH="$PWD/target/release/healbench" reports/browser/run.sh --test report.test.mjs transcripts.test.mjs view.test.mjs

# Take pictures of a page in both widths and themes, to review after changing it.
screenshots OUT: build
    HEALBENCH="$PWD/target/release/healbench" reports/browser/run.sh screenshots.mjs "$(realpath -m "{{ OUT }}")"

# Run the scenarios of the README's pictures, and make the pictures.
pictures: build
    HEALBENCH="$PWD/target/release/healbench" reports/browser/run.sh pictures.mjs "$PWD/docs/pictures"

build:
    cargo build --release

# Build the Python wheel for glibc 2.28 from the release build (needs Python; takes maturin and ziglang from PyPI).
wheel:
    tools/wheel.sh

# Build the Debian package.
deb: build
    tools/deb.sh target/release/healbench target/debian

# Build the npm packages of this platform.
npm: build
    rm -rf target/npm
    tools/npm-packages.py target/npm "$(rustc -vV | sed -n 's/^host: //p')=target/release/healbench"

# Build the documentation site, check its links and run its commands (needs mdbook and the Python packages polars and duckdb).
book: build
    tools/book.py target/release/healbench --commands

# Run 4 shards on Slurm and Ray of this machine, one of them killed midway, and compare the rows (needs root; Python with ray).
schedulers PYTHON="python3": build
    tools/test-slurm.sh target/release/healbench
    tools/test-ray.sh target/release/healbench "{{ PYTHON }}"

bench *ARGS:
    cargo bench -p healbench-benches {{ ARGS }}

# Run the quickstart suite with real small models on this machine, and record what they say (1.6 GB, an hour or two).
llm-e2e *ARGS:
    agents/e2e/run.sh .llm {{ ARGS }}

# Install the MCP servers of scenarios/servers into ignored folders (needs node, npm and Python).
servers: build
    tools/servers.sh

# Check licences, banned crates and sources (needs cargo-deny).
deny:
    cargo deny check licenses bans sources

# Check all lock files for known vulnerabilities (needs cargo-deny, npm and pip-audit).
advisories:
    tools/advisories.py

# Run the checks of CI.
ci:
    .ci/run
