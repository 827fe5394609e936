#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A machine without a disk boots from a LUN: iPXE, the initiator in the network
# card's ROM, logs in without and with CHAP, and what it boots reads and writes
# through it.  Emulated, so that it runs anywhere.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
covers fault-Q16
need qemu-system-x86_64 gcc ld

secret="one-way-secret-1"
ours="secret-of-the-target"
from=2000 to=3000
declare -A machine=()

# shellcheck disable=SC2317 # by the trap of hawserd.sh
on_exit() {
	[ ${#machine[@]} = 0 ] || kill -TERM "${machine[@]}" 2>/dev/null
}

assemble() {
	gcc -m32 -c -DSOURCE=$from -DDESTINATION=$to -o "$dir/boot.o" "$source_dir/tests/lib/boot.S" &&
		ld -m elf_i386 -Ttext 0x7c00 --oformat binary -o "$dir/boot" "$dir/boot.o"
}

# make_disk FILE: the boot sector, and a block that it is to find.
make_disk() {
	truncate -s 16M "$1"
	dd if="$dir/boot" of="$1" conv=notrunc status=none
	printf 'found\n' | dd of="$1" seek=$from conv=notrunc status=none
}

# boot NAME [SETTING VALUE]...: starts a machine that boots from the target of that name.
boot() {
	local name=$1
	shift
	mkdir "$dir/$name"
	{
		echo '#!ipxe'
		[ $# = 0 ] || printf 'set %s %s\n' "$@"
		echo "sanboot iscsi:10.0.2.2::$port:1:$iqn-$name || reboot"
	} >"$dir/$name/boot.ipxe"
	timeout --foreground --kill-after=5 200 qemu-system-x86_64 -nodefaults -no-user-config \
		-display none -no-reboot -machine pc -accel tcg -m 64 \
		-netdev "user,id=net,tftp=$dir/$name,bootfile=boot.ipxe" \
		-device virtio-net-pci,netdev=net,bootindex=1 \
		-serial "file:$dir/$name/serial" -device isa-debug-exit,iobase=0xf4,iosize=4 \
		>"$dir/$name/log" 2>&1 </dev/null &
	machine[$name]=$!
}

# ended NAME: the machine's exit status; what it said is in $said.
ended() {
	wait "${machine[$1]}"
	local status=$?
	unset "machine[$1]"
	cat "$dir/$1/log"
	said=$(tr -d '\r' <"$dir/$1/serial" | xargs)
	return $status
}

# booted NAME: it has booted, read what was there, and what it wrote has arrived.
booted() {
	ended "$1"
	equal "$1" 1 $?
	equal "$1-read" 'running found written' "$said"
	equal "$1-wrote" found "$(dd if="$dir/$1.img" skip=$to count=1 status=none | tr -d '\0')"
}

check boot-sector assemble || exit 1
for name in open chap mutual wrong; do
	make_disk "$dir/$name.img"
	lu "$name" 'type = "file"' "path = \"$dir/$name.img\""
	rule="account = \"${name/wrong/chap}\""
	[ $name != open ] || rule='any = true'
	targets+=("{ name = \"$iqn-$name\"; luns = ( { lun = 1; lu = \"$name\"; } ); access = ( { $rule; } ); }")
done
configure
cat >>"$conf" <<-END
	accounts = ( { name = "chap"; secret = "$secret"; },
		{ name = "mutual"; secret = "$secret-2"; mutual_name = "us"; mutual_secret = "$ours"; } );
END
chmod 600 "$conf"
start_hawserd

boot open
boot chap username chap password "$secret"
boot mutual username mutual password "$secret-2" reverse-username us reverse-password "$ours"
boot wrong username chap password "not-$secret"
booted open
booted chap
booted mutual
ended wrong
equal wrong-secret-boots-nothing '' "$said"
check wrong-secret-logged grep -q "CHAP.*$iqn-wrong\|$iqn-wrong.*CHAP" "$log"
stop_hawserd
equal daemon-ends-with-0 0 $?
