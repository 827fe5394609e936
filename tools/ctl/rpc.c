/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One JSON-RPC 2.0 request over the admin socket, one object a line each way.
 */
#include "daemon/base/text.h"
#include "tools/ctl/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static enum ctl_status unreachable(const char *socket_path, const char *why)
{
	fprintf(
	    stderr,
	    "hawserctl: the daemon is not reachable at %s: %s; is it running? another socket is "
	    "named by -s or HAWSER_SOCKET\n",
	    socket_path, why);
	return CTL_UNREACHABLE;
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(a.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		int error = errno;

		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

static bool send_all(int fd, const char *data, size_t length)
{
	while (length) {
		ssize_t n = send(fd, data, length, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		/* A daemon that turned us away has said why: that is read next. */
		if (n < 0)
			return errno == EPIPE;
		data += n;
		length -= (size_t)n;
	}
	return true;
}

static enum ctl_status take_answer(const char *socket_path, json_t *answer, json_t **ret_result)
{
	json_t *error = json_object_get(answer, "error");
	json_t *result = json_object_get(answer, "result");
	const char *message = json_string_value(json_object_get(error, "message"));

	if (message) {
		fprintf(stderr, "hawserctl: %s\n", message);
		return CTL_REFUSED;
	}
	if (!result)
		return unreachable(socket_path, "its answer is not of this protocol");
	*ret_result = json_incref(result);
	return CTL_DONE;
}

enum ctl_status ctl_request(const char *socket, const char *method, json_t *params,
			    json_t **ret_result)
{
	json_t *request = json_pack("{s:s, s:i, s:s, s:O}", "jsonrpc", "2.0", "id", 1, "method",
				    method, "params", params);
	char *text = json_dumps(request, JSON_COMPACT);
	enum ctl_status status;
	json_error_t error;
	json_t *answer;
	int fd = connect_to(socket);

	json_decref(request);
	if (fd < 0 || !text || !send_all(fd, text, strlen(text)) || !send_all(fd, "\n", 1)) {
		status = unreachable(socket, text_errno(errno));
		free(text);
		if (fd >= 0)
			close(fd);
		return status;
	}
	free(text);
	answer = json_loadfd(fd, JSON_DISABLE_EOF_CHECK, &error);
	close(fd);
	if (!answer)
		return unreachable(socket, "it closed the connection without an answer");
	status = take_answer(socket, answer, ret_result);
	json_decref(answer);
	return status;
}
