# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# The Linux initiator's logins: CHAP in one direction and both, with each algorithm
# that it speaks, for discovery too; a target behind several portals, IPv6 among
# them.  Sourced by tests/vm/cases: logins is the whole of it.

portals_of_logins=("127.0.0.1:$port" "127.0.0.2:3261" "[::1]:$port")
secret="one-way-secret-1"
ours="secret-of-the-target"
algorithms=(md5 sha1 sha256 sha3-256)

# A target for each algorithm alone, one for both directions, one without CHAP.
configure_logins() {
	local a text=''
	lus=() targets=() portals=()
	lu small 'type = "ram"' 'size = "16MiB"'
	for a in "${algorithms[@]}"; do
		text+="{ name = \"$a\"; secret = \"$secret\"; algorithms = [ \"$a\" ]; },"
		chap_target "$a"
	done
	text+="{ name = \"mutual\"; secret = \"$secret-2\"; mutual_name = \"us\"; mutual_secret = \"$ours\"; }"
	chap_target mutual
	target "$iqn-open" 1=small
	portal 127.0.0.2 3261
	portal ::1
	configure 'advertise_all_families = true; discovery_access = ( { account = "mutual"; } );'
	echo "accounts = ( $text );" >>"$conf"
	chmod 600 "$conf"
}

chap_target() {
	targets+=("{ name = \"$iqn-$1\"; luns = ( { lun = 1; lu = \"small\"; } ); access = ( { account = \"$1\"; } ); }")
}

# node NAME ARGUMENT...: iscsiadm on the record of one target at the first portal.
node() {
	local name=$1
	shift
	iscsiadm -m node -T "$iqn-$name" -p "${portals_of_logins[0]}" "$@"
}

# settings NAME [SETTING VALUE]...: a new record with these below node.session.auth.
settings() {
	local name=$1 changes=()
	shift
	while [ $# -gt 0 ]; do
		changes+=(-n "node.session.auth.$1" -v "$2")
		shift 2
	done
	node "$name" -o delete >/dev/null 2>&1
	node "$name" -o new && node "$name" -o update -n node.session.initial_login_retry_max -v 1 &&
		{ [ ${#changes[@]} = 0 ] || node "$name" -o update "${changes[@]}"; }
}

# in_and_out NAME: logs in, finds a disk, logs out.
in_and_out() {
	node "$1" --login && wait_for 60 disk_of 1 && node "$1" --logout
}

# discovery [NAME VALUE]...: with these below discovery.sendtargets.auth.
discovery() {
	local record=(iscsiadm -m discoverydb -t sendtargets -p "${portals_of_logins[0]}") changes=()
	while [ $# -gt 0 ]; do
		changes+=(-n "discovery.sendtargets.auth.$1" -v "$2")
		shift 2
	done
	"${record[@]}" -o delete >/dev/null 2>&1
	"${record[@]}" -o new && { [ ${#changes[@]} = 0 ] || "${record[@]}" -o update "${changes[@]}"; } &&
		"${record[@]}" --discover
}

chap() {
	local a
	for a in "${algorithms[@]}"; do
		check "chap/$a-record" settings "$a" authmethod CHAP username "$a" password "$secret" \
			chap_algs "${a^^}"
		check "chap/$a" in_and_out "$a"
	done
	settings sha256 authmethod CHAP username sha256 password "not-$secret" chap_algs SHA256 >/dev/null
	# 24: iscsiadm's word for a login that was refused for its credentials.
	refused chap/wrong-secret 24 'authorization' node sha256 --login
	settings sha256 authmethod CHAP username sha256 password "$secret" chap_algs MD5 >/dev/null
	refused chap/no-common-algorithm 24 'authorization' node sha256 --login
	settings sha256 >/dev/null
	refused chap/not-offered 24 'authorization' node sha256 --login
	check chap/mutual-record settings mutual authmethod CHAP username mutual password "$secret-2" \
		username_in us password_in "$ours" chap_algs SHA3-256,SHA256,SHA1,MD5
	check chap/mutual in_and_out mutual
	settings mutual authmethod CHAP username mutual password "$secret-2" username_in us \
		password_in "not-$ours" >/dev/null
	# Here it is the initiator that turns away.
	refused chap/mutual-wrong 19 . node mutual --login
}

discovery_chap() {
	local mine=(authmethod CHAP username mutual password "$secret-2")
	refused discovery/without 24 . discovery
	refused discovery/wrong-secret 24 . discovery authmethod CHAP username mutual password "not-$secret"
	check discovery/chap discovery "${mine[@]}"
	check discovery/mutual discovery "${mine[@]}" username_in us password_in "$ours"
}

# All portals of the open target, as discovery told them: one session each, the same
# unit behind all, and what is written on one path is read on the others.
several_portals() {
	local n=${#portals_of_logins[@]} disk paths=()
	check portals/all-login iscsiadm -m node -T "$iqn-open" --login
	check portals/disks wait_for 60 all_disks "$n"
	equal portals/sessions "$n" "$(iscsiadm -m session | grep -c "$iqn-open")"
	check portals/ipv6 grep -q '\[::1\]' <(iscsiadm -m session)
	mapfile -t paths < <(disks)
	equal portals/one-identity 1 "$(for disk in "${paths[@]}"; do sg_vpd -p sn "$disk" | tail -n 1; done | sort -u | wc -l)"
	head -c 1M /dev/urandom >"$dir/pattern"
	dd if="$dir/pattern" of="${paths[0]}" bs=256k oflag=direct status=none
	for disk in "${paths[@]}"; do
		check "portals/reads-${disk##*/}" cmp -n 1048576 "$dir/pattern" <(dd if="$disk" bs=256k count=4 iflag=direct status=none)
	done
	check portals/logout iscsiadm -m node -T "$iqn-open" --logout
}

# The block devices of all sessions.
disks() {
	local found
	for found in /sys/class/scsi_device/*:1/device/block/*; do
		[ -e "$found" ] && [[ $(readlink -f "$found") == */session*/* ]] && [ -b "/dev/${found##*/}" ] &&
			echo "/dev/${found##*/}"
	done
}

all_disks() {
	[ "$(disks | wc -l)" = "$1" ]
}

logins() {
	configure_logins
	start_hawserd
	discovery_chap
	several_portals
	chap
	stop_hawserd
}
