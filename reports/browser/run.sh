#!/usr/bin/env bash
# Pages in a real browser. Ends with 77 when it cannot be tried here: that is no pass.
set -euo pipefail
cd "$(dirname "$0")"

missing() { echo "UNPROVEN: $1"; exit 77; }
command -v node > /dev/null || missing "there is no node"
command -v npm > /dev/null || missing "there is no npm"
found=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
[ -n "$found" ] || missing "there is no chromium"
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    # Only a registry that is not there is for want of something; a lock file that does not fit is a mistake.
    if ! said=$(npm ci --no-audit --no-fund --ignore-scripts 2>&1); then
        case $said in
            *ENOTFOUND* | *EAI_AGAIN* | *ECONNREFUSED* | *ECONNRESET* | *ETIMEDOUT* | *ENETUNREACH* | *ENOTCACHED*)
                missing "the packages cannot be fetched"
                ;;
        esac
        echo "$said" >&2
        exit 1
    fi
    touch node_modules/.package-lock.json
fi
# By itself node leaves a processor free: on two of them, files of tests would follow each other. Older versions lack the option.
if [ "${1:-}" = --test ] && [[ $(node --help) == *--test-concurrency* ]]; then
    set -- --test "--test-concurrency=$(getconf _NPROCESSORS_ONLN)" "${@:2}"
fi
CHROMIUM=$found exec node "$@"
