#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# libiscsi's conformance suite, each test in a process of its own with a time
# limit, on the kinds of logical units that it asks for.  One result line each,
# and a table at the end.  HAWSER_TEST_FULL runs all of it on each kind of disk;
# ISCSI_TEST_CU names another release of the suite.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-E07
suite=${ISCSI_TEST_CU:-iscsi-test-cu}
need "$suite"

limit=120

# What does not run, and why: patterns of SUITE.TEST on a kind of unit, a reason.
# A test that skips itself without standing here fails.
skips='
any ExtendedCopy.* EXTENDED COPY is not offered yet
any ReceiveCopyResults.* EXTENDED COPY is not offered yet
any Sanitize.CryptoErase nothing is encrypted
thin WriteAtomic16.* a file promises no atomic writes; they run on a ram unit
4kn WriteAtomic16.* a file promises no atomic writes; they run on a ram unit
block WriteAtomic16.* a disk behind the page cache promises no atomic writes; they run on a ram unit
paths WriteAtomic16.* as on the thin unit
ram4 WriteAtomic16.VPD a physical block has only one logical one
thin GetLBAStatus.UnmapSingle its second half asks for the block behind the one it means where a physical block has several
paths GetLBAStatus.UnmapSingle as on the thin unit; it runs on the 4kn unit
ram GetLBAStatus.UnmapSingle as on the thin unit; it runs on the 4kn unit
block GetLBAStatus.UnmapSingle as on the thin unit; it runs on the 4kn unit
4kn *.UnmapUnaligned a physical block has only one logical one
4kn *.InvalidDataOutSize it asks for several logical blocks in a physical one
block Sanitize.BlockErase a block device does not tell which of its blocks it has given back
4kn ProutReserve.Access* it sends 512 bytes as a block of 4096, and that is refused
any iSCSITMF.LUNResetSimpleAsync it fails unless both answers come in one read of its socket, which nothing makes sure
'

# Tests that leave out a part of themselves.
parts='
Sanitize.Readonly CRYPTO ERASE is not offered: nothing is encrypted
Sanitize.Reservations CRYPTO ERASE is not offered: nothing is encrypted
WriteSame10.ZeroBlocks WSNZ=1: with 0 WriteSame10.UnmapUntilEnd wants FFh, written with UNMAP, to be read as zero
WriteSame16.ZeroBlocks WSNZ=1: with 0 WriteSame10.UnmapUntilEnd wants FFh, written with UNMAP, to be read as zero
'

# Each kind of unit, its LUN, and what runs there: a disk gets what its line says
# in the usual run and everything in the full one, the others have their tests.
# "paths" is a thin one that all tests reach by two portal groups at once.
kinds='
thin 1 disk *
4kn 2 disk Read[0-9C]*|Write[0-9SV]*|Verify*|CompareAndWrite.*|OrWrite.*|Unmap.*|GetLBAStatus.*|Prefetch*|Mandatory.*|Inquiry.*|iSCSI[Rcd]*
block 9 disk CompareAndWrite.*|GetLBAStatus.*|Mandatory.*|Unmap.*|WriteSame*
ram 6 disk CompareAndWrite.*|OrWrite.*|WriteAtomic16.*|WriteSame*|MultipathIO.CompareAndWrite*|Unmap.*
paths 10 disk -
ram4 7 other WriteAtomic16.*
removable 3 other PreventAllow.*|StartStopUnit.*|NoMedia.*|TestUnitReady.*|ModeSense6.*|Mandatory.*
read-only 4 other ReadOnly.*
erase 8 other Sanitize.Reset
slow 5 other iSCSITMF.*
'
# On a disk that is fixed, writable and fast these have nothing to do, or find
# nothing in progress.  A sanitize that lasts ten seconds is on "erase".
not_on_disks='Sanitize.Reset|PreventAllow.*|StartStopUnit.*|NoMedia.*|ReadOnly.*|iSCSITMF.*'

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

declare -A passed failed skipped

# tell KIND ok|not_ok|skip TEXT...: a result line, counted for the table.
tell() {
	local kind=$1
	shift
	case $1 in
	ok) passed[$kind]=$((${passed[$kind]-0} + 1)) ;;
	not_ok) failed[$kind]=$((${failed[$kind]-0} + 1)) ;;
	skip) skipped[$kind]=$((${skipped[$kind]-0} + 1)) ;;
	esac
	"$@"
}

