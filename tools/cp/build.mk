# SPDX-License-Identifier: BSD-2-Clause
$(eval $(call app,falcon-cp,cp))
