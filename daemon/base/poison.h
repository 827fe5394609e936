/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Manual poisoning for allocators of our own: under AddressSanitizer, memory that is free in a
 * pool or an arena is reported when touched, as malloc's is. Nothing in other builds.
 *
 * Threads: any. Ownership: none.
 */
#ifndef HAWSER_BASE_POISON_H
#define HAWSER_BASE_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define BASE_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BASE_POISON 1
#endif
#endif

#ifdef BASE_POISON
#include <sanitizer/asan_interface.h>
#endif

static inline void base_poison(const void *p, size_t n)
{
#ifdef BASE_POISON
	__asan_poison_memory_region(p, n);
#else
	(void)p;
	(void)n;
#endif
}

static inline void base_unpoison(const void *p, size_t n)
{
#ifdef BASE_POISON
	__asan_unpoison_memory_region(p, n);
#else
	(void)p;
	(void)n;
#endif
}

#endif
