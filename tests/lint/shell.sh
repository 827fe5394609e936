#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Every script passes shellcheck.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"
need shellcheck

while IFS= read -r file; do
	said=$(shellcheck -x -P "$source_dir" -f gcc "$file" 2>&1) || fault "$said"
done < <(scripts)
verdict shellcheck 'scripts with findings'
finish
