#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The list of faults known of other targets (tests/faults.tsv): an id of a finished
# group has a test that names it, or a reason why not.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"

table=tests/faults.tsv
# Group by group, as each is finished.
finished='
A01 A03 A05 A06 A08 A09 A10 A11 A13 A14 A16
B01 B02 B04 B05 B07 B09 B11 B12 B16
C02 C04 C05 C07 C08 C09 C10 C12
D01 D03 D04 D06 D08 D10 D11 D12 D13 D14 D15 D16 D17
E02 E03 E04 E05 E06 E07 E08 E09 E10 E12 E13 E14 E15 E16 E18 E20
F03 F04 F07 F10 F11
H06 H07
N01 N03 N05 N08
Q02 Q03 Q04 Q05 Q07 Q08 Q15 Q16 Q18 Q21
'

for id in $finished; do
	if ! row=$(grep -P "^$id\t" "$table"); then
		fault "$table: no row for $id"
		continue
	fi
	where=${row#*$'\t'}
	case $where in
	'reason: '?*) ;;
	*)
		for file in $where; do
			if [ ! -f "$file" ]; then
				fault "$table: $id: $file does not exist"
			elif ! grep -qw "fault-$id" "$file"; then
				fault "$table: $id: $file does not name fault-$id"
			fi
		done
		[ -n "$where" ] || fault "$table: $id: neither a test nor a reason"
		;;
	esac
done
verdict finished-groups 'ids with neither a test nor a reason'

sort "$table" | cut -f1 | uniq -d | grep . && fault "$table: an id stands twice"
verdict once 'ids that stand twice'
finish
