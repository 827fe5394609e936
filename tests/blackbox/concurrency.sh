#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Many things at a time: several initiators on several units, on both kinds of
# store, others that log in and out, a configuration that changes under them, and
# a connection that breaks in mid-command.  All that is read is what was written.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-Q18 fault-N08
need qemu-io iscsi-inq

rounds=6
[ -z "${HAWSER_TEST_SLOW-}" ] || rounds=2
clients=4

thin_lu file 256MiB
thin_lu direct 256MiB 'cache = "direct"'
lu memory 'type = "ram"' 'size = "256MiB"'
thin_lu aio 256MiB 'engine = "aio"'
target "$iqn" 0=file 1=direct 2=memory 3=aio
target "$iqn-second" 0=memory
configure 'reactors = 3;'
start_hawserd

# client NUMBER: writes and reads its own 32 MiB of each unit, several at a time.
client() {
	local base=$(($1 * 32)) lun round pattern
	for ((round = 1; round <= rounds; round++)); do
		for lun in 0 1 2 3; do
			pattern=$((16 * $1 + lun + round))
			qemu-io -f raw -d unmap -t writeback -c "aio_write -P $pattern ${base}M 1M" \
				-c "aio_write -P $((pattern + 1)) $((base + 1))M 64K" \
				-c "aio_write -P $((pattern + 2)) $((base + 4))M 2M" -c aio_flush \
				-c "aio_read -P $pattern ${base}M 1M" \
				-c "aio_read -P $((pattern + 1)) $((base + 1))M 64K" \
				-c "aio_read -P $((pattern + 2)) $((base + 4))M 2M" -c aio_flush \
				-c "discard ${base}M 8M" -c "read -P 0 ${base}M 8M" "$(url $lun)" \
				>"$dir/client-$1.out" 2>&1 || return 1
			! grep -iE 'fail|error|verif' "$dir/client-$1.out" || return 1
		done
	done
}

# Logs in and out until it is told to stop.
visitor() {
	local bad=0
	while [ ! -e "$dir/stop" ]; do
		iscsi-inq "$(url 0 "$iqn-second")" >/dev/null 2>&1 || bad=$((bad + 1))
	done
	[ $bad = 0 ]
}

# Sets up transfers and breaks the connection in the middle of them.
breaker() {
	while [ ! -e "$dir/stop" ]; do
		timeout -s KILL 0.3 qemu-io -f raw -t writeback -c 'aio_write -P 1 200M 8M' \
			-c 'aio_read 0 8M' -c 'aio_write -P 2 210M 8M' -c 'sleep 300' "$(url 0)" >/dev/null 2>&1
	done 2>/dev/null
	true
}

# A unit comes and goes.
changer() {
	local with=$conf.with without=$conf.without turn=0
	while [ ! -e "$dir/stop" ]; do
		turn=$((turn + 1))
		if [ $((turn % 2)) = 1 ]; then cp "$with" "$conf.new"; else cp "$without" "$conf.new"; fi
		mv "$conf.new" "$conf" # at once: half a file would be another configuration
		kill -HUP "$daemon_pid"
		sleep 0.2
	done
}

cp "$conf" "$conf.without"
thin_lu extra 16MiB
targets[1]=${targets[1]/lu = \"memory\"; \}/lu = \"memory\"; \}, { lun = 5; lu = \"extra\"; \}}
configure 'reactors = 3;'
cp "$conf" "$conf.with"

pids=() helper_pids=()
for ((i = 0; i < clients; i++)); do
	client $i &
	pids+=($!)
done
for helper in visitor breaker changer; do
	$helper &
	helper_pids+=($!)
done
for i in "${!pids[@]}"; do
	wait "${pids[i]}"
	status=$?
	equal "client-$i" 0 $status
	[ $status = 0 ] || tail -n 5 "$dir/client-$i.out"
done
touch "$dir/stop"
wait "${helper_pids[0]}"
equal visitor 0 $?
wait "${helper_pids[1]}" "${helper_pids[2]}"
check still-serves iscsi-inq "$(url 0)"
stop_hawserd
equal stops-with-0 0 $?
