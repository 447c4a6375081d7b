#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# falconctl ca: what it makes satisfies another implementation, and is kept as it should be.
# shellcheck disable=SC2317 # functions that tap_run calls
. "$(dirname "$0")/../tap.sh"
tap_need openssl
PATH=$TAP_TOP/build:$PATH
DIR=$(mktemp -d)
trap 'rm -rf "$DIR"' EXIT
CA=$DIR/ca

mode()
{
	stat -c %a "$1"
}

verify()
{
	openssl verify -purpose "$1" -CAfile "$CA/ca.crt" -crl_check -CRLfile "$CA/crl.pem" "$2"
}

not()
{
	! "$@"
}

tap_run "an authority is made" falconctl ca init "$CA"
tap_is "$(mode "$CA") $(mode "$CA/ca.key")" "700 600" "its directory and key are private"
tap_run "folders on the way are made, too" falconctl ca init "$DIR/etc/falcon/ca/"
tap_is "$(mode "$DIR/etc/falcon") $(mode "$DIR/etc/falcon/ca")" "755 700" "and only the last is private"
tap_run "it is not made twice" not falconctl ca init "$CA"
tap_run "a host gets a certificate" falconctl ca issue a.example 192.0.2.1 2001:db8::1 "dir=$CA"
tap_run "another too" falconctl ca issue b 192.0.2.2 days=3 "dir=$CA"
tap_is "$(mode "$CA/b.key")" 600 "a host's key is private"
tap_run "OpenSSL takes it as a client's" verify sslclient "$CA/a.example.crt"
tap_run "and as a server's" verify sslserver "$CA/a.example.crt"
tap_run "it is for its address" openssl x509 -in "$CA/a.example.crt" -noout -checkip 2001:db8::1
tap_is "$(openssl x509 -in "$CA/a.example.crt" -noout -checkip 192.0.2.2)" \
	"IP 192.0.2.2 does NOT match certificate" "and not for another"
tap_run "days= is observed" not openssl x509 -in "$CA/b.crt" -noout -checkend 300000
tap_run "a host's certificate signs nothing" not openssl verify -CAfile "$CA/a.example.crt" "$CA/b.crt"
tap_run "a host is revoked" falconctl ca revoke b "dir=$CA"
tap_run "OpenSSL agrees" not verify sslclient "$CA/b.crt"
tap_run "the other is not" verify sslclient "$CA/a.example.crt"
tap_run "it gets a new certificate" falconctl ca issue b 192.0.2.2 "dir=$CA"
tap_run "that is not revoked" verify sslclient "$CA/b.crt"
tap_is "$(falconctl -j ca show "$CA" | jq -c '[.[] | {host, revoked}]')" \
	'[{"host":"a.example","revoked":false},{"host":"b","revoked":true},{"host":"b","revoked":false}]' \
	"all are on record"
for bad in '../x' 'ca' '' 'a b' -x; do
	tap_run "\"$bad\" is no host" not falconctl ca issue "$bad" 192.0.2.3 "dir=$CA"
done
tap_run "nor 192.0.2 an address" not falconctl ca issue c 192.0.2 "dir=$CA"
tap_run "an unknown host cannot be revoked" not falconctl ca revoke nobody "dir=$CA"
tap_run "without an authority nothing is issued" not falconctl ca issue c "dir=$DIR"

# What a host needs, in one file.
HOST=$DIR/host
BUNDLE=$CA/a.example.pem

# refused WHY COMMAND...: it fails, and says so.
refused()
{
	local why=$1 out

	shift
	! out=$("$@" 2>&1) && grep -q "$why" <<<"$out"
}

# later_than FILE: it was made in an earlier second.
later_than()
{
	[ "$(date +%s)" -gt "$(stat -c %Y "$1")" ]
}

# the_same FILE FILE
the_same()
{
	cmp "$1" "$2"
}

tap_is "$(falconctl ca bundle a.example "dir=$CA")" "$BUNDLE" "all that a host needs is in one file"
tap_is "$(mode "$BUNDLE")" 600 "which is private"
tap_is "$(falconctl ca install "$BUNDLE" "$HOST" | grep -c "^tls_.* = $HOST/")" 4 \
	"on the host it becomes files, and what to put into falcon.conf"
tap_is "$(cd "$HOST" && stat -c '%a %n' -- * | xargs)" "644 ca.crt 644 crl.pem 644 host.crt 600 host.key" \
	"the key alone is private"
for pair in a.example.key:host.key a.example.crt:host.crt ca.crt:ca.crt crl.pem:crl.pem; do
	tap_run "${pair#*:} is the host's" the_same "$CA/${pair%:*}" "$HOST/${pair#*:}"
done
tap_run "it comes by a pipe as well" falconctl ca install - "$DIR/piped" <"$BUNDLE"
tap_run "with the same result" diff -r "$HOST" "$DIR/piped"
tap_run "b is revoked again" falconctl ca revoke b "dir=$CA"
tap_run "so it gets no file" refused "certificate revoked" falconctl ca bundle b "dir=$CA"
tap_run "a list alone is brought up to date" falconctl ca install "$CA/crl.pem" "$HOST"
tap_run "on the host" the_same "$CA/crl.pem" "$HOST/crl.pem"
falconctl ca init "$DIR/other" && falconctl ca issue a.example "dir=$DIR/other" &&
	falconctl ca bundle a.example "dir=$DIR/other" >/dev/null
tap_run "not that of another authority" refused "not the authority's" \
	falconctl ca install "$DIR/other/crl.pem" "$HOST"
cat "$CA/b.key" "$CA/a.example.crt" "$CA/ca.crt" "$CA/crl.pem" >"$DIR/mixed"
tap_run "a key of another host is refused" refused "belong together" falconctl ca install "$DIR/mixed" "$HOST"
cat "$CA/a.example.key" "$CA/a.example.crt" "$DIR/other/ca.crt" "$DIR/other/crl.pem" >"$DIR/mixed"
tap_run "a certificate of another authority, too" refused "issuer" falconctl ca install "$DIR/mixed" "$HOST"
tap_run "two bundles at once, too" refused "more than one" \
	falconctl ca install <(cat "$BUNDLE" "$DIR/other/a.example.pem") "$HOST"
tap_run "half a bundle, too" refused "." falconctl ca install <(head -c 700 "$BUNDLE") "$HOST"
tap_run "a file that is something else, too" refused "no certificate of an authority\|no authority" \
	falconctl ca install "$0" "$DIR/empty"
tap_run "one that is not there, too" refused "No such file" falconctl ca install "$DIR/nothing" "$HOST"
tap_run "and what the host had is as it was" the_same "$CA/a.example.key" "$HOST/host.key"
# Lists know seconds.
tap_wait 5 later_than "$BUNDLE"
tap_run "a later list" falconctl ca revoke a.example "dir=$CA"
tap_run "is taken" falconctl ca install "$CA/crl.pem" "$HOST"
tap_run "after which the older file is not" refused "older than the one that is there" \
	falconctl ca install "$BUNDLE" "$HOST"
tap_done
