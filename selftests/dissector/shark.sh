# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Sourced by the tests here, after tap.sh and when there is $TMP: tshark with scripts of tools/dissector.

# shark_scripts SCRIPT...: those that shark is to load. Wireshark 4.2 and later run none for root: it becomes
# another user, who can read what is in $TMP.
shark_scripts()
{
	local script

	SHARK=(tshark -n)
	[ "$(id -u)" -ne 0 ] ||
		SHARK=(setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent "${SHARK[@]}")
	chmod 755 "$TMP"
	umask 022
	for script; do
		install -m 644 -t "$TMP" "$TAP_TOP/tools/dissector/$script"
		SHARK+=(-X "lua_script:$TMP/$script")
	done
}

# shark ARGUMENT...: tshark; what it complains of is in $TMP/err.
shark()
{
	"${SHARK[@]}" "$@" 2>"$TMP/err"
}

# What shark complained of, but for the remark about root.
complaints()
{
	grep -v '^Running as user' "$TMP/err"
}
