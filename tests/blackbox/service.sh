#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# hawserd under a service manager, which a helper program plays: READY and STATUS,
# the watchdog, reload by SIGHUP, sockets handed over, an orderly end by SIGTERM.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need iscsi-inq qemu-io
manager=$helpers/hawser-test-manager
[ -x "$manager" ] || { echo "$manager is not built" && exit 77; }

said=$dir/manager
manager_pid=

# manage [OPTION...]: hawserd below the manager; all that it reports goes to $said.
manage() {
	: >"$said"
	"$manager" "$@" "$hawserd" -c "$conf" >"$said" 2>>"$log" &
	manager_pid=$!
	wait_for 5 grep -q '^pid' "$said"
}

on_exit() {
	[ -z "$manager_pid" ] || kill -KILL "$(sed -n 's/^pid //p' "$said")" 2>/dev/null
}

# reported PATTERN [TIMES]
reported() {
	[ "$(grep -cE "^notify $1" "$said")" -ge "${2:-1}" ]
}

# ended: waits for the manager; its status is the daemon's.
ended() {
	wait_for 35 gone "$manager_pid" || return 124
	wait "$manager_pid"
	local status=$?
	manager_pid=
	return $status
}

thin_lu disk 256MiB
target "$iqn" 0=disk
configure
manage --watchdog 1000
check ready wait_for 20 reported READY=1
# READY means that it serves, not that it will.
check serves-when-ready timeout 20 iscsi-inq "$(url 0)"
check status wait_for 5 reported STATUS=.
check watchdog wait_for 10 reported WATCHDOG=1 4

# Reload: what changed is there, whoever is logged in stays.
thin_lu second 64MiB
targets=()
target "$iqn" 0=disk 1=second
stdbuf -oL qemu-io -f raw -t writeback -c 'write -P 0x31 0 1M' -c 'sleep 3000' -c 'read -P 0x31 0 1M' \
	"$(url 0)" >"$dir/session" 2>&1 &
session=$!
wait_for 10 grep -q wrote "$dir/session"
configure
kill -HUP $manager_pid
check reloading wait_for 10 reported RELOADING=1
check ready-again wait_for 10 reported READY=1 2
check reloaded timeout 20 iscsi-inq "$(url 1)"
wait $session
equal session-stays 0 $?

# A configuration that is at fault changes nothing.
echo 'colour = "blue";' >>"$conf"
kill -HUP $manager_pid
check fault-is-logged wait_for 10 grep -q colour "$log"
check ready-after-fault wait_for 10 reported READY=1 3
check serves-after-fault timeout 20 iscsi-inq "$(url 1)"
configure

# SIGTERM with an initiator logged in.
stdbuf -oL qemu-io -f raw -t writeback -c 'write -P 0x32 0 1M' -c 'sleep 20000' "$(url 0)" >"$dir/session" 2>&1 &
session=$!
wait_for 10 grep -q wrote "$dir/session"
kill -TERM $manager_pid
ended
equal ends-with-0 0 $?
check stopping reported STOPPING=1
kill $session 2>/dev/null
wait $session 2>/dev/null
check socket-is-removed test ! -e "$dir/admin.sock"

# Sockets that the manager has opened: no portal is opened beside them.
port=$(free_port)
configure
manage --listen "$port"
check activated/ready wait_for 20 reported READY=1
check activated/serves timeout 20 iscsi-inq "$(url 0)"
kill -TERM $manager_pid
ended
equal activated/ends-with-0 0 $?

# Without a manager it stays in the foreground all the same.
port=$(free_port)
configure
start_hawserd
check alone timeout 20 iscsi-inq "$(url 0)"
# Buffers are pinned for io_uring when they are used, not before.
at_most alone/pinned-kib 8192 "$(awk '/^VmPin:/ { print $2 }' "/proc/$daemon_pid/status")"
stop_hawserd
equal alone/ends-with-0 0 $?

# Told to stop before it has started: it ends in order and never says that it serves.
: >"$log"
# shellcheck disable=SC2016 # for the inner shell
timeout 20 env --block-signal=TERM sh -c 'kill -TERM $$; exec "$0" -c "$1"' "$hawserd" "$conf" >>"$log" 2>&1
equal early-stop/ends-with-0 0 $?
check early-stop/never-serves test -z "$(grep -E ' serves |start has failed' "$log")"

# A store that hangs is named at the end, and no other.
port=$(free_port)
thin_lu hung 64MiB 'fault = "hang kind=flush"'
configure 'shutdown_timeout_s = 2;'
start_hawserd
stop_hawserd
equal hung/ends-with-1 1 $?
check hung/named grep -qE 'lu hung: its store .*flush' "$log"
check hung/no-other test -z "$(grep -E 'lu (disk|second): its store' "$log")"
check hung/phase grep -q 'waiting for flushing of stores' "$log"
