// SPDX-License-Identifier: BSD-2-Clause
#include "crypto/gcm.h"

const struct gcm_ops *gcm_best(void)
{
	return gcm_ipsec_mb.usable() ? &gcm_ipsec_mb : &gcm_openssl;
}
