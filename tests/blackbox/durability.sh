#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What was flushed before the daemon was killed is there after it was started
# again, and it comes back however often it dies.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-N01
need qemu-io

thin_lu buffered 256MiB
thin_lu direct 256MiB 'cache = "direct"'
target "$iqn" 0=buffered 1=direct
configure
start_hawserd

for lun in 0 1; do
	check "$lun/write-and-flush" qemu-io -f raw -t writeback -c 'write -P 0x6b 1M 16M' -c flush "$(url $lun)"
	check "$lun/fua" qemu-io -f raw -t writeback -c 'write -f -P 0x6c 32M 1M' "$(url $lun)"
done
# Killed while it writes.
qemu-io -f raw -t writeback -c 'write -P 0x11 64M 128M' "$(url 0)" >/dev/null 2>&1 &
writer=$!
grown() {
	[ "$(allocated "$dir/buffered.img")" -gt 20000000 ]
}
wait_for 10 grown
kill_hawserd
kill $writer 2>/dev/null
wait $writer 2>/dev/null
start_hawserd
for lun in 0 1; do
	check "$lun/is-there" qemu-io -f raw -r -c 'read -P 0x6b 1M 16M' -c 'read -P 0x6c 32M 1M' \
		-c 'read -P 0 0 1M' "$(url $lun)"
done
# Ten times: it comes back each time, without a leftover in the way.
for _ in $(seq 10); do
	kill_hawserd
	start_hawserd
done
check comes-back-ten-times iscsi-inq "$(url 0)"
stop_hawserd
equal stops-with-0 0 $?
