/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What could not be written back is gone. Linux tells it once, to whoever syncs this open file
 * next, and takes the pages for clean: the sync after that succeeds. So a store that has seen it
 * fails every flush from then on, until it is opened anew; else one host hears of the error and
 * another is told GOOD for data that is lost, or the same one when it tries again.
 */
#include "backing/fdstore.h"

#include "backing/why.h"
#include "daemon/base/log.h"

#include <errno.h>

/* The call was not carried out, which loses nothing. */
static bool is_harmless(int result)
{
	static const int errors[] = { EINTR,  EAGAIN,     ECANCELED, ENOMEM,
				      EINVAL, EOPNOTSUPP, ENOSYS,    EROFS };

	for (unsigned i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (result == -errors[i])
			return true;
	return false;
}

/* A durable write may have failed itself, or have found out by its sync what others have lost: it
 * cannot be told apart. Direct I/O leaves nothing of others in the page cache. */
static bool is_loss(const struct fd_store *s, const struct backing_io *io, int result)
{
	if (result >= 0 || is_harmless(result))
		return false;
	if (io->kind == BACKING_FLUSH)
		return true;
	return io->kind != BACKING_READ && io->durable && !s->direct && result == -EIO;
}

int fd_sync_result(struct fd_store *s, const struct backing_io *io, int result)
{
	int none = 0;

	if (is_loss(s, io, result) && atomic_compare_exchange_strong(&s->lost, &none, result))
		log_error(LOG_BACKING,
			  "%s: flush: %s; what was written before may be lost, every flush fails "
			  "from now on; check the storage, then restart hawserd",
			  s->path, error_text(-result));
	if (io->kind == BACKING_FLUSH && !result)
		result = atomic_load(&s->lost);
	return result;
}
