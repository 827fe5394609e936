# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# What administrators' tools make of a disk of ours through the kernel's initiator:
# sg3_utils, smartctl, lsblk; the sequence of fence_scsi.  What is on the disk is
# overwritten.  Sourced by tests/vm/cases: sg_tools is the whole of it.

# holds NAME PATTERN COMMAND...: the command succeeds and says PATTERN.
holds() {
	local name=$1 pattern=$2
	shift 2
	if check "$name" "$@" && ! grep -qE -- "$pattern" "$dir/said"; then
		not_ok "$name-says" "no \"$pattern\" in: $(head -c 300 "$dir/said")"
	fi
}

sg_reports() {
	holds sg/inquiry 'HAWSER' sg_inq "$disk"
	holds sg/vpd-all 'Logical block provisioning' sg_vpd -a "$disk"
	holds sg/vpd-limits 'Maximum compare and write length: 128' sg_vpd -p bl "$disk"
	holds sg/capacity-16 'lbpme=1, lbprz=1' sg_readcap --16 "$disk"
	check sg/capacity-10 sg_readcap "$disk"
	check sg/luns sg_luns "$disk"
	holds sg/opcodes 'Compare and write' sg_opcodes "$disk"
	check sg/opcodes-by-name sg_opcodes -n "$disk"
	check sg/task-management-functions sg_opcodes -m "$disk"
	holds sg/modes 'Caching' sg_modes -a "$disk"
	check sg/logs sg_logs -a "$disk"
	check sg/ready sg_turs "$disk"
	check sg/verify sg_verify --lba=0 --count=8 "$disk"
	check sg/synchronize-cache sg_sync "$disk"
	check sg/request-sense sg_requests "$disk"
	# 5h/20h/00h: sg3_utils has an exit status for it.
	refused sg/no-zones 9 'REPORT ZONES|Report zones|not supported' sg_rep_zones "$disk"
	holds smartctl 'SMART Health Status: OK' smartctl -a "$disk"
	# Granularity and limit of what may be discarded: not 0.
	holds lsblk-discard ' [1-9][0-9]*[KMG] +[1-9]' lsblk -D -n "$disk"
}

# Blocks are written, compared, repeated and given back.
sg_blocks() {
	local zeros=$dir/zeros ones=$dir/ones
	head -c 512 /dev/zero >"$zeros"
	head -c 512 /dev/zero | tr '\0' '\377' >"$ones"
	check sg/write-same sg_write_same --in="$ones" --lba=64 --num=64 "$disk"
	check sg/write-same-written cmp -n 32768 <(dd if="$disk" bs=512 skip=64 count=64 iflag=direct status=none) \
		<(head -c 32768 /dev/zero | tr '\0' '\377')
	cat "$ones" "$zeros" >"$dir/lock"
	check sg/compare-and-write sg_compare_and_write --in="$dir/lock" --lba=64 --num=1 "$disk"
	# 0Eh: somebody else has the lock.
	refused sg/compare-and-write-again 14 . sg_compare_and_write --in="$dir/lock" --lba=64 --num=1 "$disk"
	holds sg/lba-status-mapped 'mapped' sg_get_lba_status --lba=64 "$disk"
	check sg/unmap sg_unmap --lba=64 --num=64 "$disk"
	holds sg/lba-status-unmapped 'deallocated|unmapped' sg_get_lba_status --lba=64 "$disk"
	check sg/unmapped-reads-zero cmp -n 32768 <(dd if="$disk" bs=512 skip=64 count=64 iflag=direct status=none) /dev/zero
	check sg/write-same-unmap sg_write_same --unmap --lba=0 --num=64 "$disk"
}

# sessions: their numbers, the oldest first.
sessions() {
	iscsiadm -m session | sed -n 's/^tcp: \[\([0-9]*\)\].*/\1/p' | sort -n
}

# second_path: another session of this initiator, with an ISID of its own; $other is
# the same disk by that way.
second_path() {
	check second-path/login iscsiadm -m session -r "$(sessions | head -n 1)" --op new || return
	check second-path/disk wait_for 60 other_disk
}

other_disk() {
	local found
	for found in /sys/class/scsi_device/*:1/device/block/*; do
		other=/dev/${found##*/}
		[ "$other" = "$disk" ] || [ ! -b "$other" ] || return 0
	done
	return 1
}

# Node 1 has the disk, node 2 takes it: as fence_scsi does it (fence-agents), which
# registers, reserves write exclusive for registrants, and preempts the key of the
# node that is to be fenced.
fence() {
	local one=0x11 two=0x22
	second_path || return
	check fence/register-1 sg_persist -n -o -I -S $one -d "$disk"
	check fence/register-2 sg_persist -n -o -I -S $two -d "$other"
	check fence/reserve sg_persist -n -o -R -T 5 -K $one -d "$disk"
	holds fence/keys '0x22' sg_persist -n -i -k -d "$other"
	holds fence/holder 'Key *= *0x11|Key=0x11' sg_persist -n -i -r -d "$other"
	check fence/both-write-1 dd if=/dev/zero of="$disk" bs=4k count=1 oflag=direct status=none
	check fence/both-write-2 dd if=/dev/zero of="$other" bs=4k count=1 oflag=direct status=none
	check fence/preempt sg_persist -n -o -A -T 5 -K $two -S $one -d "$other"
	holds fence/new-holder '0x22' sg_persist -n -i -r -d "$other"
	refused fence/fenced 1 . dd if=/dev/zero of="$disk" bs=4k count=1 oflag=direct status=none
	refused fence/fenced-by-tool 24 . sg_persist -n -o -R -T 5 -K $one -d "$disk"
	check fence/clear sg_persist -n -o -C -K $two -d "$other"
	holds fence/no-keys 'no registered|there are NO' sg_persist -n -i -k -d "$other"
	check second-path/logout iscsiadm -m session -r "$(sessions | tail -n 1)" --logout
	check fence/writes-again wait_for 30 dd if=/dev/zero of="$disk" bs=4k count=1 oflag=direct status=none
}

sg_tools() {
	sg_reports
	sg_blocks
	fence
	check sg/sanitize sg_sanitize --block --quick --wait "$disk"
	check sg/sanitized cmp -n 1048576 "$disk" /dev/zero
	check sg/lu-reset sg_reset --device "$disk"
	check sg/after-reset wait_for 30 sg_turs "$disk"
}
