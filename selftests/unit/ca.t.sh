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
tap_done
