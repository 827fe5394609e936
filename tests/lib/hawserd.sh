# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# For black box tests: a hawserd of their own in a temporary folder, on a free
# port of the loopback, and the lines that tests/run counts.  Source it, then:
#
#   lu NAME [SETTING...]        a logical unit for the configuration to be written
#   target IQN [LUN=NAME...]    a target that admits everybody
#   portal ADDRESS [PORT] [GROUP]  one more besides 127.0.0.1:$port
#   configure [TEXT]            writes $conf; TEXT goes into the daemon's group
#   start_hawserd [OPTION...]   starts it and waits until it serves
#   stop_hawserd, kill_hawserd  SIGTERM and its exit status; SIGKILL
#   ctl ...                     hawserctl on its socket
#   check NAME COMMAND...       one result line: ok if the command succeeds
#   covers ID...                the requirements that the script checks; they count
#                               if all of it succeeds
#   wait_for SECONDS COMMAND... polls until it succeeds
#
# Everything is removed when the script ends, however it ends.
set -uo pipefail

source_dir=${HAWSER_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
build_dir=${HAWSER_BUILD_DIR:-$source_dir/build/release}
hawserd=${HAWSERD:-$build_dir/daemon/hawserd}
hawserctl=${HAWSERCTL:-$build_dir/tools/hawserctl}
# shellcheck disable=SC2034 # for the tests
helpers=$build_dir/tests/lib

results_failed=0
iqn=iqn.2026-01.org.example:test

ok() {
	echo "ok $1"
}

not_ok() {
	results_failed=$((results_failed + 1))
	echo "not ok $1: ${2:-failed}"
}

skip() {
	echo "skip $1: $2"
}

covers() {
	echo "covers $*"
}

# check NAME COMMAND...: what the command says is kept and shown if it fails.
check() {
	local name=$1
	shift
	if "$@" >"$dir/said" 2>&1; then
		ok "$name"
	else
		not_ok "$name" "status $? from: $*"
		tail -n 20 "$dir/said"
		return 1
	fi
}

# refused NAME STATUS PATTERN COMMAND...: it must fail with STATUS and say PATTERN.
refused() {
	local name=$1 want=$2 pattern=$3 said status
	shift 3
	said=$("$@" 2>&1)
	status=$?
	if [ $status != "$want" ]; then
		not_ok "$name" "status $status, wanted $want, from: $*"
	elif ! grep -qE -- "$pattern" <<<"$said"; then
		not_ok "$name" "no \"$pattern\" in what it said: $(head -c 300 <<<"$said")"
	else
		ok "$name"
	fi
}

# equal NAME WANTED GOT
equal() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "wanted \"$2\", got \"$3\""; fi
}

# at_most NAME LIMIT GOT, at_least NAME LIMIT GOT: whole numbers.
at_most() {
	if [ "$3" -le "$2" ]; then ok "$1"; else not_ok "$1" "wanted at most $2, got $3"; fi
}
at_least() {
	if [ "$3" -ge "$2" ]; then ok "$1"; else not_ok "$1" "wanted at least $2, got $3"; fi
}

# wait_for SECONDS COMMAND...
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# need COMMAND...: without one of them the whole test is skipped.
need() {
	local program
	for program; do
		command -v "$program" >/dev/null 2>&1 && continue
		echo "$program is not there"
		exit 77
	done
}

free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 10000))
		[ -n "$(ss -Hltn "sport = :$port")" ] || break
	done
	echo "$port"
}

listening() {
	: <"/dev/tcp/127.0.0.1/$port"
} 2>/dev/null

# --- The daemon ----------------------------------------------------------------
dir=$(mktemp -d "${TMPDIR:-/tmp}/hawser-test.XXXXXX") || exit 1
conf=$dir/hawser.conf
log=$dir/hawserd.log
daemon_pid=
port=$(free_port)
lus=() targets=() portals=()

clean_up() {
	local status=$?
	[ "$BASHPID" = $$ ] || exit $status # a subshell that was killed early
	trap - EXIT
	if declare -F on_exit >/dev/null; then on_exit; fi
	if [ -n "$daemon_pid" ]; then
		kill -KILL "$daemon_pid" 2>/dev/null
		wait "$daemon_pid" 2>/dev/null
	fi
	if [ $results_failed -gt 0 ] || [ $status != 0 ]; then
		[ ! -s "$log" ] || { echo "--- the daemon's log" && tail -n 30 "$log"; }
		[ $status != 0 ] || status=1
	fi
	rm -rf "$dir"
	exit $status
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

lu() {
	local text="name = \"$1\";"
	shift
	text+=$(printf ' %s;' "$@")
	lus+=("{ $text }")
}

# thin_lu NAME SIZE [SETTING...]: a sparse file of its own.
thin_lu() {
	lu "$1" 'type = "file"' "path = \"$dir/$1.img\"" "size = \"$2\"" 'create = true' "${@:3}"
}

target() {
	local name=$1 pair luns=()
	shift
	for pair; do
		luns+=("{ lun = ${pair%%=*}; lu = \"${pair#*=}\"; }")
	done
	targets+=("{ name = \"$name\"; luns = ( $(join "${luns[@]}") ); access = ( { any = true; } ); }")
}

portal() {
	portals+=("{ address = \"$1\"; port = ${2-$port}; group = ${3-1}; }")
}

join() {
	local IFS=,
	echo "$*"
}

configure() {
	cat >"$conf" <<-END
		daemon = {
			state_dir = "$dir/state";
			socket = "$dir/admin.sock";
			engine = "${HAWSER_TEST_ENGINE:-auto}";
			${1-}
		};
		portals = ( $(join "{ address = \"127.0.0.1\"; port = $port; }" "${portals[@]}") );
		lus = ( $(join "${lus[@]}") );
		targets = ( $(join "${targets[@]}") );
	END
	mkdir -p "$dir/state"
}

alive() {
	[ -n "$daemon_pid" ] && kill -0 "$daemon_pid" 2>/dev/null
}

# It listens before it serves: logins are told to try again until then.
serves() {
	! alive || { listening && ctl --json daemon status 2>/dev/null | grep -q '"serving"'; }
}

# A port may be taken between its choice and our use of it: then the test ends
# here, with what the daemon said.
start_hawserd() {
	"$hawserd" -c "$conf" "$@" >>"$log" 2>&1 &
	daemon_pid=$!
	if ! wait_for 20 serves || ! alive; then
		not_ok start "hawserd does not serve port $port"
		exit 1
	fi
}

# Its exit status is ours; 124 if it does not end within 30 s.
stop_hawserd() {
	local pid=$daemon_pid
	kill -TERM "$pid"
	wait_for 30 gone "$pid" || return 124
	daemon_pid=
	wait "$pid"
}

# gone PID: it has ended (a child that nobody has waited for yet counts).
gone() {
	[ ! -d "/proc/$1" ] || [ "$(awk '/^State:/ { print $2 }' "/proc/$1/status")" = Z ]
} 2>/dev/null

kill_hawserd() {
	kill -KILL "$daemon_pid"
	wait "$daemon_pid" 2>/dev/null
	daemon_pid=
}

ctl() {
	"$hawserctl" -s "$dir/admin.sock" "$@"
}

# url LUN [IQN]
url() {
	echo "iscsi://127.0.0.1:$port/${2:-$iqn}/$1"
}

# allocated FILE: bytes that it takes on its disk.
allocated() {
	echo $(($(stat -c %b "$1") * $(stat -c %B "$1")))
}
