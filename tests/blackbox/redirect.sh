#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Redirection with initiators of others: a login at portal group 1 is sent to
# group 2 and I/O works there; for good, for some groups, to nowhere; removed
# targets; all of it at run time.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers L-025
need iscsi-inq qemu-io

lu disk 'type = "ram"' 'size = "16MiB"'
target "$iqn" 0=disk
configure
start_hawserd
port2=$(free_port)

# The target is made at run time: what stems from the file is changed there.
check portal-2 ctl portal create 127.0.0.1 "$port2" --group 2
refused from-the-file 1 'stems from' ctl target redirect "$iqn" 127.0.0.1
moving=$iqn-moving
check made ctl target create "$moving"
check admitted ctl acl add "$moving" --any
check mapped ctl lun map disk "$moving"
check serves iscsi-inq "$(url 0 "$moving")"


# through_qemu: writes and reads by the initiator of QEMU, which holds its session
# long enough to be looked at.
through_qemu() {
	qemu-io -f raw -c 'write -P 0x5a 0 64k' -c 'read -P 0x5a 0 64k' "$(url 0 "$moving")"
}

check redirected ctl target redirect "$moving" "127.0.0.1:$port2" --redirect-groups 1
check follows iscsi-inq "$(url 0 "$moving")"
check io-works through_qemu
check was-at-group-2 grep -q "$moving: .* logged in by portal 127.0.0.1:$port2" "$log"
check says-0101 grep -q "to \"$moving\" refused: sent to another address for now (0101)" "$log"
check group-2-direct iscsi-inq "iscsi://127.0.0.1:$port2/$moving/0"


check permanent ctl target redirect "$moving" "127.0.0.1:$port2" --redirect-groups 1 \
	--redirect-permanent
# libiscsi follows 0101 only, and says what it was told.
refused told-for-good 10 'moved permanently' iscsi-inq "$(url 0 "$moving")"
check says-0102 grep -q 'for good (0102)' "$log"
check kept-over-reload ctl daemon reload
equal shown "127.0.0.1:$port2" "$(ctl --json target show "$moving" | jq -r .redirect)"

stop_hawserd
equal stops 0 $?
start_hawserd
equal kept-over-restart "127.0.0.1:$port2" "$(ctl --json target show "$moving" | jq -r .redirect)"
check temporary ctl target redirect "$moving" "127.0.0.1:$port2" --redirect-groups 1
check follows-after-restart iscsi-inq "$(url 0 "$moving")"
if ctl portal create ::1 "$port2" --group 2 >"$dir/said" 2>&1; then
	check to-ipv6 ctl target redirect "$moving" "[::1]:$port2" --redirect-groups 1
	check follows-to-ipv6 through_qemu
	check was-at-ipv6 grep -qF "logged in by portal [::1]:$port2" "$log"
else
	skip follows-to-ipv6 "no IPv6 here"
fi

check back ctl target redirect "$moving"
: >"$log"
check serves-here iscsi-inq "$(url 0 "$moving")"
check at-group-1 grep -q "$moving: .* logged in by portal 127.0.0.1:$port" "$log"

check retired ctl target retire "$moving"
refused gone 10 . iscsi-inq "$(url 0 "$moving")"
check says-0204 grep -q 'the target has been removed (0204)' "$log"
check online-again ctl target online "$moving"
check serves-again iscsi-inq "$(url 0 "$moving")"
