#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# hawserd --check, --version, --help: a configuration that contradicts itself is
# refused whole, with file, line and fault.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"

# bad NAME LINE PATTERN: $conf must be refused, its fault said to be in LINE.
bad() {
	refused "$1" 1 "hawser.conf:$2: .*$3" "$hawserd" --check -c "$conf"
}

thin_lu disk 64MiB
target "$iqn" 0=disk
configure
check good "$hawserd" --check -c "$conf"
equal good/touches-nothing "" "$(find "$dir" -path "$dir/state/*" -o -name disk.img 2>/dev/null)"
check version grep -qE '[0-9]+\.[0-9]+\.[0-9]+' <("$hawserd" --version)
check help grep -q -- --check <("$hawserd" --help)
refused usage 2 . "$hawserd" --no-such-option

sed -i '2i colour = "blue";' "$conf"
bad unknown-key 2 colour
configure 'login_timeout_s = 0;'
bad out-of-range 5 login_timeout_s
configure 'window = "many";'
bad wrong-type 5 window
configure
sed -i 's/^portals/\nportals = ( );\nportals/' "$conf"
bad duplicate-key 9 '(duplicate|portals)'
configure
sed -i 's/^lus = .*/lus = (/' "$conf"
bad syntax '[0-9]+' .

lus=() targets=()
thin_lu disk 64MiB
thin_lu disk 64MiB
target "$iqn" 0=disk
configure
bad two-units-of-one-name 8 disk
lus=() targets=()
thin_lu one 64MiB
lu two 'type = "file"' "path = \"$dir/one.img\"" 'size = "64MiB"' 'create = true'
target "$iqn" 0=one 1=two
configure
bad two-units-on-one-file 8 one.img
lus=() targets=()
thin_lu disk 64MiB
target "$iqn" 0=disk 0=disk
configure
bad lun-twice 9 0
targets=()
target "$iqn" 0=nothing
configure
bad unknown-unit 9 nothing
targets=()
target not-a-name 0=disk
configure
bad target-name 9 not-a-name
rm "$conf"
refused missing-file 1 "hawser.conf.*(No such file|not there|exist)" "$hawserd" --check -c "$conf"

# The daemon itself refuses it as a whole, too.
targets=()
target "$iqn" 0=nothing
configure
refused daemon-refuses 1 'hawser.conf:9: .*nothing' timeout 10 "$hawserd" -c "$conf"
