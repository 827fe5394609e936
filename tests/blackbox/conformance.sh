#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# libiscsi's conformance suite, each test in a process of its own with a time
# limit, on the kinds of logical units that it asks for.  One result line each.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-E07
need iscsi-test-cu

limit=120

# What does not run, and why: patterns of SUITE.TEST on a kind of unit, a reason.
# A test that skips itself without standing here fails.
skips='
any ExtendedCopy.* EXTENDED COPY is not offered yet
any ReceiveCopyResults.* EXTENDED COPY is not offered yet
any Sanitize.CryptoErase nothing is encrypted
thin WriteAtomic16.* a file promises no atomic writes; they run on a ram unit
ram4 WriteAtomic16.VPD a physical block has only one logical one
thin GetLBAStatus.UnmapSingle its second half asks for the block behind the one it means where a physical block has several
4kn *.UnmapUnaligned a physical block has only one logical one
4kn *.InvalidDataOutSize it asks for several logical blocks in a physical one
any iSCSITMF.LUNResetSimpleAsync it fails unless both answers come in one read of its socket, which nothing makes sure
'

# Tests that leave out a part of themselves.
parts='
ReadOnly.ReadOnlySBC a read-only file is not thin: no UNMAP
Sanitize.Readonly CRYPTO ERASE is not offered: nothing is encrypted
Sanitize.Reservations CRYPTO ERASE is not offered: nothing is encrypted
WriteSame10.ZeroBlocks no blocks are refused: WSNZ=1
WriteSame16.ZeroBlocks no blocks are refused: WSNZ=1
'

# Which suites run on which kind besides the thin unit, which gets all.
on_four='Read[0-9C]*|Write[0-9SV]*|Verify*|CompareAndWrite.*|OrWrite.*|Unmap.*|GetLBAStatus.*|Prefetch*|Mandatory.*|Inquiry.*|iSCSI[Rcd]*'
on_ram='CompareAndWrite.*|OrWrite.*|WriteAtomic16.*|WriteSame*|MultipathIO.CompareAndWrite*|Unmap.*'
# An overwrite that lasts some ten seconds, for the resets in the midst of it.
on_erase='Sanitize.Reset'
on_ram4='WriteAtomic16.*'
on_removable='PreventAllow.*|StartStopUnit.*|NoMedia.*|TestUnitReady.*|ModeSense6.*|Mandatory.*'
on_read_only='ReadOnly.*'
on_slow='iSCSITMF.*'
# On the thin unit these have nothing to do, or find nothing in progress.
not_on_thin='Sanitize.Reset|PreventAllow.*|StartStopUnit.*|NoMedia.*|ReadOnly.*|iSCSITMF.*'

# matches NAME PATTERN[|PATTERN]...
matches() {
	local -a patterns
	local pattern
	IFS='|' read -ra patterns <<<"$2"
	for pattern in "${patterns[@]}"; do
		# shellcheck disable=SC2053 # a pattern
		[[ $1 == $pattern ]] && return 0
	done
	return 1
}

# reason_to_skip KIND NAME
reason_to_skip() {
	local kind pattern reason
	while read -r kind pattern reason; do
		[ "$kind" = any ] || [ "$kind" = "$1" ] || continue
		matches "$2" "$pattern" && echo "$reason" && return 0
	done < <(grep . <<<"$skips")
	return 1
}

# partly NAME: why a part of it does not run.
partly() {
	sed -n "s/^$1 //p" <<<"$parts" | grep .
}

# one KIND LUN NAME: runs one test of the suite.
one() {
	local kind=$1 name=$3 log=$dir/suite.log status counts urls reason body
	urls=("$(url "$2")")
	[[ $name != MultipathIO.* ]] || urls+=("$(url "$2")")
	if reason=$(reason_to_skip "$kind" "$name"); then
		skip "$kind/$name" "$reason"
		return
	fi
	timeout --kill-after=5 "$limit" iscsi-test-cu --dataloss --allow-sanitize --ignore \
		--verbose --Verbose-scsi --test="ALL.$name" "${urls[@]}" >"$log" 2>&1 </dev/null
	status=$?
	# CUnit's summary: tests TOTAL RAN PASSED FAILED INACTIVE
	counts=$(awk '$1 == "tests" && NF == 6 { print $3 "/" $4 "/" $5 }' "$log")
	# What the test itself said, without the suite's set-up and tear-down.
	body=$(tr -d '\0' <"$log" | awk '/^  Test: / { inside = 1 } inside { print } /(^|[.][.][.])(passed|FAILED)/ { inside = 0 }')
	if [ $status = 124 ] || [ $status = 137 ]; then
		not_ok "$kind/$name" "no end within $limit s"
	elif [ "$counts" != 1/1/0 ]; then
		not_ok "$kind/$name" "$(grep -a -m 1 -F '[FAILED]' <<<"$body" || tail -n 1 "$log")"
		printf '%s\n' "$body" | tail -n 25
	elif reason=$(partly "$name"); then
		ok "$kind/$name"
		skip "$kind/$name-part" "$reason"
	elif grep -aq 'SKIPP\|Skipping' <<<"$body"; then
		not_ok "$kind/$name" "skipped itself: $(grep -a -m 1 'SKIPP\|Skipping' <<<"$body")"
	else
		ok "$kind/$name"
	fi
	alive || { not_ok "$kind/$name-alive" 'hawserd is gone' && exit 1; }
}

thin_lu thin 1GiB
thin_lu four 1GiB 'block_size = 4096'
thin_lu removable 1GiB 'removable = true'
thin_lu read-only 64MiB
lus[-1]=${lus[-1]/'size = "64MiB"; create = true;'/'read_only = true;'}
truncate -s 64M "$dir/read-only.img"
lu slow 'type = "ram"' 'size = "64MiB"' 'fault = "delay ms=1500 kind=write"'
lu ram 'type = "ram"' 'size = "256MiB"'
lu erase 'type = "ram"' 'size = "64MiB"' 'fault = "delay ms=150 kind=write"'
lu ram4 'type = "ram"' 'size = "256MiB"' 'block_size = 4096'
target "$iqn" 1=thin 2=four 3=removable 4=read-only 5=slow 6=ram 7=ram4 8=erase
# For the tests of newer suites that ask for SendTargets=All in a normal session.
configure 'send_targets_all_in_normal_sessions = true;'
start_hawserd

mapfile -t names < <(iscsi-test-cu --list | awk -F. 'NF == 3 && !seen[$2 "." $3]++ { print $2 "." $3 }')
[ ${#names[@]} -gt 200 ] || { not_ok list "iscsi-test-cu lists only ${#names[@]} tests" && exit 1; }
for name in "${names[@]}"; do
	matches "$name" "$not_on_thin" || one thin 1 "$name"
done
for name in "${names[@]}"; do
	! matches "$name" "$on_four" || reason_to_skip 4kn "$name" >/dev/null || one 4kn 2 "$name"
	! matches "$name" "$on_removable" || one removable 3 "$name"
	! matches "$name" "$on_read_only" || one read-only 4 "$name"
	! matches "$name" "$on_ram" || one ram 6 "$name"
	! matches "$name" "$on_ram4" || reason_to_skip ram4 "$name" >/dev/null || one ram4 7 "$name"
	! matches "$name" "$on_erase" || one erase 8 "$name"
	! matches "$name" "$on_slow" || one slow 5 "$name"
done
stop_hawserd
equal stops-with-0 0 $?
