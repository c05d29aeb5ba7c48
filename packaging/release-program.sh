#!/usr/bin/env bash
# Takes the program of a release, as the actions do. Exits with 1 if there is none for this platform, or if it has another checksum.
#
# usage: packaging/release-program.sh URL TAG FOLDER
#
# URL is the address of the repository, TAG that of the release, such as v0.1.0. The program becomes FOLDER/healbench.
set -euo pipefail
url=$1 tag=$2 out=$3
case ${RUNNER_OS:-$(uname -s)}-${RUNNER_ARCH:-$(uname -m)} in
    Linux-X64 | Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
    Linux-ARM64 | Linux-aarch64) target=aarch64-unknown-linux-gnu ;;
    macOS-X64 | Darwin-x86_64) target=x86_64-apple-darwin ;;
    macOS-ARM64 | Darwin-arm64) target=aarch64-apple-darwin ;;
    *) echo "there is no program for this platform" >&2; exit 1 ;;
esac
folder=healbench-${tag#v}-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for file in "$folder.tar.gz" SHA256SUMS; do
    curl --fail --silent --show-error --location --retry 3 --output "$file" "$url/releases/download/$tag/$file" || exit 1
done
sum=(sha256sum)
command -v sha256sum > /dev/null || sum=(shasum -a 256)
if ! grep " $folder.tar.gz\$" SHA256SUMS | "${sum[@]}" --check >&2; then
    echo "::warning title=healbench::the release's program does not have its checksum"
    exit 1
fi
tar -xzf "$folder.tar.gz"
"$folder/healbench" --version >&2 || exit 1
mkdir -p "$out"
cp "$folder/healbench" "$out/healbench"
