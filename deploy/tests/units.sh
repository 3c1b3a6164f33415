# The units as systemd reads them, and how far they are exposed.

test_units() {
    if ! command -v systemd-analyze >/dev/null; then
        echo "skipped: there is no systemd-analyze"
        return
    fi
    mkdir -p "$WORK/units"
    for unit in "$here"/systemd/*.service; do
        sed "s|/usr/bin/listen |$LISTEN |" "$unit" >"$WORK/units/$(basename "$unit")"
    done
    local said
    # Of the machine's own units nothing is asked.
    said=$(cd "$WORK/units" && systemd-analyze verify --man=no ./*.service 2>&1 | grep listen || true)
    [ -z "$said" ] || fail "systemd does not take the units: $said"
    for unit in "$WORK"/units/*.service; do
        # In tenths.
        systemd-analyze security --offline=yes --threshold=20 --no-pager "$unit" >"$WORK/exposure" 2>&1 ||
            fail "$(basename "$unit"): $(tail -1 "$WORK/exposure")"
    done
    "$LISTEN" config --config "$here/systemd/listen.toml.example" >/dev/null || fail "the example of settings"
}
