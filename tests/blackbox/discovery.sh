#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Discovery and first contact by libiscsi's tools: what is listed, what each
# logical unit says of itself, who is not admitted.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need iscsi-ls iscsi-inq iscsi-readcapacity16

portal=iscsi://127.0.0.1:$port
thin_lu thin 1GiB
thin_lu four 256MiB 'block_size = 4096'
lu memory 'type = "ram"' 'size = "16MiB"'
lu nothing 'type = "null"' 'size = "1TiB"'
target "$iqn" 0=thin 1=four 7=memory 255=nothing
target "$iqn-empty"
targets+=("{ name = \"$iqn-closed\"; luns = ( { lun = 0; lu = \"memory\"; } ); }")
targets+=("{ name = \"$iqn-named\"; luns = ( { lun = 0; lu = \"memory\"; } );
	access = ( { initiator = \"iqn.2026-01.org.example:friend*\"; } ); }")
configure
start_hawserd

# capacity URL: blocks and bytes in a block.
capacity() {
	iscsi-readcapacity16 "$1" |
		awk -F: '/RETURNED LOGICAL BLOCK ADDRESS/ { lba = $2 + 1 } /LOGICAL BLOCK LENGTH/ { size = $2 + 0 } END { printf "%.0f %d\n", lba, size }'
}

listed() {
	iscsi-ls "$@" "$portal" | sed -n 's/^Target:\([^ ]*\).*/\1/p' | sort | tr '\n' ' '
}

# fault-C07: who is bound by name finds it, others do not.
equal listed-to-anybody "$iqn $iqn-empty " "$(listed)"
equal listed-to-a-friend "$iqn $iqn-empty $iqn-named " \
	"$(listed -i iqn.2026-01.org.example:friend1)"
check lists-units grep -qE 'Lun:7.*DIRECT_ACCESS' <(iscsi-ls --show-luns "$portal")
equal capacity-512 '2097152 512' "$(capacity "$(url 0)")"
equal capacity-4kn '65536 4096' "$(capacity "$(url 1)")"
equal capacity-ram '32768 512' "$(capacity "$(url 7)")"
equal capacity-null '2147483648 512' "$(capacity "$(url 255)")"
check vendor grep -q 'Vendor:HAWSER' <(iscsi-inq "$(url 0)")
check product grep -q 'Product:VIRTUAL-DISK' <(iscsi-inq "$(url 0)")
for page in 0 128 131 176 177 178; do
	check "vpd-$page" iscsi-inq --evpd=1 --pagecode=$page "$(url 0)"
done
identity() {
	iscsi-inq --evpd=1 --pagecode=131 "$(url "$1")" | grep -ai designat
}
check identities-differ test "$(identity 0)" != "$(identity 1)"
before=$(identity 0)

# LUN 0 answers where nothing is mapped.
# iscsi-inq wants the unit to be ready and asks no more; the kernel's initiator, in the
# virtual machine, does. REPORT LUNS goes to LUN 0 in any case.
lun_0_answers() {
	iscsi-ls --show-luns "$portal" | grep -A 3 "^Target:$iqn-empty "
}
check lun-0-without-units lun_0_answers
refused unknown-target 10 . iscsi-inq "$(url 0 "$iqn-absent")"
refused closed-target 10 . iscsi-inq "$(url 0 "$iqn-closed")"
refused stranger 10 . iscsi-inq --initiator-name=iqn.2026-01.org.example:stranger \
	"$(url 0 "$iqn-named")"
check friend iscsi-inq --initiator-name=iqn.2026-01.org.example:friend2 "$(url 0 "$iqn-named")"

stop_hawserd
equal stops-with-0 0 $?
start_hawserd
equal identity-is-kept "$before" "$(identity 0)"
