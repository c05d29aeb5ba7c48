# shellcheck shell=bash
# Serves a model of models.py until the script that sources this file ends. A busy machine and two threads that wait for each other in a
# loop are 25 times slower.
export OMP_WAIT_POLICY=PASSIVE GOMP_SPINCOUNT=0

# usage: serve FOLDER MODEL PORT LOG [tools]
serve() {
    "$1/venv/bin/python" agents/e2e/models.py serve "${@:1:3}" "${@:5}" > "$4" 2>&1 &
    server=$!
    trap 'kill $server' EXIT
    until grep -qs '^listening' "$4"; do
        kill -0 $server || { tail "$4"; exit 1; }
        sleep 1
    done
}

# Ends it before the script does.
end_serving() {
    kill $server
    wait $server || true
    trap - EXIT
}
