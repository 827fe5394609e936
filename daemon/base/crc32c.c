/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three ways, the best that the CPU has: folding of 512-bit vectors for long buffers; three
 * streams of the crc32 instruction (its latency is three cycles, its throughput one), joined by
 * carry-less multiplication; eight look-ups per eight bytes. Digests of headers go by one stream
 * of the instruction: nothing is faster below some hundred bytes.
 *
 * Polynomials here are bit-reversed, as the instruction has them: bit 31 is x^0.
 */
#include "daemon/base/crc32c.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* RFC 7143 13.1: 0x1EDC6F41, reversed */

typedef uint32_t update_fn(uint32_t crc, const uint8_t *p, size_t length);

static uint32_t table[8][256];

static void table_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
		table[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int n = 1; n < 8; n++)
			table[n][i] = table[n - 1][i] >> 8 ^ table[0][table[n - 1][i] & 0xff];
}

static uint32_t update_table(uint32_t crc, const uint8_t *p, size_t length)
{
	for (; length >= 8; length -= 8, p += 8) {
		uint64_t v;

		memcpy(&v, p, 8);
		v ^= crc;
		crc = 0;
		for (int n = 0; n < 8; n++)
			crc ^= table[7 - n][v >> 8 * n & 0xff];
	}
	while (length--)
		crc = table[0][(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET_CRC __attribute__((target("sse4.2,pclmul")))

#define SHORT        ((size_t)128)  /* up to here one stream */
#define STREAM       ((size_t)1360) /* bytes of each of three streams; three fit 4096 best */
#define STREAM_SMALL ((size_t)128)

/* x^(8n - 33) for the n bytes that a stream's sum is moved by; see shift_sum. */
static uint64_t by_stream, by_2_streams, by_small, by_2_small;

/* x^n modulo the polynomial. */
static uint32_t power_of_x(size_t n)
{
	uint32_t c = 0x80000000u;

	while (n--)
		c = c & 1 ? c >> 1 ^ POLYNOMIAL : c >> 1;
	return c;
}

static void streams_init(void)
{
	by_stream = power_of_x(8 * STREAM - 33);
	by_2_streams = power_of_x(16 * STREAM - 33);
	by_small = power_of_x(8 * STREAM_SMALL - 33);
	by_2_small = power_of_x(16 * STREAM_SMALL - 33);
}

TARGET_CRC static inline uint64_t load_64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

TARGET_CRC static inline uint32_t update_stream(uint32_t crc, const uint8_t *p, size_t length)
{
	uint64_t c = crc;

	for (; length >= 8; length -= 8, p += 8)
		c = _mm_crc32_u64(c, load_64(p));
	crc = (uint32_t)c;
	if (length & 4) {
		uint32_t v;

		memcpy(&v, p, 4);
		crc = _mm_crc32_u32(crc, v);
		p += 4;
	}
	for (length &= 3; length; length--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}

/*
 * The sum as if n zero bytes followed, by = x^(8n - 33): the product of two reversed polynomials
 * comes out one bit low, which is a factor x, and the instruction multiplies by x^32.
 */
TARGET_CRC static inline uint32_t shift_sum(uint32_t crc, uint64_t by)
{
	__m128i product =
	    _mm_clmulepi64_si128(_mm_cvtsi32_si128((int)crc), _mm_cvtsi64_si128((long long)by), 0);

	return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

/* Three neighbouring pieces of n bytes side by side. */
TARGET_CRC static inline uint32_t update_3(uint32_t crc, const uint8_t *p, size_t n, uint64_t by,
					   uint64_t by_2)
{
	uint64_t a = crc, b = 0, c = 0;

	for (size_t i = 0; i < n; i += 8) {
		a = _mm_crc32_u64(a, load_64(p + i));
		b = _mm_crc32_u64(b, load_64(p + n + i));
		c = _mm_crc32_u64(c, load_64(p + 2 * n + i));
	}
	return shift_sum((uint32_t)a, by_2) ^ shift_sum((uint32_t)b, by) ^ (uint32_t)c;
}

TARGET_CRC static uint32_t update_streams(uint32_t crc, const uint8_t *p, size_t length)
{
	if (length <= SHORT)
		return update_stream(crc, p, length);
	for (; length >= 3 * STREAM; length -= 3 * STREAM, p += 3 * STREAM)
		crc = update_3(crc, p, STREAM, by_stream, by_2_streams);
	for (; length >= 3 * STREAM_SMALL; length -= 3 * STREAM_SMALL, p += 3 * STREAM_SMALL)
		crc = update_3(crc, p, STREAM_SMALL, by_small, by_2_small);
	return update_stream(crc, p, length);
}

#define TARGET_FOLD __attribute__((target("sse4.2,pclmul,avx512f,avx512vl,vpclmulqdq")))

#define FOLD_STEP ((size_t)256) /* bytes; below that the instruction is faster */

/* Multipliers that move 128 bits on by so many bits: for the low half, then for the high. */
static uint64_t by_2048[2], by_512[2], by_384[2], by_256[2], by_128[2];

/*
 * The low half of a vector lies 64 bits further from the place it is moved to than the high one.
 * As in shift_sum the product comes out one bit low, a factor x; a multiplier of 32 bits in the
 * low half of 64 stands for itself times x^32. What is left to multiply by is x^(n - 33).
 */
static void fold_multipliers(uint64_t by[static 2], size_t bits)
{
	by[0] = power_of_x(bits + 64 - 33);
	by[1] = power_of_x(bits - 33);
}

static void fold_init(void)
{
	fold_multipliers(by_2048, 2048);
	fold_multipliers(by_512, 512);
	fold_multipliers(by_384, 384);
	fold_multipliers(by_256, 256);
	fold_multipliers(by_128, 128);
}

TARGET_FOLD static inline __m512i fold_512(__m512i v, __m512i by, __m512i next)
{
	__m512i low = _mm512_clmulepi64_epi128(v, by, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(v, by, 0x11);

	return _mm512_ternarylogic_epi64(low, high, next, 0x96); /* the sum of all three */
}

TARGET_FOLD static inline __m128i fold_128(__m128i v, const uint64_t by[static 2])
{
	__m128i k = _mm_set_epi64x((long long)by[1], (long long)by[0]);

	return _mm_xor_si128(_mm_clmulepi64_si128(v, k, 0x00), _mm_clmulepi64_si128(v, k, 0x11));
}

TARGET_FOLD static inline __m512i spread(const uint64_t by[static 2])
{
	return _mm512_broadcast_i32x4(_mm_set_epi64x((long long)by[1], (long long)by[0]));
}

TARGET_FOLD static uint32_t fold_end(__m512i v)
{
	__m128i sum = _mm512_extracti32x4_epi32(v, 3);
	uint64_t crc;

	sum = _mm_xor_si128(sum, fold_128(_mm512_extracti32x4_epi32(v, 2), by_128));
	sum = _mm_xor_si128(sum, fold_128(_mm512_extracti32x4_epi32(v, 1), by_256));
	sum = _mm_xor_si128(sum, fold_128(_mm512_castsi512_si128(v), by_384));
	crc = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(sum));
	return (uint32_t)_mm_crc32_u64(crc, (uint64_t)_mm_extract_epi64(sum, 1));
}

TARGET_FOLD static uint32_t update_fold(uint32_t crc, const uint8_t *p, size_t length)
{
	__m512i v[4], far, near;

	if (length < FOLD_STEP)
		return update_streams(crc, p, length);
	for (size_t i = 0; i < 4; i++)
		v[i] = _mm512_loadu_si512(p + 64 * i);
	v[0] = _mm512_xor_si512(v[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
	far = spread(by_2048);
	for (p += FOLD_STEP, length -= FOLD_STEP; length >= FOLD_STEP;
	     p += FOLD_STEP, length -= FOLD_STEP)
		for (size_t i = 0; i < 4; i++)
			v[i] = fold_512(v[i], far, _mm512_loadu_si512(p + 64 * i));
	near = spread(by_512);
	for (int i = 1; i < 4; i++)
		v[0] = fold_512(v[0], near, v[i]);
	for (; length >= 64; p += 64, length -= 64)
		v[0] = fold_512(v[0], near, _mm512_loadu_si512(p));
	return update_stream(fold_end(v[0]), p, length);
}

static update_fn *choose(void)
{
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul"))
		return update_table;
	streams_init();
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vl") ||
	    !__builtin_cpu_supports("vpclmulqdq"))
		return update_streams;
	fold_init();
	return update_fold;
}

#else

static update_fn *choose(void)
{
	return update_table;
}

#endif

static update_fn update_first;
static _Atomic(update_fn *) update = update_first;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void init(void)
{
	table_init();
	atomic_store_explicit(&update, choose(), memory_order_release);
}

/* Stands in until the first call has chosen. */
static uint32_t update_first(uint32_t crc, const uint8_t *p, size_t length)
{
	pthread_once(&once, init);
	return atomic_load_explicit(&update, memory_order_acquire)(crc, p, length);
}

uint32_t crc32c_update(uint32_t crc, const void *bytes, size_t length)
{
	return atomic_load_explicit(&update, memory_order_acquire)(crc, bytes, length);
}
