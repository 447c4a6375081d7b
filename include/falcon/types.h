/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The base every shared header stands on: fixed-width types, byte order, and the few atomic
 * operations that the BPF programs and the host builds both have.
 *
 * A header in this directory compiles three ways: for BPF (clang -target bpf), for the agent, and
 * for the host builds of the very same receive path that the tests and fuzzers drive.
 */
#ifndef FALCON_TYPES_H
#define FALCON_TYPES_H

#include <linux/types.h>

#ifdef __bpf__
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#define falcon_ntoh16(x) bpf_ntohs(x)
#define falcon_hton16(x) bpf_htons(x)
#define falcon_ntoh32(x) bpf_ntohl(x)
#define falcon_hton32(x) bpf_htonl(x)
#define falcon_ntoh64(x) bpf_be64_to_cpu(x)
#define falcon_hton64(x) bpf_cpu_to_be64(x)
#else
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#define falcon_ntoh16(x) be16toh(x)
#define falcon_hton16(x) htobe16(x)
#define falcon_ntoh32(x) be32toh(x)
#define falcon_hton32(x) htobe32(x)
#define falcon_ntoh64(x) be64toh(x)
#define falcon_hton64(x) htobe64(x)
#endif

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#ifdef __bpf__
#define FALCON_INLINE static __attribute__((always_inline)) inline
#ifndef bool
#define bool _Bool
#define true 1
#define false 0
#endif
#else
#define FALCON_INLINE static inline
#endif

/*
 * Functions in which the verifier would go many ways: in BPF they are not static, so that it looks at each
 * once, for any arguments. Pointers may then be NULL, as far as it knows.
 */
#ifdef __bpf__
#define FALCON_ALONE __attribute__((noinline))
#else
#define FALCON_ALONE static inline
#endif

#define FALCON_PACKED __attribute__((packed))
#define FALCON_CACHE_LINE 64
#define FALCON_ALIGNED __attribute__((aligned(FALCON_CACHE_LINE)))

/*
 * Loads and stores of state that another CPU, or XDP beneath the agent, writes at the same time.
 * A store is a release and a load an acquire on the host; on the BPF side the same instructions on
 * the architectures we support (x86-64, arm64) with the compiler kept from reordering; what needs
 * more order than that goes through the __sync builtins, which are full barriers on both sides.
 */
#ifdef __bpf__
#define falcon_load(p) (*(const volatile __typeof__(*(p)) *)(p))
#define falcon_store(p, v) (*(volatile __typeof__(*(p)) *)(p) = (v))
#else
#define falcon_load(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define falcon_store(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#endif
#define falcon_cas(p, old, new) __sync_val_compare_and_swap((p), (old), (new))
#define falcon_fetch_add(p, v) __sync_fetch_and_add((p), (v))
#define falcon_fetch_or(p, v) __sync_fetch_and_or((p), (v))
#define falcon_fetch_and(p, v) __sync_fetch_and_and((p), (v))

/* Serial number arithmetic modulo 2^32: how far |a| is ahead of |b|; negative if behind. */
FALCON_INLINE __s32 falcon_seq_diff(__u32 a, __u32 b)
{
	return (__s32)(a - b);
}

#endif /* FALCON_TYPES_H */
