# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-2-Clause
#
# Accounts of tests/run.  A test is a program that prints one line for each thing
# that it has tried:
#
#   ok NAME
#   not ok NAME: reason
#   skip NAME: reason
#
# and ends with 0, or with another status if a line says "not ok".  Other lines
# are its own affair; they are shown when it fails.  Status 77 without a line
# skips the whole test, its last line being the reason.
#
# tests/run sets $source, the tree, and $logs, a folder.

passed=0 failed=0 skipped=0
failures=() covered=()

# say KIND NAME [REASON]: one result into the tally and onto the screen.
say() {
	case $1 in
	ok) passed=$((passed + 1)) && echo "  ok $2" ;;
	skip) skipped=$((skipped + 1)) && echo "  skip $2: ${3:-no reason given}" ;;
	*) failed=$((failed + 1)) && failures+=("$2") && echo "  not ok $2: ${3:-no reason given}" ;;
	esac
}

# count PREFIX LOG: the result lines of a test's output.
# Also TAP lines as the check library writes them: "ok 3 - file.c:suite:test: Passed".
count() {
	local kind name reason n=0
	while IFS=$'\t' read -r kind name reason; do
		n=$((n + 1))
		say "$kind" "$1/$name" "$reason"
	done < <(sed -nE '
		s/^(not ok|ok|skip) ([0-9]+ - )?(.*)$/\1\t\3/p' "$2" | awk -F '\t' '{
			name = $2; reason = ""
			sub(/^\/[^:]*:/, "", name)
			if ((i = index(name, ": ")) > 0) { reason = substr(name, i + 2); name = substr(name, 1, i - 1) }
			if ($1 != "ok" && reason == "") reason = "no reason given"
			printf "%s\t%s\t%s\n", $1, name, reason }')
	[ $n -gt 0 ]
}

# covers FILE...: the requirement ids that test files name, now that they were run.
covers() {
	local id
	while read -r id; do
		covered+=("$id")
	done < <(grep -hoE 'covers:.*' "$@" 2>/dev/null | tr -c 'A-Za-z0-9_-' '\n' |
		grep -xE '[A-Z]{1,2}-[0-9]{3}|fault-[A-Z][0-9]{2}' | sort -u)
}

# run_test NAME SECONDS FILES COMMAND...: runs one test and counts what it says.
# FILES (separated by blanks) are those whose "covers:" lines hold if it ran.
run_test() {
	local name=$1 limit=$2 files=$3 log status before
	shift 3
	log=$logs/${name//\//.}.log
	: >"$log.tap"
	CK_TAP_LOG_FILE_NAME=$log.tap CK_TIMEOUT_MULTIPLIER=10 timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null
	status=$?
	before=$failed
	if [ $status = 77 ] && ! grep -qE '^(not ok|ok|skip) ' "$log"; then
		say skip "$name" "$(tail -n 1 "$log")"
		return
	fi
	[ ! -s "$log.tap" ] || cp "$log.tap" "$log.results"
	[ -s "$log.tap" ] || cp "$log" "$log.results"
	if ! count "$name" "$log.results"; then
		[ $status != 0 ] || say ok "$name"
	fi
	if [ $status = 124 ] || [ $status = 137 ]; then
		say fail "$name" "no end within $limit s"
	elif [ $status != 0 ] && [ "$failed" = "$before" ]; then
		say fail "$name" "ended with status $status"
	fi
	if [ "$failed" != "$before" ]; then
		echo "  --- the end of $log"
		tail -n "${HAWSER_TEST_TAIL:-25}" "$log" | sed 's/^/  | /'
	fi
	# shellcheck disable=SC2086 # a list of files
	[ -z "$files" ] || covers $files
}

# ctest_label BUILD LABEL PREFIX [PATTERN]: what CMake registered under a label,
# run by run_test with the environment and the time limit given there.
ctest_label() {
	local build=$1 label=$2 prefix=$3 pattern=${4:-.} name limit line files
	local -a command environment
	while IFS= read -r line; do
		limit=$(jq -r .timeout <<<"$line")
		mapfile -t command < <(jq -r '.command[]' <<<"$line")
		mapfile -t environment < <(jq -r '.environment[]' <<<"$line")
		# What this run sets goes before what CMake registered.
		for name in HAWSERD ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS UBSAN_OPTIONS; do
			[ -z "${!name-}" ] || environment+=("$name=${!name}")
		done
		name=$(jq -r .name <<<"$line")
		files=$(jq -r '.command[0]' <<<"$line" | source_of)
		run_test "$prefix/${name#"$label".}" "$limit" "$files" env "${environment[@]}" "${command[@]}"
	done < <(ctest --test-dir "$build" -L "^$label\$" -R "$pattern" --show-only=json-v1 |
		jq -c '.tests[] | select(.command) | {name, command,
			timeout: ([.properties[] | select(.name == "TIMEOUT") | .value] + [300])[0],
			environment: ([.properties[] | select(.name == "ENVIRONMENT") | .value] + [[]])[0]}')
}

# source_of: the source files of the test program whose path is on stdin.
source_of() {
	local program name
	read -r program
	name=${program##*/}
	case $name in
	unit_*_*)
		name=${name#unit_}
		echo "$source/tests/unit/${name%%_*}/${name#*_}_test.c"
		;;
	hawser-protocol-test) echo "$source"/tests/protocol/*.c ;;
	*) [ ! -f "$program" ] || echo "$program" ;;
	esac
}

# tally: the last line of all.
tally() {
	local f
	if [ ${#failures[@]} -gt 0 ]; then
		echo "failed:"
		for f in "${failures[@]}"; do
			echo "  $f"
		done
	fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}
