/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SendTargets (RFC 7143 appendix C): what an initiator may see, as text.
 *
 * Threads: the connection's reactor. Ownership: none.
 */
#ifndef HAWSER_ISCSI_DISCOVERY_H
#define HAWSER_ISCSI_DISCOVERY_H

struct iscsi_conn;
struct text_out;

/* Appends the answer to SendTargets=value. A list that is too long sets out->error. -EPROTO: the
 * request shall be rejected. */
int discovery_send_targets(const struct iscsi_conn *c, const char *value, struct text_out *out);

#endif
