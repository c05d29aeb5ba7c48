# The commands of the project. `just` alone lists them.

_default:
    @just --list

# Play the quickstart suite.
run *ARGS:
    cargo run --release -- run {{ ARGS }}

# Everything that has to hold before a commit.
check: fmt clippy test schema

fmt:
    cargo fmt --all -- --check

clippy:
    cargo clippy --workspace --all-targets -- -D warnings

test:
    cargo test --workspace

# Fail when the committed schema of scenario files is not the generated one.
schema:
    cargo run --release --quiet -- schema | diff scenarios/scenario.schema.json -

# Write the schema of scenario files anew.
schema-write:
    cargo run --release --quiet -- schema > scenarios/scenario.schema.json

bench *ARGS:
    cargo bench {{ ARGS }}

# Play the quickstart suite with real small models on this machine, and record what they say (1.6 GB, an hour or two).
llm-e2e *ARGS:
    agents/e2e/run.sh .llm {{ ARGS }}

# Licences, banned crates and sources (needs cargo-deny).
deny:
    cargo deny check licenses bans sources

# What CI runs.
ci:
    .ci/run
