#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A real network stack in between: target and initiator in network namespaces of
# their own, joined by a pair of interfaces.  IPv4 and IPv6, small and jumbo frames
# and both at once, and a cable that is pulled for some seconds under I/O.
[ "$(id -u)" = 0 ] || { echo 'needs root for network namespaces' && exit 77; }
[ -n "${HAWSER_TEST_NET-}" ] || exec env HAWSER_TEST_NET=1 unshare --net "$0"
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need ip nsenter qemu-img

# This script and the daemon are at the target's end.  The initiator's namespace
# lives as long as a process in it.
unshare --net sleep infinity &
other=$!
# shellcheck disable=SC2317 # by the trap of hawserd.sh
on_exit() {
	kill $other
}
at_initiator() {
	nsenter -t $other -n "$@"
}

# cable MTU MTU: the target's and the initiator's end.
cable() {
	ip link set dev end mtu "$1" && at_initiator ip link set dev end mtu "$2"
}

join_namespaces() {
	wait_for 10 other_namespace &&
		ip link set lo up && at_initiator ip link set lo up &&
		ip link add end type veth peer name end netns $other &&
		ip addr add 192.0.2.1/24 dev end && ip addr add fd00::1/64 dev end nodad &&
		at_initiator ip addr add 192.0.2.2/24 dev end &&
		at_initiator ip addr add fd00::2/64 dev end nodad &&
		ip link set dev end up && at_initiator ip link set dev end up
}

other_namespace() {
	[ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]
}

# at ADDRESS LUN: a url.
at() {
	echo "iscsi://$1:$port/$iqn/$2"
}

# verified NAME ADDRESS: what is written, with header digests, is what is there and
# what is read.
verified() {
	head -c 32M /dev/urandom >"$dir/a.img"
	check "$1-copy" at_initiator "$helpers/hawser-test-iscsi-dd" -q 16 -b 512 "$(at "$2" 1)" "$(at "$2" 2)"
	check "$1-arrived" cmp "$dir/a.img" "$dir/b.img"
	check "$1-read" at_initiator qemu-img compare -f raw -F raw "$(at "$2" 2)" "$dir/a.img"
}

# A copy that takes its time, and the cable is pulled in the middle of it.
pulled() {
	covers fault-D17 U-190
	local copy status
	head -c 32M /dev/urandom >"$dir/a.img"
	at_initiator timeout 60 "$helpers/hawser-test-iscsi-dd" -q 8 -b 64 "$(at 192.0.2.1 1)" \
		"$(at 192.0.2.1 3)" >"$dir/said" 2>&1 &
	copy=$!
	check pulled-begun wait_for 20 has_written 4
	at_initiator ip link set dev end down
	sleep 3
	at_initiator ip link set dev end up
	check pulled-in-the-middle kill -0 $copy
	wait $copy
	status=$?
	equal pulled-copy 0 $status
	check pulled-arrived cmp "$dir/a.img" "$dir/slow.img"
	equal pulled-session-kept 0 "$(grep -c 'connection lost' "$log")"
}

# has_written MIB: of the slow unit.
has_written() {
	[ "$(allocated "$dir/slow.img")" -ge $(($1 << 20)) ]
}

check namespaces join_namespaces || exit 1
lu a 'type = "file"' "path = \"$dir/a.img\""
truncate -s 32M "$dir/a.img"
thin_lu b 32MiB
thin_lu slow 32MiB 'fault = "delay ms=20 kind=write"'
target "$iqn" 1=a 2=b 3=slow
portal 192.0.2.1
portal fd00::1
configure
start_hawserd

for mtu in '1280 1280' '9000 9000' '9000 1280'; do
	# shellcheck disable=SC2086 # two numbers
	check "mtu-${mtu/ /-}" cable $mtu
	verified "ipv6-${mtu/ /-}" '[fd00::1]'
	verified "ipv4-${mtu/ /-}" 192.0.2.1
done
check discovery-ipv6 grep -qF "[fd00::1]:$port" <(at_initiator iscsi-ls "iscsi://[fd00::1]:$port")
cable 1500 1500
pulled
stop_hawserd
equal daemon-ends-with-0 0 $?
