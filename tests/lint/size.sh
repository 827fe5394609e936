#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# One subject a file: no source file or script has more than 500 lines; and each
# begins with its licence.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"

while IFS= read -r file; do
	lines=$(wc -l <"$file")
	[ "$lines" -le 500 ] || fault "$file: $lines lines; split it by subject"
done < <(files '*.c' '*.h' && scripts)
verdict size 'files of more than 500 lines'

while IFS= read -r file; do
	head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSD-2-Clause' ||
		fault "$file: the first lines do not name the licence"
done < <(files '*.c' '*.h' && scripts)
verdict licence 'files without a licence'

while IFS= read -r found; do
	fault "$found: finish it, or say in the documents that it is missing"
done < <(files daemon transport scsi backing config tools |
	xargs -r -d '\n' grep -nIE '\b(TODO|FIXME|XXX)\b' /dev/null)
verdict leftovers 'leftovers'
finish
