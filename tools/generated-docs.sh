#!/usr/bin/env bash
# Writes man pages and completions as packages hold them.
#
# usage: tools/generated-docs.sh PROGRAM SHARE     SHARE is the folder that becomes /usr/share
set -euo pipefail
program=$1 share=$2
mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$program" man --out "$share/man/man1"
"$program" completions bash > "$share/bash-completion/completions/healbench"
"$program" completions zsh > "$share/zsh/site-functions/_healbench"
"$program" completions fish > "$share/fish/vendor_completions.d/healbench.fish"
