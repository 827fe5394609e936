#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Every C file is as clang-format writes it.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"
need clang-format

while IFS= read -r file; do
	said=$(clang-format --dry-run -Werror "$file" 2>&1) || fault "$(head -n 3 <<<"$said")"
done < <(files '*.c' '*.h')
verdict clang-format 'files that clang-format -i would change'
finish
