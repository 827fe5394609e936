/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Additional sense codes by name: ASC << 8 | ASCQ (SPC-4 annex D). Only those that are used in more
 * than a constructor of sense.h.
 *
 * Threads: constants.
 */
#ifndef HAWSER_SCSI_SCSI_H
#define HAWSER_SCSI_SCSI_H

enum scsi_asc {
	ASC_NOT_READY = 0x0400,          /* cause not reportable */
	ASC_INFORMATION_UNIT = 0x0e03,   /* invalid field in command information unit */
	ASC_NOT_READY_TO_READY = 0x2800, /* medium may have changed */
	ASC_RESET = 0x2900,              /* power on, reset, or bus device reset */
	ASC_POWER_ON = 0x2901,
	ASC_BUS_RESET = 0x2902,
	ASC_DEVICE_RESET = 0x2903, /* bus device reset function occurred */
	ASC_INTERNAL_RESET = 0x2904,
	ASC_NEXUS_LOSS = 0x2907,
	ASC_MODE_CHANGED = 0x2a01, /* mode parameters changed */
	ASC_TIMESTAMP_CHANGED = 0x2a10,
	ASC_RESERVATIONS_PREEMPTED = 0x2a03,
	ASC_RESERVATIONS_RELEASED = 0x2a04,
	ASC_REGISTRATIONS_PREEMPTED = 0x2a05,
	ASC_ACCESS_STATE_CHANGED = 0x2a06, /* asymmetric access state changed */
	ASC_CAPACITY_CHANGED = 0x2a09,
	ASC_THIRD_PARTY_FAILURE = 0x0d01, /* third party device failure */
	ASC_COPY_TARGET_UNREACHABLE = 0x0d02,
	ASC_NO_ROOM_FOR_TOKEN = 0x550d, /* insufficient resources to create ROD token */
	ASC_TOKEN_TYPE = 0x2301,        /* invalid token operation: unsupported token type */
	ASC_TOKEN_UNKNOWN = 0x2304,
	ASC_TOKEN_CORRUPT = 0x2305,
	ASC_TOKEN_LENGTH = 0x230a,    /* invalid token length */
	ASC_INVALID_RELEASE = 0x2604, /* invalid release of persistent reservation */
	ASC_SOFT_THRESHOLD = 0x3807,  /* thin provisioning soft threshold reached */
	ASC_MICROCODE_CHANGED = 0x3f01,
	ASC_INQUIRY_CHANGED = 0x3f03,    /* INQUIRY data has changed */
	ASC_IDENTIFIER_CHANGED = 0x3f05, /* device identifier changed */
	ASC_LUNS_CHANGED = 0x3f0e,
	ASC_INTERNAL_FAILURE = 0x4400, /* internal target failure */
	ASC_CLEARED_BY_ISCSI = 0x477f, /* some commands cleared by iSCSI protocol event */
	ASC_INVALID_MESSAGE = 0x4900,
	ASC_SET_GROUPS_FAILED = 0x670a,      /* SET TARGET PORT GROUPS command failed */
	ASC_REGISTRATION_RESOURCES = 0x5504, /* insufficient registration resources */
};

#endif
