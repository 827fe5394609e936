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
# tests/run sets $logs, a folder, and $coverage, a file.

passed=0 failed=0 skipped=0
failures=()

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

# credit NAME LOG: the requirements that the tests of a program have named as they
# ran (tests/lib/covers.h; a script prints "covers ID...") go to $coverage as
# "ID<TAB>TEST", if the test has passed: one that failed in any of its rows does not.
credit() {
	local outcome=passed
	! grep -qE '^not ok ' "$2.results" || outcome=failed
	sed -nE 's/^(not ok|ok) [0-9]+ - [^:]*:([^:]+):([^:]+): .*/\1\t\2\t\3/p' "$2.results" >"$2.outcomes"
	if [ $outcome = passed ]; then
		sed -nE 's/^covers ([A-Za-z0-9 -]+)$/*\t*\t\1/p' "$2" >>"$2.covers"
	fi
	awk -F '\t' -v name="$1" -v outcome_of_all=$outcome '
		FILENAME ~ /\.outcomes$/ {
			outcome[$2, $3] = outcome[$2, $3] $1 " "
			outcome["", $3] = outcome["", $3] $1 " "
			is_case[$2] = 1
			next
		}
		{
			# A case has the name of its source file, or the program has only one.
			said = $1 == "*" && outcome_of_all == "passed" ? "ok " : outcome[$1 in is_case ? $1 : "", $2]
			if (said !~ /^(ok )+$/)
				next
			test = $1 == "*" ? name : name "/" $1 "/" $2
			n = split($3, ids, " ")
			for (i = 1; i <= n; i++)
				if (!seen[ids[i], test]++)
					printf "%s\t%s\n", ids[i], test
		}' "$2.outcomes" "$2.covers" >>"$coverage"
}

# run_test NAME SECONDS COMMAND...: runs one test and counts what it says.
run_test() {
	local name=$1 limit=$2 log status before
	shift 2
	log=$logs/${name//\//.}.log
	: >"$log.tap"
	: >"$log.covers"
	HAWSER_COVERAGE=$log.covers CK_TAP_LOG_FILE_NAME=$log.tap CK_TIMEOUT_MULTIPLIER=10 timeout --kill-after=10 "$limit" "$@" >"$log" 2>&1 </dev/null
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
	if [ "$status" = 0 ] || [ -s "$log.tap" ]; then
		credit "$name" "$log"
	fi
	if [ "$failed" != "$before" ]; then
		echo "  --- the end of $log"
		tail -n "${HAWSER_TEST_TAIL:-25}" "$log" | sed 's/^/  | /'
	fi
}

# ctest_label BUILD LABEL PREFIX [PATTERN]: what CMake registered under a label,
# run by run_test with the environment and the time limit given there.
ctest_label() {
	local build=$1 label=$2 prefix=$3 pattern=${4:-.} name limit line
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
		run_test "$prefix/${name#"$label".}" "$limit" env "${environment[@]}" "${command[@]}"
	done < <(ctest --test-dir "$build" -L "^$label\$" -R "$pattern" --show-only=json-v1 |
		jq -c '.tests[] | select(.command) | {name, command,
			timeout: ([.properties[] | select(.name == "TIMEOUT") | .value] + [300])[0],
			environment: ([.properties[] | select(.name == "ENVIRONMENT") | .value] + [[]])[0]}')
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
