/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Methods lun.* of the other files.
 *
 * Threads and ownership: as daemon/admin/request.h says.
 */
#ifndef HAWSER_DAEMON_ADMIN_LUN_H
#define HAWSER_DAEMON_ADMIN_LUN_H

struct admin_request;

void lun_list(struct admin_request *rq);
void lun_show(struct admin_request *rq);
void lun_fault(struct admin_request *rq);
void lun_resize(struct admin_request *rq);

#endif
