#!/usr/bin/env bash
# Builds a Debian package of a program.
#
# usage: tools/deb.sh PROGRAM FOLDER
set -euo pipefail
program=$(realpath "$1") out=$(realpath -m "$2")
cd "$(dirname "$0")/.."
version=$("$program" --version | awk '{ print $2 }')
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
install -D -m 755 "$program" "$root/usr/bin/healbench"
tools/generated-docs.sh "$program" "$root/usr/share"
gzip -9n "$root"/usr/share/man/man1/*.1
doc=$root/usr/share/doc/healbench
install -D -m 644 LICENSE-MIT "$doc/LICENSE-MIT"
install -D -m 644 LICENSE-APACHE "$doc/LICENSE-APACHE"
install -D -m 644 packaging/debian/copyright "$doc/copyright"
gzip -9nc CHANGELOG.md > "$doc/changelog.gz"
chmod 644 "$doc/changelog.gz"
# The glibc that the program needs.
glibc=$(objdump -T "$program" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1 | cut -d _ -f 2)
mkdir "$root/DEBIAN"
cat > "$root/DEBIAN/control" << CONTROL
Package: healbench
Version: $version
Architecture: $architecture
Maintainer: The healbench authors <healbench@localhost>
Section: devel
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f 1)
Depends: libc6 (>= $glibc), libgcc-s1
Description: measure whether errors of tool servers help agents recover
 healbench runs agents, simulated readers or models, against scenarios in
 which calls fail, with and without guardrails in front of the tools. It
 reports how often the agents recover and what that costs, and decides
 whether a change made it worse.
CONTROL
find "$root" -type d -exec chmod 755 {} +
mkdir -p "$out"
dpkg-deb --root-owner-group --build "$root" "$out" > /dev/null
ls "$out"/healbench_*.deb
