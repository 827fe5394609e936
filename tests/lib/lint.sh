# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# For lint tests: the files of the tree and the result lines that tests/run
# counts.  A lint test runs in the source folder.
set -uo pipefail

source_dir=${HAWSER_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
# shellcheck disable=SC2034 # for the tests
build_dir=${HAWSER_BUILD_DIR:-$source_dir/build/release}
cd "$source_dir" || exit 1
faults=0

# files PATTERN...: files of the tree, tracked or about to be, that still exist.
files() {
	git -c core.quotePath=false -c safe.directory="$source_dir" \
		ls-files --cached --others --exclude-standard -- "$@" | sort -u |
		while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

# scripts: shell scripts, by name or by their first line.
scripts() {
	files | while IFS= read -r file; do
		case $file in
		*.sh) echo "$file" ;;
		*.*) ;;
		*) head -c 64 "$file" | head -n 1 | grep -qaE '^#!.*[ /](ba)?sh\b' && echo "$file" ;;
		esac
	done
}

# fault TEXT: something is wrong; TEXT names file, line and what to do.
fault() {
	faults=$((faults + 1))
	echo "$1"
}

# verdict NAME WHAT: the result line of all faults since the last one.
verdict() {
	if [ $faults = 0 ]; then
		echo "ok $1"
	else
		echo "not ok $1: $faults $2"
		lint_failed=yes
	fi
	faults=0
}

finish() {
	[ -z "${lint_failed-}" ]
	exit
}

# need COMMAND: without it the test is skipped.
need() {
	command -v "$1" >/dev/null 2>&1 && return
	echo "$1 is not there"
	exit 77
}
