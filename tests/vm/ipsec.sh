# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# A session within IPsec (ESP in transport mode, RFC 7146), which is the machine's
# affair and not the daemon's: between two network namespaces nothing passes in the
# clear, and new keys in the middle of a session do not end it.  Sourced by
# tests/vm/cases: ipsec is the whole of it.

ipsec_ends=(192.0.2.1 192.0.2.2)

at_peer() {
	ip netns exec peer "$@"
}

ipsec_cable() {
	modprobe -a veth esp4 xfrm_user authenc cbc sha256_generic hmac && ip netns add peer &&
		ip link add here type veth peer name there netns peer &&
		ip addr add "${ipsec_ends[0]}/24" dev here && ip link set here up &&
		at_peer ip addr add "${ipsec_ends[1]}/24" dev there && at_peer ip link set there up
}

# policies: here by "policies 0 1", there by "policies 1 0 at_peer".
policies() {
	local own=${ipsec_ends[$1]} other=${ipsec_ends[$2]}
	${3-} ip xfrm policy add src "$own" dst "$other" proto tcp dir out tmpl proto esp mode transport &&
		${3-} ip xfrm policy add src "$other" dst "$own" proto tcp dir in tmpl proto esp mode transport
}

# keys SPI [at_peer]: both directions.
keys() {
	local n spi=$1 cipher digest
	shift
	cipher=0x$(printf "%032d" "$spi") digest=0x$(printf "%064d" "$spi")
	for n in 0 1; do
		"$@" ip xfrm state add src "${ipsec_ends[n]}" dst "${ipsec_ends[1 - n]}" proto esp \
			spi $((spi + n)) mode transport enc 'cbc(aes)' "$cipher" \
			auth-trunc 'hmac(sha256)' "$digest" 128 || return
	done
}

# Bytes that have come through ESP.
protected() {
	ip -s xfrm state | sed -nE 's/^[[:space:]]*([0-9]+)\(bytes\).*/\1/p' | sort -n | tail -n 1
}

rekey() {
	ip xfrm state flush && at_peer ip xfrm state flush &&
		keys 2000 && keys 2000 at_peer
}

ipsec() {
	covers C-039 C-040
	local url said=$dir/ipsec
	url="iscsi://${ipsec_ends[0]}:$port/$iqn-ipsec/1"
	lus=() targets=() portals=()
	lu small 'type = "ram"' 'size = "16MiB"'
	target "$iqn-ipsec" 1=small
	check ipsec/cable ipsec_cable || return
	portal "${ipsec_ends[0]}"
	configure
	start_hawserd
	check ipsec/policies policies 0 1
	check ipsec/policies-of-the-peer policies 1 0 at_peer
	check ipsec/nothing-in-the-clear test "$(at_peer timeout 3 iscsi-inq "$url" >/dev/null 2>&1; echo $?)" = 124
	check ipsec/keys keys 1000
	check ipsec/keys-of-the-peer keys 1000 at_peer
	check ipsec/login at_peer iscsi-inq "$url"
	at_peer timeout 120 stdbuf -oL qemu-io -f raw -c 'write -P 7 0 512k' -c 'read -P 7 0 512k' -c 'sleep 6000' \
		-c 'write -P 8 0 512k' -c 'read -P 8 0 512k' "$url" >"$said" 2>&1 &
	check ipsec/io wait_for 60 grep -q ^read "$said"
	at_least ipsec/io-was-protected 524288 "$(protected)"
	check ipsec/new-keys rekey
	check ipsec/io-goes-on wait $!
	check ipsec/data test "$(grep -cE '^(read|wrote) 524288' "$said")" = 4
	equal ipsec/session-kept 0 "$(grep -c "from ${ipsec_ends[1]}:.*connection lost" "$log")"
	stop_hawserd
}
