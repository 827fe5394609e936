#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# 1,000 sessions of 200 initiators at once: how long, how much memory each, and
# that it is given back; a target that is deleted under a storm of logins.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need jq

sessions=1000
lu memory 'type = "ram"' 'size = "16MiB"'
target "$iqn" 0=memory
configure 'max_unauthenticated = 4096; max_unauthenticated_per_address = 0;'
start_hawserd
logins=$helpers/hawser-test-logins

rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$daemon_pid/status"
}
session_count() {
	ctl --json session list | jq '.sessions | length'
}
none() {
	[ "$(session_count)" = 0 ]
}
# storm: prints what the sessions say of themselves and the daemon's memory with them.
storm() {
	"$logins" "$port" "$iqn" $sessions 200 storm \
		"awk '/^VmRSS/ { print \"rss\", \$2 }' /proc/$daemon_pid/status; $hawserctl -s $dir/admin.sock --json session list | jq -r '\"sessions \\(.sessions | length)\"'"
}
value() {
	sed -n "s/^$1 //p" "$2"
}

# The first one warms up pools and caches.
before=$(rss)
storm >"$dir/storm1"
equal all-logged-in 0 "$(value failed "$dir/storm1")"
equal all-there $sessions "$(value sessions "$dir/storm1")"
check all-gone wait_for 10 none
warm=$(rss)
storm >"$dir/storm2"
check all-gone-again wait_for 10 none
each=$((($(value rss "$dir/storm1") - before) / sessions))
echo "# $sessions sessions in $(value longest "$dir/storm2") ms, $each KiB each"
if [[ $(readlink -f "$hawserd") == */release/* ]]; then
	at_most KiB-of-a-session 64 $each
	# A session that stayed would be more than 2 KiB.
	at_most KiB-not-given-back $((warm + 2 * sessions)) "$(rss)"
else
	skip KiB-of-a-session 'a sanitizer keeps freed memory'
fi

# fault-C12: deleted while logins come without end.
covers fault-C12
doomed=$iqn-doomed
check made ctl target create "$doomed"
check admitted ctl acl add "$doomed" --any
(
	while :; do
		"$logins" "$port" "$doomed" 50 50 once
	done
) >"$dir/endless" 2>&1 &
endless=$!
on_exit() {
	kill "$endless" 2>/dev/null
}
hit() {
	grep -q "$doomed: .* logged in" "$log"
}
check hit wait_for 10 hit
begin=$SECONDS
check deleted timeout 5 "$hawserctl" -s "$dir/admin.sock" target delete "$doomed"
at_most within-5-s 5 $((SECONDS - begin))
kill "$endless"
check nobody-left wait_for 10 none
stop_hawserd
equal stops 0 $?
