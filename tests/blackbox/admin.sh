#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# hawserctl at run time: targets and logical units come and go with initiators
# logged in, are kept over a restart and a kill, and refusals say what is wrong.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-N05
need jq iscsi-inq iscsi-readcapacity16 qemu-io

new=$iqn-new
thin_lu first 64MiB
target "$iqn" 0=first
configure
start_hawserd

# json FILTER COMMAND...: what jq makes of the answer.
json() {
	local filter=$1
	shift
	ctl --json "$@" | jq -r "$filter"
}

# names NOUN: all of them, in order.
names() {
	json '[.. | objects | .name? // empty] | unique | join(" ")' "$1" list
}

equal lists-configured first "$(names lun)"
check status ctl daemon status
check stats ctl daemon stats
check table-and-json test -n "$(ctl lun list)" -a -n "$(json . lun list)"

# Made at run time.
check create-lun ctl lun create second --path "$dir/second.img" --size 64MiB --create yes
check create-target ctl target create "$new"
check map ctl lun map second "$new" --lun 3
refused nobody-yet 10 . iscsi-inq "$(url 3 "$new")"
check admit ctl acl add "$new" --initiator 'iqn.*'
check serves qemu-io -f raw -t writeback -c 'write -P 0x41 0 8M' -c flush "$(url 3 "$new")"
check create-and-map ctl lun create third --type ram --size 16MiB --target "$new" --lun 4
check serves-third iscsi-inq "$(url 4 "$new")"

# Resizing: the file, what initiators are told, and what is kept.
bytes() {
	iscsi-readcapacity16 -s "$(url "$1" "$new")"
}
refused resize-ram 1 'type ram' ctl lun resize third --size 32MiB
refused resize-not-blocks 1 blocks ctl lun resize second --size 1000
refused resize-shorter 1 force ctl lun resize second --size 32MiB
equal resize-refused $((64 << 20)) "$(stat -c %s "$dir/second.img")"
check resize ctl lun resize second --size 96MiB
equal resize-file $((96 << 20)) "$(stat -c %s "$dir/second.img")"
equal resize-bytes $((96 << 20)) "$(bytes 3)"
check resize-serves qemu-io -f raw -t writeback -c 'write 90M 1M' "$(url 3 "$new")"
check resize-force ctl lun resize second --size 80MiB --force
equal resize-force-bytes $((80 << 20)) "$(bytes 3)"
truncate -s 88M "$dir/second.img"
check resize-look ctl lun resize second
equal resize-look-bytes $((88 << 20)) "$(bytes 3)"
check resize-state grep -rq 80MiB "$dir/state"

# Beside a session that stays: it sees nothing of what happens to others.
stdbuf -oL qemu-io -f raw -t writeback -c 'write -P 0x42 16M 4M' -c 'sleep 4000' -c 'read -P 0x42 16M 4M' \
	"$(url 3 "$new")" >"$dir/session" 2>&1 &
session=$!
wait_for 10 grep -q wrote "$dir/session"
check session-list grep "$new" <(ctl session list)
show() {
	ctl session show "$(ctl --json session list | jq ".sessions[] | select(.target == \"$new\").id")"
}
check session-show grep -q 'MaxBurstLength: [0-9]' <(show)
refused session-show-unknown 1 'session list' ctl session show 999999
refused session-show-none 1 'session list' ctl session show 0
come_and_go() {
	local i
	for i in $(seq 5); do
		ctl lun create "extra$i" --type ram --size 1MiB --target "$new" --lun $((10 + i)) || return
		iscsi-inq "$(url $((10 + i)) "$new")" || return
		ctl lun delete "extra$i" --unmap || return
	done
}
check five-come-and-go come_and_go
# Identities come and go while another asks for them.
churn() {
	local i status=0
	for i in $(seq 40); do
		ctl lun create churn --type ram --size 1MiB --serial "S$i" --target "$new" --lun 20 &&
			ctl lun delete churn --unmap || status=1
	done
	touch "$dir/churned"
	return $status
}
asker() {
	while [ ! -e "$dir/churned" ]; do
		iscsi-inq --evpd=1 --pagecode=128 "$(url 20 "$new")" || true
	done
}
asker >"$dir/asked" 2>&1 &
asking=$!
check churn churn
wait $asking
check churn/asked grep -aqE "S[0-9]+" "$dir/asked"
equal none-is-left 'first second third' "$(names lun)"
wait $session
equal session-is-not-disturbed 0 $?

# Refusals: status 1, and the object is named.
refused name-is-taken 1 second ctl lun create second --type ram --size 1MiB
refused file-is-taken 1 second.img ctl lun create fourth --path "$dir/second.img"
refused no-such-target 1 nowhere ctl lun map second iqn.2026-01.org.example:nowhere
refused bad-target-name 1 'not-a-name' ctl target create not-a-name
refused lun-is-taken 1 '3|second' ctl lun map third "$new" --lun 3
refused no-such-file 1 absent.img ctl lun create fifth --path "$dir/absent.img"
refused usage 2 . ctl lun frobnicate
refused no-daemon 3 . "$hawserctl" -s "$dir/nobody.sock" lun list

# Kept, over an orderly end and over none.
before=$(json '[.. | objects | select(.name? == "second") | .naa? // empty] | first' lun show second)
inquiry=$(iscsi-inq --evpd=1 --pagecode=131 "$(url 3 "$new")" | tr -d '\0')
stop_hawserd
equal stops-with-0 0 $?
start_hawserd
equal after-restart/units 'first second third' "$(names lun)"
check after-restart/data qemu-io -f raw -c 'read -P 0x41 0 8M' "$(url 3 "$new")"
equal after-restart/identity "$before" \
	"$(json '[.. | objects | select(.name? == "second") | .naa? // empty] | first' lun show second)"
kill_hawserd
start_hawserd
check after-kill/data qemu-io -f raw -c 'read -P 0x41 0 8M' "$(url 3 "$new")"
equal after-kill/identity "$inquiry" \
	"$(iscsi-inq --evpd=1 --pagecode=131 "$(url 3 "$new")" | tr -d '\0')"

check save grep -q second <(ctl config save)
check delete-target ctl target delete "$new"
refused gone 10 . iscsi-inq "$(url 3 "$new")"
check delete-lun ctl lun delete second
check its-file-is-kept test -s "$dir/second.img"
stop_hawserd
start_hawserd
equal deleted-stays-deleted 'first third' "$(names lun)"
stop_hawserd
equal stops-with-0-again 0 $?
