#!/usr/bin/env bash
# Lets 10,000 connections stay and others behave badly for three minutes, and sees that memory and files return.
#
#   scripts/soak.sh [--connections N] [--seconds N]
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
cd "$ROOT"
cargo build --release --bins
exec python3 scripts/soak.py --rankd "$RELEASE_PROGRAM" "$@"
