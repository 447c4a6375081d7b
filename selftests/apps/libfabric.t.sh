#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# timeout: 120
#
# libfabric over verbs: messages, and reliable datagrams through rxm; connected by librdmacm.
# shellcheck source=selftests/apps/apps.sh
. "$(dirname "$0")/apps.sh"
tap_need fi_pingpong ss
# shellcheck disable=SC2034 # for apps.sh
PORT=47592

lab_up --clear
pair "fi_pingpong, messages" fi_pingpong -p verbs -e msg -I 10
pair "fi_pingpong, reliable datagrams" fi_pingpong -p "verbs;ofi_rxm" -e rdm -I 10
tap_done
