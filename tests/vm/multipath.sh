# shellcheck shell=bash disable=SC2034,SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# dm-multipath over two portals, each a target port group: the paths as it shows
# those of any good array, and verified I/O that goes on whatever becomes of one of
# them.  Sourced by tests/vm/cases: multipath_cases is the whole of it.

map=/dev/mapper/mpatha
# The path of portal group 1 is the better one.
configure_multipath() {
	lus=() targets=() portals=()
	lu paths 'type = "ram"' 'size = "16MiB"'
	target "$iqn-paths" 1=paths
	targets[-1]="${targets[-1]%\}} port_groups = (
		{ id = 1; groups = [ 1 ]; }, { id = 2; state = \"active-non-optimized\"; } ); }"
	configure
	cat >/etc/multipath.conf <<-END
		defaults {
			user_friendly_names yes
			find_multipaths no
			polling_interval 1
			max_polling_interval 1
			path_grouping_policy group_by_prio
			failback immediate
			no_path_retry 60
		}
		blacklist {
			devnode "^(vd|loop|ram|sr)"
		}
	END
}

start_multipath() {
	modprobe -a dm_multipath dm_service_time scsi_dh_alua || return
	/lib/systemd/systemd-udevd --daemon || return
	multipathd || return
	wait_for 30 multipathd show status
}

# Both portals, one session each; a dead path is given up after five seconds.
log_in_twice() {
	iscsiadm -m discovery -t sendtargets -p "127.0.0.1:$port" || return
	iscsiadm -m node -T "$iqn-paths" -o update -n node.session.timeo.replacement_timeout -v 5 || return
	iscsiadm -m node -T "$iqn-paths" --login
}

# paths_become PATH...: what multipathd's checker says of each, with its priority
# unless it is faulty, in order.  Asked seldom: the machine has one slow processor.
paths_become() {
	local end=$((SECONDS + 60)) said
	while [ $SECONDS -lt $end ]; do
		said=$(multipathd show paths raw format '%T %p' |
			awk '{ print $1 == "faulty" ? $1 : $1 " " $2 }' | LC_ALL=C sort)
		[ "$said" != "$(printf '%s\n' "$@")" ] || return 0
		sleep 0.5
	done
	echo "$said"
	return 1
}

both_become_good() {
	paths_become 'ready 10' 'ready 50'
}

# As multipath itself shows it, two path groups and all.
as_a_good_array() {
	local shown
	shown=$(multipath -ll mpatha) && echo "$shown" &&
		grep -q 'HAWSER,VIRTUAL-DISK' <<<"$shown" && grep -q "hwhandler='1 alua'" <<<"$shown" &&
		grep -A 1 'prio=50 ' <<<"$shown" | grep -q 'active ready running' &&
		grep -A 1 'prio=10 ' <<<"$shown" | grep -q 'active ready running'
}

# Writes another block each round and reads it back, past the page cache, until it is
# told to stop.  $dir/rounds is how often it has; an error ends it.
io_loop() {
	local n=0 block
	while [ ! -e "$dir/stop" ]; do
		n=$((n + 1))
		block=$dir/block$((n % 3))
		dd if="$block" of="$map" bs=64k seek=$((n % 200)) oflag=direct status=none || return 1
		dd if="$map" bs=64k skip=$((n % 200)) count=1 iflag=direct status=none |
			cmp - "$block" || return 1
		echo "$n" >"$dir/rounds"
	done
}

rounds() {
	cat "$dir/rounds" 2>/dev/null || echo 0
}

more_than() {
	[ "$(rounds)" -gt "$1" ]
}

# goes_on NAME: three more rounds, of which at least two began after now.
goes_on() {
	check "multipath/$1-goes-on" wait_for 60 more_than $(($(rounds) + 2))
}

alua() {
	ctl alua set "$iqn-paths" "$@"
}

# drop GROUP: ends the session that came by this portal group.
drop() {
	ctl session drop "$(ctl --json session list |
		jq --argjson group "$1" '.sessions[] | select(.group == $group) | .id')"
}

# A state of the better path, in which the other one serves, and back.
states() {
	local state=$1
	shift
	check "multipath/$state-set" alua 1 "$state"
	check "multipath/$state-shown" paths_become "$@"
	goes_on "$state"
	check "multipath/$state-back" alua 1 active-optimized
	check "multipath/$state-shown-back" both_become_good
}

multipath_cases() {
	local writer status block
	configure_multipath
	start_hawserd
	check multipath/second-portal ctl portal create 127.0.0.2 "$port" --group 2
	check multipath/start start_multipath || return
	check multipath/login log_in_twice
	check multipath/map wait_for 60 test -b "$map" || return
	check multipath/paths both_become_good
	check multipath/as-a-good-array as_a_good_array
	for block in 0 1 2; do head -c 64k /dev/urandom >"$dir/block$block"; done
	io_loop >"$dir/io" 2>&1 &
	writer=$!
	goes_on both
	stamp states
	states standby 'ghost 1' 'ready 10'
	states unavailable faulty 'ready 10'
	stamp connection
	check multipath/drop drop 1
	goes_on drop
	check multipath/logged-in-again both_become_good
	stamp portal
	check multipath/remove-portal ctl portal delete 127.0.0.2 "$port"
	check multipath/remove-its-session drop 2
	check multipath/remove-shown paths_become faulty 'ready 50'
	goes_on remove
	touch "$dir/stop"
	wait "$writer"
	status=$?
	equal multipath/no-error-of-verified-io 0 $status
	[ $status = 0 ] || cat "$dir/io"
	stamp "$(rounds) rounds"
	kill_hawserd
}
