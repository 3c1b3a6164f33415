# The tarball is made, holds nothing of the machine or the moment it was made on, and works where it was unpacked.

test_release() {
    local tarball owners
    tarball=$(SOURCE_DATE_EPOCH=1700000000 "$here/release" --binary "$LISTEN" --into "$WORK/release")
    (cd "$WORK/release" && sha256sum --quiet -c ./*.sha256)
    owners=$(tar --utc -tvzf "$tarball" | awk '{print $2, $4, $5}' | sort -u)
    [ "$owners" = "0/0 2023-11-14 22:13" ] || fail "the tarball tells of the machine that made it: $owners"
    mkdir -p "$WORK/usr"
    tar -xzf "$tarball" --strip-components=1 -C "$WORK/usr"
    "$WORK/usr/bin/listen" --version >/dev/null
    [ "$(gzip -dc "$WORK/usr/share/man/man1/listen-serve.1.gz" | grep -c '^\.TH')" -eq 1 ] || fail "the manual page"
    bash -c ". '$WORK/usr/share/bash-completion/completions/listen' && complete -p listen" >/dev/null
    for folder in vendor-completions site-functions; do
        grep -q '^#compdef listen' "$WORK/usr/share/zsh/$folder/_listen" || fail "the completions for zsh, Debian's or others'"
    done
    for unit in listen listen-migrate listen-worker@; do
        [ -s "$WORK/usr/lib/systemd/system/$unit.service" ] || fail "$unit.service is missing"
    done
}
