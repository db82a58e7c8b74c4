#!/usr/bin/env bash
# Builds the program that is copied to hosts and into images: statically linked, so that it needs no library of the system and
# starts on any Linux of its architecture. The file is target/static/migbsp.
#
#   deploy/build-static.sh [PROFILE]     PROFILE of Cargo: dist if it is not given
#
# `dist` takes some eight minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
profile="${1:-dist}"
target="$(uname -m)-unknown-linux-gnu"

# With --target, the flags are not those of build scripts and procedural macros, which cannot be static.
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static" \
    cargo build --locked --profile "$profile" --target "$target" -p migbsp
built="${CARGO_TARGET_DIR:-target}/$target/$profile"

if readelf --program-headers --wide "$built/migbsp" | grep -q INTERP; then
    echo "$built/migbsp is not static: it asks for a loader" >&2
    exit 1
fi
mkdir -p target/static
# Under a new inode: the file may be running.
install -m 755 "$built/migbsp" target/static/.new
mv target/static/.new target/static/migbsp
ls -l target/static/migbsp
