/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl: the administrator's tool. Words to a request, the answer to words.
 */
#include "tools/ctl/ctl.h"

int main(int argc, char **argv)
{
	struct ctl_call call;
	json_t *result = NULL;
	enum ctl_status status = ctl_parse(argc, argv, &call);

	if (status == CTL_DONE && call.verb) {
		status = ctl_request(call.socket, call.verb->method, call.params, &result);
		if (status == CTL_DONE)
			status = ctl_print(&call, result);
	}
	json_decref(result);
	json_decref(call.params);
	/* A full disk or a closed pipe must not look like success. */
	if ((fflush(stdout) || ferror(stdout)) && status == CTL_DONE) {
		perror("hawserctl: standard output");
		status = CTL_REFUSED;
	}
	return (int)status;
}