# one KIND LUN NAME: runs one test of the suite.
one() {
	local kind=$1 name=$3 log=$dir/suite.log status counts urls reason body
	urls=("$(url "$2")")
	[[ $kind != paths && $name != MultipathIO.* ]] || urls+=("iscsi://127.0.0.1:$second/$iqn/$2")
	if reason=$(reason_to_skip "$kind" "$name"); then
		# Elsewhere than on the first unit only a full run speaks of it.
		[[ $kind != thin && -z ${HAWSER_TEST_FULL-} ]] || tell "$kind" skip "$kind/$name" "$reason"
		return
	fi
	timeout --kill-after=5 "$limit" "$suite" --dataloss --allow-sanitize --ignore \
		--verbose --Verbose-scsi --test="ALL.$name" "${urls[@]}" >"$log" 2>&1 </dev/null
	status=$?
	# CUnit's summary: tests TOTAL RAN PASSED FAILED INACTIVE
	counts=$(awk '$1 == "tests" && NF == 6 { print $3 "/" $4 "/" $5 }' "$log")
	# What the test itself said, without the suite's set-up and tear-down.
	body=$(tr -d '\0' <"$log" | awk '/^  Test: / { inside = 1 } inside { print } /(^|[.][.][.])(passed|FAILED)/ { inside = 0 }')
	if [ $status = 124 ] || [ $status = 137 ]; then
		tell "$kind" not_ok "$kind/$name" "no end within $limit s"
	elif [ "$counts" != 1/1/0 ]; then
		tell "$kind" not_ok "$kind/$name" "$(grep -a -m 1 -F '[FAILED]' <<<"$body" || tail -n 1 "$log")"
		printf '%s\n' "$body" | tail -n 25
	elif reason=$(partly "$name"); then
		tell "$kind" ok "$kind/$name"
		skip "$kind/$name-part" "$reason"
	elif grep -aq 'SKIPP\|Skipping' <<<"$body"; then
		tell "$kind" not_ok "$kind/$name" "skipped itself: $(grep -a -m 1 'SKIPP\|Skipping' <<<"$body")"
	else
		tell "$kind" ok "$kind/$name"
	fi
	alive || { not_ok "$kind/$name-alive" 'hawserd is gone' && exit 1; }
}

# A block device, where the machine lets us have one.
loop=
make_block_lu() {
	truncate -s 1G "$dir/block.img" && loop=$(losetup --find --show "$dir/block.img") || return
	lu block 'type = "block"' "path = \"$loop\""
	luns+=("9=block")
} 2>/dev/null

on_exit() {
	[ -z "$loop" ] || losetup --detach "$loop"
}

thin_lu thin 1GiB
thin_lu paths 1GiB
thin_lu four 1GiB 'block_size = 4096'
thin_lu removable 1GiB 'removable = true'
thin_lu read-only 64MiB
lu slow 'type = "ram"' 'size = "64MiB"' 'fault = "delay ms=1500 kind=write"'
lu ram 'type = "ram"' 'size = "1GiB"'
lu erase 'type = "ram"' 'size = "64MiB"' 'fault = "delay ms=150 kind=write"'
lu ram4 'type = "ram"' 'size = "256MiB"' 'block_size = 4096'
luns=("1=thin" "2=four" "3=removable" "5=slow" "6=ram" "7=ram4" "8=erase" "10=paths")
make_block_lu || skip block 'there is no loop device to be had here'
target "$iqn" "${luns[@]}"
# Thin, and not to be written: by the LUN map, for a store that is read-only has no UNMAP.
targets[-1]=${targets[-1]/'luns = ( '/'luns = ( { lun = 4; lu = "read-only"; read_only = true; },'}
second=$(free_port)
portal 127.0.0.1 "$second" 2
# For the tests of newer releases that ask for SendTargets=All in a normal session.
configure 'send_targets_all_in_normal_sessions = true;'
start_hawserd

mapfile -t names < <("$suite" --list | awk -F. 'NF == 3 && !seen[$2 "." $3]++ { print $2 "." $3 }')
[ ${#names[@]} -gt 200 ] || { not_ok list "$suite lists only ${#names[@]} tests" && exit 1; }
while read -r kind lun sort patterns <&3; do
	[ "$kind" != block ] || [ -n "$loop" ] || continue
	[ "$sort" = other ] || [ -z "${HAWSER_TEST_FULL-}" ] || patterns='*'
	for name in "${names[@]}"; do
		matches "$name" "$patterns" || continue
		[ "$sort" = other ] || ! matches "$name" "$not_on_disks" || continue
		one "$kind" "$lun" "$name"
	done
done 3< <(grep . <<<"$kinds")
stop_hawserd
equal stops-with-0 0 $?

printf '%-10s %8s %8s %8s\n' unit passed failed skipped
while read -r kind _; do
	printf '%-10s %8s %8s %8s\n' "$kind" "${passed[$kind]-0}" "${failed[$kind]-0}" "${skipped[$kind]-0}"
done < <(grep . <<<"$kinds")
