#!/usr/bin/env bash
# Links for an older glibc than this machine's, with zig: `ZIG_TARGET` names it, as in `x86_64-linux-gnu.2.28`. The Python package
# `ziglang` holds the program. rustc calls this as its linker (`-C linker=tools/zig-cc.sh`), so only the last step of a build differs.
set -euo pipefail
arguments=()
for argument in "$@"; do
    case $argument in
        # Options for the linker that rustc would choose, and for a loader as new as glibc 2.36.
        -fuse-ld=* | -B* | -Wl,--icf=* | -Wl,-z,pack-relative-relocs | pack-relative-relocs) ;;
        # zig has LLVM's unwinder instead of that of GCC.
        -lgcc_s) arguments+=(-lunwind) ;;
        *) arguments+=("$argument") ;;
    esac
done
exec "${PYTHON:-python3}" -m ziglang cc -target "${ZIG_TARGET:-x86_64-linux-gnu.2.28}" "${arguments[@]}"
