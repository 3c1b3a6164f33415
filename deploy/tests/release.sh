# The tarball is made twice, is the same both times, and what is in it works where it was unpacked.

test_release() {
    local one two
    one=$("$here/release" --binary "$LISTEN" --into "$WORK/one")
    two=$("$here/release" --binary "$LISTEN" --into "$WORK/two")
    cmp -s "$one" "$two" || fail "two tarballs of the same binary differ"
    (cd "$WORK/one" && sha256sum --quiet -c ./*.sha256)
    mkdir -p "$WORK/usr"
    tar -xzf "$one" --strip-components=1 -C "$WORK/usr"
    "$WORK/usr/bin/listen" --version >/dev/null
    [ "$(gzip -dc "$WORK/usr/share/man/man1/listen-serve.1.gz" | grep -c '^\.TH')" -eq 1 ] || fail "the manual page"
    bash -c ". '$WORK/usr/share/bash-completion/completions/listen' && complete -p listen" >/dev/null
    for unit in listen listen-migrate listen-worker@; do
        [ -s "$WORK/usr/lib/systemd/system/$unit.service" ] || fail "$unit.service is missing"
    done
}
