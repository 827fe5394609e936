#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Initiators and targets come and go, in the manner of UNH-IOL's interoperability
# suite (of which only the titles are to be had): who is started first, a session
# that is lost and comes back, several targets and several initiators, a target
# that is taken away under load and brought back.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers U-188 U-189 U-191 U-192 U-193 U-194
need jq iscsi-ls iscsi-inq qemu-io

hosts=("$iqn-host1" "$iqn-host2")
copies=()

# at HOST TARGET LUN: an image that this initiator opens.
at() {
	echo "driver=iscsi,transport=tcp,portal=127.0.0.1:$port,target=$2,lun=$3,initiator-name=${hosts[$1]}"
}

# io HOST TARGET LUN COMMAND...: by qemu-io.
io() {
	local image said command arguments=()
	image=$(at "$1" "$2" "$3") said=$dir/io-$BASHPID
	shift 3
	for command; do
		arguments+=(-c "$command")
	done
	timeout 30 qemu-io --image-opts "$image" "${arguments[@]}" >"$said" 2>&1 &&
		! grep -iE 'failed|error' "$said"
}

# load NAME TARGET SECONDS: copies to LUN 1 of a target, and takes its time.
load() {
	timeout "$3" "$helpers/hawser-test-iscsi-dd" -q 4 -b 64 "$(url 0 "$iqn")" "$(url 1 "$2")" >"$dir/$1" 2>&1 &
	copies+=($!)
}

# has_written NAME MIB
has_written() {
	[ "$(allocated "$dir/$1.img")" -ge $(($2 << 20)) ]
}

sessions() {
	ctl --json session list | jq '.sessions | length'
}
no_session() {
	[ "$(sessions)" = 0 ]
}

thin_lu disk 24MiB
thin_lu first 24MiB
thin_lu second 24MiB
thin_lu slow-b 24MiB 'fault = "delay ms=20 kind=write"'
thin_lu slow-c 24MiB 'fault = "delay ms=20 kind=write"'
head -c 24M /dev/urandom >"$dir/disk.img"
b=$iqn-b c=$iqn-c d=$iqn-d
target "$iqn" 0=disk
target "$c" 1=slow-c
# Two hosts: one unit for both, and one for each.
own() {
	echo "{ initiator = \"${hosts[$1]}\"; luns = ( { lun = 0; lu = \"disk\"; }, { lun = 1; lu = \"$2\"; } ); }"
}
targets+=("{ name = \"$d\"; access = ( $(own 0 first), $(own 1 second) ); }")
configure

# The initiator is there first, then the target; and the other way round.
refused initiator-first 10 . iscsi-inq "$(url 0)"
start_hawserd
# At run time: what stems from the file cannot be switched off by hawserctl.
check target-b ctl target create "$b"
check target-b-access ctl acl add "$b" --any
check target-b-unit ctl lun map slow-b "$b" --lun 1
check initiator-first-then-finds iscsi-inq "$(url 0)"
check target-first io 0 "$iqn" 0 'write -P 7 0 64k' 'read -P 7 0 64k'

# Several targets, all in use at once.
equal several-targets 3 "$(iscsi-ls "iscsi://127.0.0.1:$port" | grep -c ^Target)"
for target in "$b" "$c"; do
	io 0 "$target" 1 'write -P 9 1M 1M' 'read -P 9 1M 1M' &
	copies+=($!)
done
for job in "${copies[@]}"; do
	check all-at-once wait "$job"
done
copies=()

# An idle session that is lost comes back by itself; of the old one nothing is left.
{ echo 'write -P 3 2M 64k' && wait_for 20 test -e "$dir/dropped" && echo 'read -P 3 2M 64k' && echo quit; } |
	timeout 60 qemu-io --image-opts "$(at 0 "$iqn" 0)" >"$dir/idle" 2>&1 &
idle=$!
check idle wait_for 20 grep -q wrote "$dir/idle"
check drop ctl session drop "$(ctl --json session list | jq -r '.sessions[0].id')"
touch "$dir/dropped"
check comes-back wait $idle
check reads-what-was-written grep -q '^read 65536' "$dir/idle"
check old-session-gone wait_for 10 no_session

# Several initiators: each its own unit, and one for all.
for n in 0 1; do
	check "own-unit-$n" io $n "$d" 1 "write -P $((n + 1)) 0 1M" "read -P $((n + 1)) 0 1M"
done
check own-unit-is-own io 0 "$d" 1 'read -P 1 0 1M'
check shared-written io 0 "$d" 0 'write -P 5 4M 64k'
check shared-read-by-the-other io 1 "$d" 0 'read -P 5 4M 64k'
refused stranger 10 . iscsi-inq -i "$iqn-stranger" "$(url 0 "$d")"

# A target is taken away under load: its own I/O ends, another's goes on.
load b "$b" 4
load c "$c" 60
check load-b wait_for 20 has_written slow-b 2
check offline ctl target offline "$b"
refused login-refused 10 . iscsi-inq "$(url 1 "$b")"
wait "${copies[0]}"
check its-io-ends test $? != 0
check the-others-goes-on wait "${copies[1]}"
check the-others-data cmp "$dir/disk.img" "$dir/slow-c.img"

# Two initiators' target goes and comes back under load: both use it again.
use() {
	until [ -e "$dir/enough" ]; do
		if io "$1" "$b" 1 "write -P $1 ${1}M 256k" "read -P $1 ${1}M 256k"; then
			echo >>"$dir/used-$1"
		fi
	done
}
# used TIMES: by each of them.
used() {
	[ "$(wc -l <"$dir/used-0")" -ge "$1" ] && [ "$(wc -l <"$dir/used-1")" -ge "$1" ]
}
check online ctl target online "$b"
for n in 0 1; do
	use $n &
	copies[n]=$!
done
check both-use-it wait_for 20 used 2
check offline-under-load ctl target offline "$b"
check sessions-end wait_for 10 no_session
check online-again ctl target online "$b"
: >"$dir/used-0" && : >"$dir/used-1"
check both-recover wait_for 60 used 2
touch "$dir/enough"
wait "${copies[@]}"
check nothing-left wait_for 10 no_session
stop_hawserd
equal stops-with-0 0 $?
