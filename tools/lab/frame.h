/* SPDX-License-Identifier: BSD-2-Clause */
/* The little that the link emulator has to know about what is inside a frame. */
#ifndef FALCON_LAB_FRAME_H
#define FALCON_LAB_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which of several paths the frame takes: a hash over addresses, protocol and UDP or TCP ports (or
 * IPv6 flow label), equal for all packets of a flow. 0 for what is not IP.
 */
uint32_t frame_flow_hash(const uint8_t *frame, size_t len);

/* Set CE, if the packet is IPv4 or IPv6 and says that it understands ECN. Returns whether it did. */
bool frame_mark_ce(uint8_t *frame, size_t len);

#endif /* FALCON_LAB_FRAME_H */
