#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A file system made from a real tree goes in by qemu-img convert, compares equal,
# and comes out equal, on each engine; libiscsi copies it to another unit.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need qemu-img mkfs.ext4 e2fsck

size=2G
[ -z "${HAWSER_TEST_SLOW-}" ] || size=64M
image=$dir/tree.img

# A tree that every machine has; bounded, so that it fits.
make_image() {
	mkdir "$dir/tree"
	(cd /usr/share/doc && find . -type f -size -1000k -printf '%s %p\n' | LC_ALL=C sort -k2 |
		awk '{ sum += $1 + 4096; if (sum > 300 * 1048576 || NR > 20000) exit; print substr($0, index($0, " ") + 1) }' |
		tar -c -T - -f -) | tar -x -C "$dir/tree" -f - &&
		truncate -s $size "$image" && mkfs.ext4 -q -d "$dir/tree" "$image" && rm -rf "$dir/tree"
}

check image make_image || exit 1
for engine in uring aio; do
	for cache in buffered direct; do
		thin_lu "$engine-$cache" $size"iB" "engine = \"$engine\"" "cache = \"$cache\""
	done
done
thin_lu copy $size"iB"
target "$iqn" 0=uring-buffered 1=uring-direct 2=aio-buffered 3=aio-direct 4=copy
configure
start_hawserd

lun=0
for name in uring-buffered uring-direct aio-buffered aio-direct; do
	check "$name/in" qemu-img convert -n -f raw -O raw "$image" "$(url $lun)"
	check "$name/equal" qemu-img compare -f raw -F raw "$image" "$(url $lun)"
	check "$name/out" qemu-img convert -f raw -O raw "$(url $lun)" "$dir/out.img"
	check "$name/out-equal" cmp "$image" "$dir/out.img"
	# A sparse image stays one: zeroes are not written.
	at_most "$name/sparse" $(($(allocated "$image") + 33554432)) "$(allocated "$dir/$name.img")"
	rm -f "$dir/out.img"
	lun=$((lun + 1))
done
check file-system e2fsck -fn "$dir/aio-direct.img"

if [ -x "$helpers/hawser-test-iscsi-dd" ]; then
	check dd "$helpers/hawser-test-iscsi-dd" -q 32 "$(url 0)" "$(url 4)"
	check dd-equal cmp "$image" "$dir/copy.img"
else
	skip dd 'built without libiscsi-dev'
fi
stop_hawserd
equal stops-with-0 0 $?
