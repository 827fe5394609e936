#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What tests say of requirements (COVERS, SUITE_COVERS; "covers" in scripts) can be
# counted: known ids, said by code that runs.  And tests/lib/tally.sh counts it
# only for tests that passed.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"

while IFS= read -r found; do
	fault "$found: a comment is not executed; use COVERS() in the test (tests/lib/covers.h)"
done < <(files tests | grep -v '^tests/lint/' | xargs -r -d '\n' grep -nE '(/\*|^ \*|^#) ?.*\bcovers:' /dev/null)
verdict comments 'claims in comments'

known=$(cut -f1 tests/standards/*-target.tsv | sort -u)
while IFS=: read -r file id; do
	grep -qxF "$id" <<<"$known" || fault "$file: $id is in no list of tests/standards"
done < <(files 'tests/*.c' 'tests/*.sh' tests/vm/cases |
	xargs -r -d '\n' grep -oE '\b(L|N|T|C|P|S|E|F|I|U|S[A-Z]|OP)-[0-9]{3}\b' /dev/null | sort -u)
verdict ids 'ids in no list'

# Three tests, one of which fails in one of its rows, and one that does not end.
folder=$(mktemp -d "${TMPDIR:-/tmp}/hawser-covers.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
cat >"$folder/program" <<-'END'
	#!/bin/sh
	printf 'a\tgood\tX-1 X-2\na\tbad\tX-3\na\tbad\tX-3\na\tlost\tX-4\nb\tgood\tX-5\n*\t*\tX-6\n' >"$HAWSER_COVERAGE"
	cat >"$CK_TAP_LOG_FILE_NAME" <<-TAP
		1..5
		ok 1 - /x/a.c:a:good: Passed
		ok 2 - /x/a.c:a:bad: Passed
		not ok 3 - /x/a.c:a:bad: Assertion 'ok 1 - a:good' failed: no: really
		not ok 4 - /x/support.c:b:good: Assertion failed
	TAP
	exit 1
END
printf '#!/bin/sh\necho "covers X-7 X-8"\necho "ok y"\n' >"$folder/script"
printf '#!/bin/sh\necho "covers X-9"\necho "not ok y: no"\nexit 1\n' >"$folder/bad"
chmod +x "$folder"/*
counted=$(
	# shellcheck disable=SC2030,SC2034 # for tally.sh
	logs=$folder coverage=$folder/coverage.tsv
	# shellcheck source=tests/lib/tally.sh
	. tests/lib/tally.sh
	for name in program script bad; do
		run_test $name 10 "$folder/$name" >/dev/null
	done
	tr '\t\n' '= ' <"$folder/coverage.tsv"
)
wanted='X-1=program/a/good X-2=program/a/good X-7=script X-8=script '
[ "$counted" = "$wanted" ] || fault "counted \"$counted\", wanted \"$wanted\""
verdict only-what-passed 'errors of tests/lib/tally.sh'
finish
