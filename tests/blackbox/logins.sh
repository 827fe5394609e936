#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Logins and logouts leave memory and descriptors as they were; connections that
# stay silent are dropped, and nobody else waits for them.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-M02 fault-D04
need iscsi-inq

cycles=200
lu memory 'type = "ram"' 'size = "16MiB"'
target "$iqn" 0=memory
# One I/O thread: another's first session, whenever it comes, would look like growth.
configure 'reactors = 1; login_timeout_s = 2;'
start_hawserd

rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$daemon_pid/status"
}

descriptors() {
	find "/proc/$daemon_pid/fd" -mindepth 1 2>/dev/null | wc -l
}

# cycle N: this many logins, a command and a logout; prints how many failed.
cycle() {
	local i bad=0
	for ((i = 0; i < $1; i++)); do
		iscsi-inq "$(url 0)" >/dev/null 2>&1 || bad=$((bad + 1))
	done
	echo $bad
}

few_descriptors() {
	[ "$(descriptors)" -le "$1" ]
}

# The first ones warm up pools and caches.
equal warm-up 0 "$(cycle 30)"
before=$(descriptors)
memory=$(rss)
equal $cycles-cycles 0 "$(cycle $cycles)"
check descriptors-flat wait_for 5 few_descriptors "$before"
if [[ $(readlink -f "$hawserd") == */release/* ]]; then
	at_most memory-flat-KiB $((memory + 1024)) "$(rss)"
else
	skip memory-flat-KiB 'a sanitizer keeps freed memory'
fi

# Connections that say nothing, or half a login.
for _ in $(seq 20); do
	exec {fd}<>"/dev/tcp/127.0.0.1/$port"
	silent+=("$fd")
	exec {fd}<>"/dev/tcp/127.0.0.1/$port"
	printf '\x43\x87\x00\x00' >&"$fd"
	silent+=("$fd")
done
begin=$SECONDS
equal login-beside-silent-connections 0 "$(cycle 5)"
at_most and-at-once 1 $((SECONDS - begin))
# closed FD: the other side has closed it.
closed() {
	read -r -t 0.01 -N 1 -u "$1" _
	[ $? = 1 ]
}
all_closed() {
	local fd
	for fd in "${silent[@]}"; do
		closed "$fd" || return 1
	done
}
check silent-connections-are-dropped wait_for 15 all_closed
for fd in "${silent[@]}"; do
	exec {fd}>&-
done
check descriptors-after-silence wait_for 5 few_descriptors "$before"
check one-log-line-each grep -qiE 'login|silent|time' "$log"
stop_hawserd
equal stops-with-0 0 $?
