# Becomes the agent of this host, with the program that is here or that is sent.
#
# Comes to a /bin/sh (dash, bash, busybox, ksh) by a pipe, behind these settings:
#   marker   what every answer carries         offers   "machine:sha256:bytes …" that can be sent
#   folder   of vdbench=, or empty             "$@"     arguments of the agent
#   run()    executes a command with the privileges asked for
#   top      where the folders of the system are looked for: empty, but in tests
# An answer is one line, "BRUNT-BOOT marker word …". After "need" so many bytes are sent, after "ready" what the agent
# reads; nothing comes unasked, so that it does no harm when a shell or a tool reads ahead.
set -f

say() { printf 'BRUNT-BOOT %s %s\n' "$marker" "$*"; }

# The end: a word, and why. Without quotes lines become one.
fail() { say fail $*; exit 1; }

# A reason against the folder $1.
no() { reasons="${reasons:+$reasons; }$1: $2"; }

# Calls $1 with each folder for copies, the best first.
each() {
    last=
    for dir in "${XDG_CACHE_HOME:+$XDG_CACHE_HOME/brunt}" "${HOME:+$HOME/.cache/brunt}" \
        "$top/var/tmp/brunt-$uid" "$top/run/user/$uid/brunt" "$top/dev/shm/brunt-$uid"
    do
        if [ -n "$dir" ] && [ "$dir" != "$last" ] && [ -z "$file" ]; then "$1" "$dir"; fi
        last=$dir
    done
}

# Whether the user alone can use what is at $1, which is no link; says why not in $text.
alone() {
    text='its owner cannot be read'
    facts=$(LC_ALL=C ls -ldn "$1" 2>/dev/null) || return 1
    set -- $facts
    text='belongs to somebody else'
    [ "${3-}" = "$uid" ] || return 1
    text='others may use it (it must have mode 0700)'
    case $1 in [d-]rwx------*) return 0 ;; esac
    return 1
}

# Whether nobody else can have put anything into a folder; says why not in $text.
ours() {
    text='not a folder of its own'
    [ -d "$1" ] && [ ! -L "$1" ] && alone "$1"
}

# Whether the copy in a folder is what it should be. It says so itself: one that others may have put there, when the
# folder was still open, is not asked.
right() {
    [ -f "$1/$name" ] && alone "$1/$name" && "$1/$name" build --verify "$hash" </dev/null >/dev/null 2>&1
}

# Uses the copy of an earlier time.
look() {
    if ours "$1" && right "$1"; then
        touch "$1/$name" 2>/dev/null
        file=$1/$name
    fi
}

# Makes a folder, and its parent where that is the user's own affair.
make() {
    [ -d "$1" ] && return 0
    case $1 in
        "$top"/var/tmp/* | "$top"/run/* | "$top"/dev/*) ;;
        *) [ -d "${1%/*}" ] || mkdir -m 700 "${1%/*}" 2>/dev/null ;;
    esac
    text=$(LC_ALL=C mkdir -m 700 "$1" 2>&1)
}

# Whether files in a folder execute.
executes() {
    probe=$1/probe-$tag
    text=$({ printf '#!/bin/sh\nexit 0\n' | LC_ALL=C cat >"$probe"; } 2>&1) && chmod 700 "$probe"
    status=$?
    text=${text##*: }
    if [ "$status" -eq 0 ]; then
        text=$("$probe" 2>&1 </dev/null)
        status=$?
        text="files do not execute there (${text##*: })"
    fi
    rm -f "$probe"
    return "$status"
}

# Gives the copy its name. One that another host with the same home has put there is left: it may be in use by now.
settle() {
    if ! ln "$part" "$1/$name" 2>/dev/null && ! right "$1"; then
        text=$(LC_ALL=C mv -f "$part" "$1/$name" 2>&1) || { rm -f "$part"; no "$1" "${text##*: }"; return; }
    fi
    rm -f "$part"
    file=$1/$name
}

# Receives the program into a folder.
take() {
    make "$1" || { no "$1" "${text##*: }"; return; }
    ours "$1" || { no "$1" "$text"; return; }
    executes "$1" || { no "$1" "$text"; return; }
    part=$1/part-$tag
    say need "$size" "$machine" "$1"
    # Whatever happens to the file, all that is sent is read.
    text=$({ head -c "$size" | { LC_ALL=C cat >"$part" || { status=$?; cat >/dev/null; exit "$status"; }; }; } 2>&1)
    status=$?
    if [ "$status" -ne 0 ]; then
        rm -f "$part"
        [ "$status" -le 128 ] || text="writing ended with signal $((status - 128)) (ulimit -f?)"
        no "$1" "${text##*: }"
        return
    fi
    if [ "$(($(wc -c <"$part")))" -ne "$size" ]; then
        rm -f "$part"
        fail cut "of $size bytes not all came. $text"
    fi
    chmod 700 "$part"
    text=$("$part" build --verify "$hash" 2>&1 </dev/null)
    status=$?
    case $status:$text in
        0:*) settle "$1" ;;
        126:*[Ee]xec\ format*)
            rm -f "$part"
            fail run "$status" "$text"
            ;;
        126:*)
            rm -f "$part"
            no "$1" "the program may not be executed there: ${text##*: }"
            ;;
        *)
            rm -f "$part"
            fail run "$status" "$text"
            ;;
    esac
}

# Leaves the newest three copies, and nothing half that is older than a day.
tidy() (
    cd "$1" || exit 0
    kept=0
    for old in $(ls -t); do
        case $old in
            brunt-*)
                kept=$((kept + 1))
                [ "$kept" -le 3 ] || rm -f "./$old"
                ;;
            part-* | probe-*)
                [ -z "$(find "./$old" -mtime +0 2>/dev/null)" ] || rm -f "./$old"
                ;;
        esac
    done
)

# Uses the program of vdbench=, if there is one.
installed() {
    case $folder in '~/'*) folder=${HOME:-}/${folder#??} ;; esac
    folder=${folder%/}
    if [ ! -e "$folder/brunt" ]; then
        say note "there is no brunt in vdbench=$folder; a copy of the master's is used"
        return
    fi
    text=$("$folder/brunt" --version 2>&1 </dev/null)
    status=$?
    case $status:$text in
        0:brunt\ *) file=$folder/brunt ;;
        *) fail run "$status" "$folder/brunt: $text" ;;
    esac
}

copied() {
    [ "$system" = Linux ] || fail machine
    offer=
    for one in $offers; do
        case $one in "$machine":*) offer=$one ;; esac
    done
    [ -n "$offer" ] || fail machine
    size=${offer##*:}
    hash=${offer#*:}
    hash=${hash%:*}
    name=brunt-$hash
    uid=$(id -u)
    tag=$(uname -n)-$$
    reasons=
    each look
    [ -z "$file" ] || return 0
    each take
    [ -n "$file" ] || fail folders "$reasons"
    tidy "${file%/*}"
}

main() {
    file=
    mask=$(umask)
    umask 077
    system=$(uname -s)
    machine=$(uname -m)
    say here "$system" "$machine"
    if [ -n "$folder" ]; then installed; fi
    if [ -z "$file" ]; then copied; fi
    umask "$mask"
    say ready "$file"
    run "$file" "$@"
}

main "$@"
