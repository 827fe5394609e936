# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# Copies by tokens (ODX) with the Linux initiator and raw CDBs: ddpt 0.97 puts its range
# descriptors a byte too early.  Sourced by tests/vm/cases: tokens is the whole of it.

# be N VALUE: a number as N bytes in hex.
be() {
	printf "%0$((2 * $1))x" "$2"
}

# bytes HEX...
bytes() {
	local hex
	printf -v hex '%s' "$@"
	# shellcheck disable=SC2001 # not every bash knows & in a replacement
	printf '%b' "$(sed 's/../\\x&/g' <<<"$hex")"
}

# range LBA BLOCKS: a block device range descriptor.
range() {
	be 8 "$1" && be 4 "$2" && be 4 0
}

# token_of DISK LBA BLOCKS: into $dir/token.
token_of() {
	bytes "$(be 2 30)" "$(be 12 0)" "$(be 2 16)" "$(range "$2" "$3")" >"$dir/list"
	sg_raw -s 32 -i "$dir/list" "$1" 83 10 00 00 00 00 00 00 00 01 00 00 00 20 00 00 &&
		sg_raw -b -r 550 -o "$dir/info" "$1" 84 07 00 00 00 01 00 00 00 00 00 00 02 26 00 00 &&
		tail -c 512 "$dir/info" >"$dir/token"
}

# write_using DISK LBA BLOCKS
write_using() {
	{
		bytes "$(be 2 550)" "$(be 14 0)" && cat "$dir/token"
		bytes "$(be 6 0)" "$(be 2 16)" "$(range "$2" "$3")"
	} >"$dir/list"
	sg_raw -s 552 -i "$dir/list" "$1" 83 11 00 00 00 00 00 00 00 02 00 00 02 28 00 00
}

refused() {
	! "$@"
}

tokens() {
	check tokens/page sg_vpd -p tpc "$disk"
	head -c 4M /dev/urandom >"$dir/random"
	check tokens/fill dd if="$dir/random" of="$disk" bs=1M oflag=direct status=none
	check tokens/populate token_of "$disk" 0 8192
	check tokens/write write_using "$disk" 16384 8192
	check tokens/same cmp -n 4194304 "$dir/random" <(dd if="$disk" bs=1M skip=8 count=4 iflag=direct status=none)
	check tokens/change dd if=/dev/zero of="$disk" bs=4096 count=1 oflag=direct status=none
	check tokens/revoked refused write_using "$disk" 16384 8192
	bytes ffff0001000001f8 "$(be 504 0)" >"$dir/token"
	check tokens/zero write_using "$disk" 16384 8192
	check tokens/zeros cmp -n 4194304 /dev/zero <(dd if="$disk" bs=1M skip=8 count=4 iflag=direct status=none)
}
