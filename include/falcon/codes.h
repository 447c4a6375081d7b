/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Codes that travel in packets or reach the upper layer: Falcon 7.2, 7.6, 7.8 and 11. */
#ifndef FALCON_CODES_H
#define FALCON_CODES_H

#include "types.h"

/* Falcon 7.2, Packet Type; if you add a value, also edit falcon_type_name() and the dissector. */
enum falcon_packet_type {
	FALCON_PULL_REQUEST = 0x0,
	FALCON_PULL_DATA = 0x3,
	FALCON_PUSH_DATA = 0x5,
	FALCON_RESYNC = 0x6,
	FALCON_NACK = 0x8,
	FALCON_BACK = 0x9,
	FALCON_EACK = 0xa,
};

/* Falcon 7.2, Protocol Type. 7 is reserved there; ours for raw transactions, see README.md. */
enum falcon_protocol_type {
	FALCON_PROTO_RDMA = 2,
	FALCON_PROTO_NVME = 3,
	FALCON_PROTO_RAW = 7,
};

/* Falcon 7.6, Resync Code */
enum falcon_resync_code {
	FALCON_RESYNC_TARGET_CIE = 0x1,		/* target ULP complete-in-error */
	FALCON_RESYNC_LOCAL_XLR = 0x2,		/* local xLR flow */
	FALCON_RESYNC_RETX_ERROR = 0x3,		/* packet (exhausting) retransmission error */
	FALCON_RESYNC_TXN_TIMEOUT = 0x4,	/* transaction timed out */
	FALCON_RESYNC_REMOTE_XLR = 0x5,		/* remote xLR flow */
	FALCON_RESYNC_TARGET_NRE = 0x6,		/* target ULP non-recoverable error */
	FALCON_RESYNC_TARGET_CID = 0x7,		/* target ULP invalid CID error */
	FALCON_RESYNC_MAX = FALCON_RESYNC_TARGET_CID,
};

/* Falcon 7.8, NACK Code */
enum falcon_nack_code {
	FALCON_NACK_RESOURCE = 1,	/* request dropped: insufficient resources at the receiver */
	FALCON_NACK_RNR = 2,		/* ULP Receiver Not Ready */
	FALCON_NACK_XLR_DROP = 4,	/* xLR drop indication */
	FALCON_NACK_CIE = 6,		/* ULP complete in error */
	FALCON_NACK_NRE = 7,		/* ULP non-recoverable error */
	FALCON_NACK_INVALID_CID = 8,	/* invalid CID error */
};

/* Falcon 11, completion codes to the ULP (4 bits), named as the specification names them */
enum falcon_completion_code {
	kCmplAck = 0x0,
	kCmplTargetNackCIE = 0x1,
	kCmplTargetNackNRE = 0x3,
	kCmplTargetNackCID = 0x4,
	kCmplLocalTO = 0x8,
	kCmplOpErr = 0x9,
	kCmplDeadConn = 0xA,
	kCmplLocalRsrc = 0xB,
	kUlpCmplCdtErr = 0xC,
	kCmplRemoteErr = 0xD,
	kCmplLocalXlr = 0xF,	/* the initiator's table calls it kCmplXlr */
};

#define FALCON_RNR_TIMEOUTS 32

/*
 * Falcon 7.8, the RNR NACK timeout field. Returns the delay in nanoseconds of |code| (5 bits,
 * higher bits ignored); host only, since only the agent waits.
 */
#ifndef __bpf__
static inline __u64 falcon_rnr_timeout_ns(__u8 code)
{
	static const __u32 hundredth_ms[FALCON_RNR_TIMEOUTS] = {
		65536, 1,    2,	   3,	 4,    6,    8,	   12,	 16,   24,   32,
		48,    64,   96,   128,	 192,  256,  384,  512,	 768,  1024, 1536,
		2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return hundredth_ms[code & (FALCON_RNR_TIMEOUTS - 1)] * 10000ULL;
}

/* The name the specification gives a packet type, "Reserved" for those it reserves. */
static inline const char *falcon_type_name(__u8 type)
{
	switch (type) {
	case FALCON_PULL_REQUEST: return "Pull Request";
	case FALCON_PULL_DATA: return "Pull Data";
	case FALCON_PUSH_DATA: return "Push Data";
	case FALCON_RESYNC: return "Resync";
	case FALCON_NACK: return "NACK";
	case FALCON_BACK: return "BACK";
	case FALCON_EACK: return "EACK";
	default: return "Reserved";
	}
}

/* The specification's name of a completion code, "unknown" for values it does not list. */
static inline const char *falcon_completion_name(__u8 code)
{
	switch (code) {
	case kCmplAck: return "kCmplAck";
	case kCmplTargetNackCIE: return "kCmplTargetNackCIE";
	case kCmplTargetNackNRE: return "kCmplTargetNackNRE";
	case kCmplTargetNackCID: return "kCmplTargetNackCID";
	case kCmplLocalTO: return "kCmplLocalTO";
	case kCmplOpErr: return "kCmplOpErr";
	case kCmplDeadConn: return "kCmplDeadConn";
	case kCmplLocalRsrc: return "kCmplLocalRsrc";
	case kUlpCmplCdtErr: return "kUlpCmplCdtErr";
	case kCmplRemoteErr: return "kCmplRemoteErr";
	case kCmplLocalXlr: return "kCmplLocalXlr";
	default: return "unknown";
	}
}
#endif

#endif /* FALCON_CODES_H */
