#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# A store on a file system that hangs in open, read, write, fsync and close: logins
# to other targets, and the administrator, do not wait for it; a login that finds
# the daemon starting is told so; a hung session makes room for its successor.
# shellcheck source=tests/lib/hawserd.sh
. "$(dirname "$0")/../lib/hawserd.sh"
need iscsi-inq

if [ "$(id -u)" != 0 ] || [ ! -c /dev/fuse ]; then
	skip hung "only root can mount a file system of its own here"
	exit
fi
mount=$dir/slow hang=$dir/hang
mkdir "$mount" "$hang"
"$helpers/hawser-test-fuse" "$mount" "$hang" &
fuse=$!
on_exit() {
	rm -f "$hang"/*
	exec 9>&-
	kill "$fuse" "${client_pid-}" 2>/dev/null
	umount -l "$mount" 2>/dev/null
}
if ! wait_for 5 test -f "$mount/disk"; then
	skip hung "cannot mount a file system here"
	exit
fi
covers fault-D04

lu slow 'type = "file"' "path = \"$mount/disk\""
lu good 'type = "ram"' 'size = "16MiB"'
target "$iqn-good" 0=good
target "$iqn-slow" 0=slow
configure

# While the store opens, the daemon listens and says that it starts.
touch "$hang/open"
"$hawserd" -c "$conf" >>"$log" 2>&1 &
daemon_pid=$!
check listens wait_for 5 listening
refused told-to-try-again 10 . iscsi-inq "$(url 0 "$iqn-good")"
check says-0301 wait_for 5 grep -q 'still starting (0301)' "$log"
check administered grep -q starting <(ctl --json daemon status)
rm "$hang/open"
check serves-then wait_for 15 serves
check both iscsi-inq "$(url 0 "$iqn-slow")"

# Everything hangs: commands of a session, a store that is being opened, one that closes.
touch "$hang"/{open,read,write,fsync,flush}
mkfifo "$dir/commands"
qemu-io -f raw -t writeback "$(url 0 "$iqn-slow")" <"$dir/commands" >/dev/null 2>&1 &
client_pid=$!
exec 9>"$dir/commands"
echo 'aio_write 0 64k' >&9
busy() {
	ctl --json session list | jq -e '[.sessions[] | select(.target == "'"$iqn-slow"'") | .outstanding] | add > 0'
}
wait_for 5 busy
ctl lun create again --path "$mount/disk" >/dev/null 2>&1 &

limit=100
[[ $(readlink -f "$hawserd") == */release/* ]] || limit=1000
"$helpers/hawser-test-logins" "$port" "$iqn-good" 100 10 once >"$dir/times"
equal logins-all 'failed 0' "$(grep failed "$dir/times")"
at_most login-ms $limit "$(sed -n 's/^longest //p' "$dir/times")"
# longest COMMAND...: of 100 times, in ms
longest() {
	local begin took longest=0
	for _ in $(seq 100); do
		begin=$(date +%s%N)
		"$@" >/dev/null || longest=99999
		took=$((($(date +%s%N) - begin) / 1000000))
		[ $took -le $longest ] || longest=$took
	done
	echo $longest
}
id=$(ctl --json session list | jq '[.sessions[] | select(.target == "'"$iqn-slow"'") | .id][0]')
at_most session-list-ms $limit "$(longest ctl session list)"
at_most session-show-ms $limit "$(longest ctl session show "$id")"

# Reinstatement: the old session's write hangs, the new one is let in.
"$helpers/hawser-test-logins" "$port" "$iqn-slow" 5 1 once >"$dir/times"
equal logins-to-the-hung 'failed 0' "$(grep failed "$dir/times")"
at_most login-to-the-hung-ms $((10 * limit)) "$(sed -n 's/^longest //p' "$dir/times")"

rm "$hang"/*
check goes-on wait_for 15 iscsi-inq "$(url 0 "$iqn-slow")"
exec 9>&-
kill "$client_pid" # it would look for its session until somebody answers
stop_hawserd
equal stops 0 $?
