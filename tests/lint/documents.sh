#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The documents are true: files that they name exist.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"

for document in README.md docs/architecture.md docs/HACKING.md docs/multipath.md docs/standards.md docs/threat-model.md \
	LICENSE CHANGELOG.md; do
	[ -s "$document" ] || fault "$document is missing"
done
verdict present 'documents missing'

# Paths in backticks that begin with a folder of ours.
# shellcheck disable=SC2016 # backticks of the text
while IFS=: read -r document line path; do
	path=${path//\`/}
	compgen -G "$path" >/dev/null || fault "$document:$line: $path does not exist"
done < <(files '*.md' 'docs/*.[1-9]' |
	xargs -r -d '\n' grep -noE '\`(daemon|transport|scsi|backing|config|tests|tools|docs|packaging|cmake)/[A-Za-z0-9_./*-]*\`' /dev/null)
verdict paths 'names of files that do not exist'
finish
