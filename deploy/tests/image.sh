# The image is built without pulls from the binary, unpacked, and run as its own user against a database on loopback.

. "$root/tests/browser/postgres"

test_image() {
    need mmdebstrap mmdebstrap
    need buildah buildah
    STORAGE=$WORK/storage "$here/container/build" --binary "$LISTEN" --output "$WORK/image.tar" >/dev/null
    # Docker reads this file, and compose.yaml asks for this name.
    tar -xOf "$WORK/image.tar" manifest.json | grep >/dev/null "listen:$("$LISTEN" --version | cut -d' ' -f2)\"" ||
        fail "the archive is not Docker's, or of another name"
    ENGINE=(buildah --root "$WORK/storage/root" --runroot "$WORK/storage/run" --storage-driver vfs)
    # From the archive, as somebody has it who was only given the file.
    CONTAINER=$("${ENGINE[@]}" from --quiet --pull-never "docker-archive:$WORK/image.tar")
    look_at_config
    look_at_files
    run_image
}

# `within SETTING=VALUE… -- WORDS…` runs the program in the image.
within() {
    local settings=()
    while [ "$1" != -- ]; do settings+=(--env "$1") && shift; done
    shift
    "${ENGINE[@]}" run --isolation chroot --user 65532:65532 "${settings[@]}" "$CONTAINER" -- /usr/bin/listen "$@"
}

# What the program in the image prints. On a busy machine buildah's relay of it loses all of it once in a hundred times: asked again.
said() {
    for _ in 1 2 3; do
        within "$@" >"$WORK/said" || return
        [ ! -s "$WORK/said" ] || break
    done
    cat "$WORK/said"
}

look_at_config() {
    "${ENGINE[@]}" inspect --type container "$CONTAINER" >"$WORK/image.json"
    python3 - "$WORK/image.json" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))["OCIv1"]["config"]
assert config["User"] == "65532:65532", config
assert config["Entrypoint"] == ["/usr/bin/listen"] and config["Cmd"] == ["serve"], config
assert config["StopSignal"] == "SIGTERM", config
assert sorted(config["ExposedPorts"]) == ["8080", "8081"] or sorted(config["ExposedPorts"]) == ["8080/tcp", "8081/tcp"], config
assert {"LISTEN_ADDR=0.0.0.0:8080", "LISTEN_ADMIN_ADDR=0.0.0.0:8081"} <= set(config["Env"]), config
labels = config["Labels"]
assert labels["org.opencontainers.image.version"] and labels["org.opencontainers.image.revision"], labels
PYTHON
}

look_at_files() {
    local files found
    files=$("${ENGINE[@]}" mount "$CONTAINER")
    found=$(find "$files" -xdev ! -uid 0 -o -xdev ! -gid 0)
    [ -z "$found" ] || fail "not root's: $found"
    found=$(find "$files" -xdev ! -type d -perm /6000)
    [ -z "$found" ] || fail "set-uid or set-gid: $found"
    found=$(find "$files" -xdev ! -type l -perm /022)
    [ -z "$found" ] || fail "may be written by others: $found"
    found=$(find "$files" -xdev -type f -perm /111 ! -name '*.so*')
    [ "$found" = "$files/usr/bin/listen" ] || fail "programs besides listen: $found"
    for file in etc/ssl/certs/ca-certificates.crt usr/share/man/man1/listen.1.gz usr/share/man/man1/listen-serve.1.gz \
        usr/share/bash-completion/completions/listen usr/share/doc/listen/LICENSE; do
        [ -s "$files/$file" ] || fail "$file is missing"
    done
    [ "$(grep -c BEGIN "$files/etc/ssl/certs/ca-certificates.crt")" -gt 100 ] || fail "too few authorities"
    "${ENGINE[@]}" umount "$CONTAINER" >/dev/null
}

run_image() {
    said -- --version | grep >/dev/null '^listen ' || fail "--version"
    local api admin settings
    read -r POSTGRES_PORT api admin < <(free_ports 3)
    api=127.0.0.1:$api admin=127.0.0.1:$admin
    start_postgres
    settings=("DATABASE_URL=postgresql://postgres@127.0.0.1:$POSTGRES_PORT/postgres" "LISTEN_ADDR=$api"
        "LISTEN_ADMIN_ADDR=$admin" LISTEN_FINALIZATION_DISPATCH_MODE=postgres LISTEN_TEXT_ENGINE=embedded)
    said "${settings[@]}" -- config | grep >/dev/null "^admin_addr  *$admin" || fail "config: $(cat "$WORK/said")"
    if within "${settings[@]}" -- healthcheck --live >/dev/null 2>&1; then fail "nothing runs, and it is healthy"; fi

    within "${settings[@]}" -- serve >"$WORK/image.log" 2>&1 &
    RUNNING=$!
    until_healthy --live
    if within "${settings[@]}" -- healthcheck --ready >"$WORK/health" 2>&1; then fail "ready without a schema"; fi
    grep -q 'listen migrate' "$WORK/health" || fail "the reason is missing: $(cat "$WORK/health")"
    within "${settings[@]}" -- migrate >/dev/null
    until_healthy --ready
    speak "http://$api"

    kill -TERM "$(program_of "$RUNNING")"
    local code=0
    wait "$RUNNING" || code=$?
    RUNNING=""
    [ "$code" -eq 0 ] || { cat "$WORK/image.log" && fail "SIGTERM ended it with $code"; }
    stop_image
}

until_healthy() {
    for _ in $(seq 60); do
        if within "${settings[@]}" -- healthcheck "$1" >/dev/null 2>&1; then return; fi
        kill -0 "$RUNNING" || { cat "$WORK/image.log" && fail "it ended by itself"; }
        sleep 0.2
    done
    cat "$WORK/image.log"
    fail "not healthy ($1)"
}

# A conversation goes through it.
speak() {
    local key
    within "${settings[@]}" -- users create --id u1 >/dev/null
    key=$(said "${settings[@]}" -- keys create --user u1 | tr -d '\r')
    curl -sf "$1/v1/dev/user/conversations" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' \
        -d '{"text": "We agreed to order new roof tiles by Friday. I will call the roofer tomorrow morning about it."}' |
        grep >/dev/null '"status":"completed"' || fail "a conversation was not completed"
}

# The program below an engine's process: the deepest of its descendants.
program_of() {
    local child
    child=$(pgrep -P "$1" | tail -1)
    if [ -n "$child" ]; then program_of "$child"; else echo "$1"; fi
}

stop_image() {
    [ -z "${RUNNING:-}" ] || kill "$(program_of "$RUNNING")" 2>/dev/null || true
    RUNNING=""
    stop_postgres
    STOP_POSTGRES=()
    [ -z "${ENGINE:-}" ] || "${ENGINE[@]}" rm --all >/dev/null 2>&1 || true
}
