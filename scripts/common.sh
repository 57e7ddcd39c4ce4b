# SPDX-License-Identifier: GPL-2.0-or-later
# Functions shared by the shell scripts of the super-build; to be sourced
# with the checkout's directory in $root.

# Some settings are for the script that sources this.
# shellcheck shell=sh disable=SC2034,SC2154

say() {
    echo "xivescale: $*" >&2
}

die() {
    echo "xivescale: error: $*" >&2
    exit 1
}

# Read the choices of ./configure; the same ones are in config.mak for make
# and in config.json for Python.
load_config() {
    test -f "$root/build/config.sh" ||
        die "not configured: run ./configure first"
    # shellcheck disable=SC1091
    . "$root/build/config.sh"
}

# write_file FILE < content: all of it or nothing, so that an interrupted run
# leaves no half-written stamp that a later run would believe.
write_file() {
    cat >"$1.tmp.$$" && mv "$1.tmp.$$" "$1" && return
    rm -f "$1.tmp.$$"
    die "$1 cannot be written: is the disk full?"
}

# Two runs of make at once must not unpack or build the same tree twice.
# File descriptor 9 stays open, and so the lock held, until the script ends.
lock() {
    mkdir -p "$root/build"
    exec 9>"$root/build/.$1.lock"
    flock -n 9 && return
    say "waiting for another run that holds build/.$1.lock"
    flock 9
}

# need_space MEBIBYTES WHAT-FOR: a full disk is better met before a download
# than in the middle of an archive.
need_space() {
    free_mb=$(df -Pm "$root/build" | awk 'NR == 2 { print $4 }')
    test "$free_mb" -ge "$1" ||
        die "$2 needs $1 MiB free under $root/build, there are $free_mb: free some and run the same command again"
}
