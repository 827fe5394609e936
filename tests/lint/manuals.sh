#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The manual pages are well formed, and say all that the program's tables do.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"
need mandoc

pages=0
while IFS= read -r page; do
	pages=$((pages + 1))
	said=$(mandoc -T lint -W warning "$page" 2>&1) || fault "$said"
done < <(files 'docs/*.[1-9]')
[ $pages -gt 0 ] || fault "no manual page below docs"
verdict mandoc 'manual pages with findings'

# Each verb of hawserctl has its item.
if [ -x "$build_dir/tools/hawserctl" ]; then
	while read -r noun verb _; do
		grep -qE "^\.It Cm $noun $verb( |\$)" docs/man/hawserctl.8 ||
			fault "hawserctl $noun $verb has no item in docs/man/hawserctl.8"
	done < <("$build_dir/tools/hawserctl" help | sed -n 's/^  \([a-z]\)/\1/p')
	verdict verbs 'verbs without an item in hawserctl(8)'
fi

# page NAME: the file of a manual page.
page() {
	files "docs/*$1" | head -n 1
}

# lists PAGE WORD WHAT: the page must hold the word.
lists() {
	grep -qwF -- "$2" "${1:-/dev/null}" || fault "$3 $2 is not in ${1:-the manual page that should hold it}"
}

manual=$(page hawser.conf.5)
while IFS= read -r setting; do
	lists "$manual" "$setting" setting
done < <(grep -ohE '^[[:space:]]*([A-Z]+\([a-z_0-9]+, [A-Z]|\{ \.name = "[a-z_0-9]+")' config/schema.c |
	grep -oE '[a-z_0-9]{2,}(,|")' | tr -d ',"' | grep -vx name | sort -u)
[ -f config/schema.c ] || fault 'config/schema.c is gone; change this test'
verdict settings 'settings without a description in hawser.conf(5)'

protocol=docs/admin-protocol.md
while IFS= read -r method; do
	lists "$protocol" "$method" method
done < <(files 'daemon/admin/*.c' 'daemon/admin*.c' |
	xargs -r -d '\n' grep -ohE '"[a-z]+\.[a-z_]+"' | tr -d '"' | grep -vE '\.(c|h|conf|sock)$' | sort -u)
verdict methods 'admin methods that docs/admin-protocol.md does not name'
finish
