/* SPDX-License-Identifier: BSD-2-Clause */
#include "daemon/admin/request.h"
const struct admin_method admin_daemon_methods[] = { { 0 } };
