// SPDX-License-Identifier: BSD-2-Clause
#include "crypto/locked.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t whole_pages(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size + page - 1) & ~(page - 1);
}

void *locked_new(size_t size)
{
	size_t len = whole_pages(size);
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (p == MAP_FAILED)
		return NULL;
	if (mlock(p, len) == 0 && madvise(p, len, MADV_DONTDUMP) == 0 &&
	    madvise(p, len, MADV_WIPEONFORK) == 0)
		return p;
	err = errno;
	munmap(p, len);
	errno = err;
	return NULL;
}

void locked_free(void *p, size_t size)
{
	size_t len = whole_pages(size);

	if (!p)
		return;
	OPENSSL_cleanse(p, len);
	munmap(p, len);
}
