#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# clang-tidy finds nothing, with the checks of .clang-tidy; of tests, which contain
# the code that they test, the static analyser reads only what a full run asks for.
# What was found clean before, with the same headers, is not read again.
#
#   HAWSER_TIDY_CACHE   where that is remembered (BUILD/clang-tidy)
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"
need clang-tidy
need jq
database=$build_dir/compile_commands.json
if [ ! -f "$database" ]; then
	echo "no $database: configure the build first"
	exit 77
fi
cache=${HAWSER_TIDY_CACHE:-$build_dir/clang-tidy}
mkdir -p "$cache"
headers=$(files '*.h' .clang-tidy | xargs -d '\n' cat | cat - <(clang-tidy --version) | sha256sum)

# One file: a line on stdout, and what was found.
tidy() {
	local stamp said checks=""
	stamp=$cache/$(cat "$1" <(echo "$headers") | sha256sum | cut -c1-40)
	if [[ $1 == tests/* ]]; then
		stamp=/dev/null
		[ -n "${HAWSER_TEST_FULL-}" ] || checks="-clang-analyzer-*"
	fi
	if [ -f "$stamp" ]; then
		echo "ok $1"
	elif said=$(clang-tidy --quiet -p "$build_dir" --checks="$checks" "$1" 2>/dev/null); then
		: >"$stamp"
		echo "ok $1"
	else
		echo "not ok $1: $(grep -c ": error:" <<<"$said") findings"
		printf "%s\n" "$said" | head -n 20
	fi
}
export -f tidy
export cache headers build_dir

jq -r '.[].file' "$database" | sort -u | grep "^$source_dir/" |
	grep -v "^$source_dir/build/" | sed "s|^$source_dir/||" |
	while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done |
	xargs -r -d '\n' -P "$(nproc)" -I {} bash -c 'tidy {}' >"$cache/said"
grep -v '^ok ' "$cache/said"
if grep -q '^not ok' "$cache/said"; then
	exit 1
elif ! grep -q '^ok ' "$cache/said"; then
	echo "not ok clang-tidy: $database names no file of the tree"
	exit 1
fi
echo "ok clang-tidy"
