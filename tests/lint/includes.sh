#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
#
# The arrows of inclusion (docs/architecture.md): for each folder, what its files
# may include.  Includes are written from the root; the longest folder that
# matches a file decides.
# shellcheck source=tests/lib/lint.sh
. "$(dirname "$0")/../lib/lint.sh"

# folder: prefixes of headers
arrows='
daemon/base: daemon/base/
config: config/ daemon/base/
backing: backing/ daemon/base/
scsi: scsi/ backing/backing.h daemon/base/
transport: transport/ scsi/ daemon/base/
transport/iscsi: transport/iscsi/ transport/datamover.h transport/portal.h scsi/ daemon/base/
transport/tcp: transport/tcp/ transport/iscsi/ transport/datamover.h transport/portal.h scsi/ daemon/base/
daemon: daemon/ config/ transport/ scsi/ backing/
tools: tools/ daemon/base/text.h
tests/initiator: tests/initiator/ transport/iscsi/wire.h daemon/base/
'

# allowed FILE: the prefixes for it; nothing for a file that no arrow binds.
allowed() {
	local folder=$1 line
	while [[ $folder == */* ]]; do
		folder=${folder%/*}
		if line=$(grep "^$folder: " <<<"$arrows"); then
			echo "${line#*: }"
			return
		fi
	done
}

while IFS= read -r file; do
	prefixes=$(allowed "$file")
	[ -n "$prefixes" ] || continue
	while IFS=: read -r line header; do
		for prefix in $prefixes; do
			[[ $header != "$prefix"* ]] || continue 2
		done
		fault "$file:$line: may not include $header, only $prefixes"
	done < <(sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*"/{=;s/^[^"]*"([^"]*)".*/\1/p}' "$file" |
		paste -d: - -)
done < <(files '*.c' '*.h')
verdict arrows 'includes against the arrows'

# What a layer must not see at all.
while IFS= read -r found; do
	fault "$found: no sockets in this layer"
done < <(files 'scsi/*.[ch]' 'backing/*.[ch]' |
	xargs -r -d '\n' grep -nE '#[[:space:]]*include[[:space:]]*<(sys/socket|netinet/.*|arpa/inet|netdb)\.h>' /dev/null)
verdict sockets 'socket headers'
finish
