#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A store that cannot be opened leaves its unit out, says why, and the rest
# serves; a store that fails in part fails there only.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-H06 fault-O05
need iscsi-inq qemu-io

thin_lu good 64MiB
lu absent 'type = "file"' "path = \"$dir/absent.img\"" 'size = "64MiB"'
mkdir "$dir/folder"
lu folder 'type = "file"' "path = \"$dir/folder\""
lu no-device 'type = "block"' "path = \"$dir/good.img.txt\""
target "$iqn" 0=good 1=absent 2=folder 3=no-device
configure
: >"$dir/good.img.txt"
start_hawserd
check good-serves qemu-io -f raw -c 'write -P 0x21 0 1M' -c 'read -P 0x21 0 1M' "$(url 0)"
for name in absent folder no-device; do
	check "$name-is-named" grep -qE "(error|warn|<[34]>).*$name|$name.*(error|cannot|No such|not )" "$log"
done
for lun in 1 2 3; do
	refused "lun-$lun-is-left-out" 1 . qemu-io -f raw -c 'read 0 4K' "$(url $lun)"
done
stop_hawserd
equal stops-with-0 0 $?

# A damaged place fails there, and nowhere else.
lus=() targets=()
thin_lu damaged 64MiB 'fault = "error from=8M length=4K kind=read code=EREMOTEIO"'
target "$iqn" 0=damaged
configure
start_hawserd
check damaged/written qemu-io -f raw -c 'write -P 0x51 0 16M' "$(url 0)"
refused damaged/place-fails 1 . qemu-io -f raw -c 'read -P 0x51 8M 4K' "$(url 0)"
check damaged/before qemu-io -f raw -c 'read -P 0x51 0 8M' "$(url 0)"
check damaged/behind qemu-io -f raw -c 'read -P 0x51 8196K 4M' "$(url 0)"
stop_hawserd

# A store that does not answer holds its own unit, not the daemon and not its end.
lus=() targets=()
lu hangs 'type = "ram"' 'size = "16MiB"' 'fault = "hang kind=read"'
thin_lu good 64MiB
target "$iqn" 0=hangs 1=good
configure 'shutdown_timeout_s = 2;'
start_hawserd
qemu-io -f raw -c 'read 0 1M' "$(url 0)" >/dev/null 2>&1 &
stuck=$!
check hangs/others-serve timeout 20 qemu-io -f raw -c 'write -P 0x61 0 1M' -c 'read -P 0x61 0 1M' "$(url 1)"
check hangs/logins-go-on timeout 20 iscsi-inq "$(url 1)"
begin=$SECONDS
stop_hawserd
at_most hangs/ends-in-time 20 $((SECONDS - begin))
kill $stuck 2>/dev/null
wait $stuck 2>/dev/null

# A file that QEMU has open is not opened too, nor the other way round.
lus=() targets=()
thin_lu shared 64MiB
target "$iqn" 0=shared
configure
truncate -s 64M "$dir/shared.img"
qemu-io -f raw -c 'sleep 30000' "$dir/shared.img" >/dev/null 2>&1 &
other=$!
locked() {
	grep -q ":$(stat -c %i "$dir/shared.img") " /proc/locks
}
wait_for 10 locked
start_hawserd
refused held-by-qemu 1 . qemu-io -f raw -c 'read 0 4K' "$(url 0)"
kill $other
wait $other 2>/dev/null
stop_hawserd
start_hawserd
check free-again qemu-io -f raw -c 'read 0 4K' "$(url 0)"
refused qemu-is-refused 1 lock qemu-io -f raw -c 'read 0 4K' "$dir/shared.img"
stop_hawserd
equal stops-with-0-too 0 $?
