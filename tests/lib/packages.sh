# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# What building and testing need on Debian 12, and its installation.

# shellcheck disable=SC2034 # for tests/run
build_packages=(gcc libc6-dev make cmake ninja-build pkg-config liburing-dev libaio-dev
	libconfig-dev libsystemd-dev libjansson-dev nettle-dev check)
# shellcheck disable=SC2034
test_packages=(jq procps iproute2 clang-format clang-tidy shellcheck mandoc valgrind
	libiscsi-bin libiscsi-dev qemu-utils qemu-system-x86 ipxe-qemu e2fsprogs xfsprogs util-linux
	open-iscsi multipath-tools open-isns-server open-isns-utils sg3-utils smartmontools cpio kmod
	xz-utils zstd)

# missing PACKAGE...: those that are not installed.
missing() {
	local package
	for package; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' ||
			echo "$package"
	done
}

# install_packages PACKAGE...: installs what is missing, quietly.  0 if all is there.
install_packages() {
	local -a wanted
	mapfile -t wanted < <(missing "$@")
	[ ${#wanted[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "missing packages, and only root can install them: ${wanted[*]}" >&2
		return 1
	fi
	echo "installing ${wanted[*]}"
	# No service may start here: the tests start what they need.
	local policy=/usr/sbin/policy-rc.d made=
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy && made=yes
	fi
	{
		export DEBIAN_FRONTEND=noninteractive
		apt-get -qq -o DPkg::Lock::Timeout=300 update &&
			apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 \
				install --no-install-recommends "${wanted[@]}"
	} >"${logs:-/tmp}/apt.log" 2>&1
	local status=$?
	[ -z "$made" ] || rm -f $policy
	[ $status = 0 ] || tail -n 20 "${logs:-/tmp}/apt.log" >&2
	return $status
}
