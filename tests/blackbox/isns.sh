#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Registration with the iSNS server of open-isns, asked by its own tool: entity,
# portals, targets and portal groups; changes; a server that loses everything; all
# taken back at the end.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need isnsd isnsadm ip unshare

# Its port is fixed, so it gets a loopback of its own.
if [ "${1-}" != inside ]; then
	if ! unshare --net true 2>/dev/null; then
		skip isns "no network namespace can be made here"
		exit
	fi
	trap - EXIT
	rm -rf "$dir"
	exec unshare --net "$0" inside
fi
covers N-045 U-170 U-174 U-178 U-179 U-180 fault-C09
ip link set lo up

mkdir "$dir/isns"
cat >"$dir/isnsd.conf" <<-END
	SourceName = iqn.2026-01.org.example:isnsd
	Database = $dir/isns
	PIDFile = $dir/isnsd.pid
	Security = 0
	ControlSocket = $dir/isnsctl
	DefaultDiscoveryDomain = 1
END
cat >"$dir/isnsadm.conf" <<-END
	SourceName = iqn.2026-01.org.example:tool
	ServerAddress = 127.0.0.1
	Security = 0
	ControlSocket = $dir/isnsctl
END

isnsd_pid=
start_isnsd() {
	isnsd -f -c "$dir/isnsd.conf" >>"$dir/isnsd.log" 2>&1 &
	isnsd_pid=$!
	wait_for 10 ss_listens
}
ss_listens() {
	[ -n "$(ss -Hltn 'sport = :3205')" ]
}
on_exit() {
	[ -z "$isnsd_pid" ] || kill "$isnsd_pid" 2>/dev/null
}

listed() {
	isnsadm --config "$dir/isnsadm.conf" --local --list "$1" 2>&1
}
# knows KIND PATTERN, knows_not KIND PATTERN: it is among what the server lists.
knows() {
	listed "$1" | grep -qE -- "$2"
}
knows_not() {
	! knows "$@"
}
registered() {
	ctl --json isns show | jq -e '.servers[0].state == "registered"'
}

check isnsd-starts start_isnsd
lu disk 'type = "ram"' 'size = "16MiB"'
target "$iqn-one" 0=disk
configure 'isns_servers = "127.0.0.1"; node_name = "storage.example.org";'
start_hawserd
port2=$(free_port)
check registers wait_for 10 registered
check node knows nodes "$iqn-one"
check second-portal ctl portal create 127.0.0.2 "$port2" --group 2
check second-target ctl target create "$iqn-two"
check both-nodes wait_for 10 knows nodes "$iqn-two"
check address-1 knows portals 'IP address = 127\.0\.0\.1'
check address-2 knows portals 'IP address = 127\.0\.0\.2'
check port-1 knows portals "= $port/tcp"
check port-2 knows portals "= $port2/tcp"
check entity knows entities storage.example.org
check deleted ctl target delete "$iqn-two"
check taken-back wait_for 10 knows_not nodes "$iqn-two"
check other-stays knows nodes "$iqn-one"

# A server that has lost all is told anew.
kill "$isnsd_pid"
wait "$isnsd_pid"
isnsd_pid=
rm -rf "$dir/isns"
mkdir "$dir/isns"
check third ctl target create "$iqn-three"
failed() {
	ctl --json isns show | jq -e '.servers[0].state == "failed"'
}
check says-so wait_for 10 failed
start_isnsd
check told-anew wait_for 20 knows nodes "$iqn-three"
check told-all knows nodes "$iqn-one"

# The network is cut: nothing waits, and the change is told when it is back.
ip link set lo down
check fourth ctl target create "$iqn-four"
check cut wait_for 30 failed
ip link set lo up
check told-after-cut wait_for 20 knows nodes "$iqn-four"

# Killed and started again: what it says replaces what it has said.
kill_hawserd
start_hawserd
check registers-again wait_for 20 registered
equal once 1 "$(listed nodes | grep -c "$iqn-four")"

stop_hawserd
equal stops 0 $?
check all-taken-back wait_for 5 knows_not nodes "$iqn"
