#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Portals with initiators of others: both families on one port, added and removed
# at run time with sessions on them, what is told of wildcards on a machine whose
# addresses change (in a network namespace).
#
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need iscsi-ls iscsi-inq ip unshare

# The rest runs alone on a loopback and a wire of its own.
if [ "${1-}" != inside ]; then
	if ! unshare --net true 2>/dev/null; then
		skip portals "no network namespace can be made here"
		exit
	fi
	trap - EXIT
	rm -rf "$dir"
	exec unshare --net "$0" inside
fi

covers N-019 N-030 N-031 N-033 fault-C02 fault-C04
ip link set lo up
ip link add wire type veth peer name other
ip link set wire up
ip link set other up
ip address add 10.9.9.1/24 dev wire
ip address add 2001:db8:9::1/64 dev wire nodad 2>/dev/null && have_v6=yes

lu disk 'type = "ram"' 'size = "16MiB"'
target "$iqn" 0=disk
configure
# As a new installation has it.
sed -n '/^portals/,/^);/p' "$source_dir/packaging/hawser.conf" >"$dir/portals"
sed -i -e "/^\t*portals/r $dir/portals" -e '/^\t*portals/d' "$conf"
port=3260
start_hawserd

# told_by HOST: the addresses that SendTargets gives when asked there.
told_by() {
	iscsi-ls "iscsi://$1:3260" 2>/dev/null |
		sed -n 's/^Target:[^ ]* Portal:\([^ ]*\),[0-9]*$/\1/p' | sort | tr '\n' ' '
}
check listens-v4 test -n "$(ss -Hltn 'src 0.0.0.0:3260')"
equal told-loopback '127.0.0.1:3260 ' "$(told_by 127.0.0.1)"
equal told-v4 '10.9.9.1:3260 ' "$(told_by 10.9.9.1)"
if [ -n "${have_v6-}" ]; then
	check listens-v6 test -n "$(ss -Hltn 'src [::]:3260')"
	check loopback-v6 iscsi-ls 'iscsi://[::1]:3260'
	equal told-v6 '[2001:db8:9::1]:3260 ' "$(told_by '[2001:db8:9::1]')"
fi

# The machine gets another address, and loses it.
ip address add 10.9.9.2/24 dev wire
is_told() {
	[ "$(told_by 10.9.9.1)" = "$1" ]
}
check told-the-new wait_for 5 is_told '10.9.9.1:3260 10.9.9.2:3260 '
ip address del 10.9.9.2/24 dev wire
check told-no-more wait_for 5 is_told '10.9.9.1:3260 '

refused covered 1 'covered by the wildcard portal 0.0.0.0' ctl portal create 10.9.9.1
refused from-the-file 1 'stems from' ctl portal create 10.9.9.1 --replace
check more ctl portal create 0.0.0.0 3261 --advertise storage.example.org
equal told-the-chosen '10.9.9.1:3260 storage.example.org:3261 ' "$(told_by 10.9.9.1)"
check hidden ctl portal set 0.0.0.0 3261 --advertise none
equal told-of-none '10.9.9.1:3260 ' "$(told_by 10.9.9.1)"
check replaced ctl portal create 10.9.9.1 3261 --group 2 --replace
equal groups '10.9.9.1:3260 10.9.9.1:3261 ' "$(told_by 10.9.9.1)"
check by-the-new iscsi-inq "iscsi://10.9.9.1:3261/$iqn/0"

# A portal that goes leaves the sessions that came by it; new ones are not let in.
mkfifo "$dir/commands"
qemu-io -f raw "iscsi://10.9.9.1:3261/$iqn/0" <"$dir/commands" >"$dir/qemu" 2>&1 &
qemu=$!
exec 9>"$dir/commands"
on_exit() {
	kill "$qemu" 2>/dev/null
}
in_session() {
	ctl session list | grep -q '10.9.9.1:3261'
}
check session-there wait_for 10 in_session
check gone ctl portal delete 10.9.9.1 3261
refused not-let-in 10 . iscsi-inq "iscsi://10.9.9.1:3261/$iqn/0"
check still-listed in_session
echo 'write -P 7 0 64k' >&9
echo 'read -P 7 0 64k' >&9
exec 9>&-
wait "$qemu"
check session-stays grep -q 'read 65536/65536' "$dir/qemu"
stop_hawserd
equal stops 0 $?
