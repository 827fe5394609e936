/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a fuzz harness without a fuzzer: fuzz_x [-r TIMES] FILE|FOLDER... feeds each file, and each
 * file TIMES more in mutated form, from a fixed start so that a failure comes again. What is found
 * this way becomes a file of the folder.
 *
 * Threads: one. Ownership: none.
 */
#include "tests/lib/covers.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Of a harness that has something to say of its inputs as a whole: 0 if they are as they should. */
int fuzz_end(void) __attribute__((weak));

static uint64_t state = 0x9e3779b97f4a7c15ull;
static unsigned times, files;

static uint32_t chance(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

/* A few changes of bytes, or a piece taken out or doubled. Returns the new size. */
static size_t mutate(uint8_t *p, size_t size)
{
	unsigned n = 1 + chance(4);
	size_t at, length;

	while (n-- && size) {
		at = chance((uint32_t)size);
		length = 1 + chance(16);
		if (length > size - at)
			length = size - at;
		switch (chance(5)) {
		case 0:
			p[at] ^= (uint8_t)(1u << chance(8));
			break;
		case 1:
			p[at] = (uint8_t)chance(256);
			break;
		case 2:
			p[at] = chance(2) ? 0xff : 0;
			break;
		case 3:
			memmove(p + at, p + at + length, size - at - length);
			size -= length;
			break;
		default:
			memmove(p + at + length, p + at, size - at);
			size += length;
			break;
		}
	}
	return size;
}

static void run(const char *path)
{
	static uint8_t bytes[INPUT_MAX];
	FILE *f = fopen(path, "rb");
	size_t size, mutated;
	uint8_t *copy;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	size = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	files++;
	for (unsigned i = 0; i <= times; i++) {
		/* On the heap and no longer than it is, so that reading beyond it is seen. */
		copy = malloc(size + 64);
		if (!copy)
			exit(1);
		memcpy(copy, bytes, size);
		mutated = i ? mutate(copy, size) : size;
		copy = realloc(copy, mutated ? mutated : 1);
		LLVMFuzzerTestOneInput(copy, mutated);
		free(copy);
	}
}

static void run_folder(const char *path)
{
	struct dirent **names;
	char file[4096];
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			snprintf(file, sizeof(file), "%s/%s", path, names[i]->d_name);
			run(file);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-r") && i + 1 < argc)
			times = (unsigned)strtoul(argv[++i], NULL, 10);
		else if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode))
			run_folder(argv[i]);
		else
			run(argv[i]);
	}
	printf("%u files, %u runs\n", files, files * (times + 1));
	if (!files || (fuzz_end && fuzz_end()))
		return 1;
	covers_suite();
	return 0;
}
