/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A look at the text before libconfig reads it: version 1.5 cuts integers of more than 32 bits
 * without a word (21474836480 becomes 0), which must not happen to the size of a disk.
 *
 * Threads: pure but for reading files. Ownership: results go to the caller.
 */
#ifndef HAWSER_CONFIG_SCAN_H
#define HAWSER_CONFIG_SCAN_H

struct config_error;

/* 0, or -EINVAL with *err: a number that would be cut. */
int config_scan_text(const char *text, const char *name, struct config_error *err);
/* The file and those that it includes. Files that cannot be read are left to libconfig. */
int config_scan_file(const char *path, struct config_error *err);

#endif
