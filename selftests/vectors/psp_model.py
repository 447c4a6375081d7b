#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""PSP written a second time, from the rules alone, to make random cases for falcon-psp.

psp_model.py DIR COUNT SEED writes COUNT cases and prints the number of their clear packets. It
shares nothing with user/crypto but AES, which both have from libcrypto.
"""
import ctypes
import ctypes.util
import json
import os
import random
import struct
import sys

CRYPTO = ctypes.CDLL(ctypes.util.find_library("crypto"))
for name in ("EVP_CIPHER_CTX_new", "EVP_aes_128_gcm", "EVP_aes_256_gcm", "EVP_aes_256_cbc",
             "CMAC_CTX_new"):
    getattr(CRYPTO, name).restype = ctypes.c_void_p
GET_TAG = 0x10          # EVP_CTRL_AEAD_GET_TAG
TCP, UDP, ICMP, GRE, SCTP = 6, 17, 1, 47, 132


def ok(result):
    if result != 1:
        sys.exit("psp_model: libcrypto failed")


def gcm(key, nonce, aad, text):
    """Ciphertext and tag."""
    cipher = CRYPTO.EVP_aes_128_gcm() if len(key) == 16 else CRYPTO.EVP_aes_256_gcm()
    ctx = ctypes.c_void_p(CRYPTO.EVP_CIPHER_CTX_new())
    n = ctypes.c_int()
    out, rest, tag = (ctypes.create_string_buffer(len(text) + 16) for _ in range(3))
    ok(CRYPTO.EVP_EncryptInit_ex(ctx, ctypes.c_void_p(cipher), None, key, nonce))
    ok(CRYPTO.EVP_EncryptUpdate(ctx, None, ctypes.byref(n), aad, len(aad)))
    if text:
        ok(CRYPTO.EVP_EncryptUpdate(ctx, out, ctypes.byref(n), text, len(text)))
    ok(CRYPTO.EVP_EncryptFinal_ex(ctx, rest, ctypes.byref(n)))
    ok(CRYPTO.EVP_CIPHER_CTX_ctrl(ctx, GET_TAG, 16, tag))
    CRYPTO.EVP_CIPHER_CTX_free(ctx)
    return out.raw[:len(text)] + tag.raw[:16]


def cmac(key, text):
    ctx = ctypes.c_void_p(CRYPTO.CMAC_CTX_new())
    out = ctypes.create_string_buffer(16)
    n = ctypes.c_size_t()
    ok(CRYPTO.CMAC_Init(ctx, key, ctypes.c_size_t(len(key)),
                        ctypes.c_void_p(CRYPTO.EVP_aes_256_cbc()), None))
    ok(CRYPTO.CMAC_Update(ctx, text, ctypes.c_size_t(len(text))))
    ok(CRYPTO.CMAC_Final(ctx, out, ctypes.byref(n)))
    CRYPTO.CMAC_CTX_free(ctx)
    return out.raw


def derive(masters, spi, version):
    tail = b"Pv%d\0" % version + struct.pack(">II", spi, 128 << version)
    return b"".join(cmac(masters[spi >> 31], struct.pack(">I", i + 1) + tail)
                    for i in range(1 + version))


def ip_header(header, length, proto):
    """The header with length of the whole packet and protocol set, IPv4's checksum made good."""
    h = bytearray(header)
    if h[0] >> 4 == 6:
        h[4:7] = struct.pack(">HB", length - 40, proto)
        return bytes(h)
    h[2:4] = struct.pack(">H", length)
    h[9:12] = struct.pack(">BH", proto, 0)
    total = sum(struct.unpack(">%dH" % (len(h) // 2), h))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    h[10:12] = struct.pack(">H", 0xffff - total)
    return bytes(h)


class Case:
    def __init__(self, rng):
        self.rng = rng
        self.ipv6, self.tunnel, self.vc = (rng.random() < 0.5 for _ in range(3))
        self.version = rng.randrange(2)
        self.offset = rng.choice([0, 1, 2, 3, 63, rng.randrange(64)])
        self.spi = rng.choice([1, 0x7fffffff, 0x80000000, 0xffffffff, rng.getrandbits(32)])
        self.masters = [self.some(32), self.some(32)]
        self.key = derive(self.masters, self.spi, self.version)
        self.error = rng.random() < 0.15
        self.iv = rng.choice([1, 1, rng.getrandbits(40)])

    def some(self, n):
        return bytes(self.rng.getrandbits(8) for _ in range(n))

    def clear_frame(self):
        n = self.rng.choice([0, 0, 1, 2, 3, 7, 15, 16, 17, 64, 100, 251, 1371,
                             self.rng.randrange(8800)])
        proto = self.rng.choice([TCP, UDP, UDP, ICMP, GRE, SCTP])
        l4 = self.some((20 if proto == TCP else 8) + n)
        if self.rng.random() < 0.05:
            return self.some(12) + b"\x08\x06" + self.some(28)
        if self.ipv6:
            first = struct.pack(">I", 6 << 28 | self.rng.getrandbits(28))
            header = ip_header(first + self.some(36), 40 + len(l4), proto)
            return self.some(12) + b"\x86\xdd" + header + l4
        words = 5 + self.rng.choice([0, 0, 0, self.rng.randrange(11)])
        header = bytes([4 << 4 | words]) + self.some(words * 4 - 1)
        return self.some(12) + b"\x08\x00" + ip_header(header, words * 4 + len(l4), proto) + l4

    def sealed_frame(self, frame):
        """None for a frame that is left out."""
        ip = frame[14:]
        if frame[12:14] == b"\x08\x06":
            return None
        length, proto = (40, ip[6]) if self.ipv6 else ((ip[0] & 15) * 4, ip[9])
        l4 = ip[length:]
        if self.tunnel:
            data, following = ip, 41 if self.ipv6 else 4
            outer = ip[:40] if self.ipv6 else b"\x45" + ip[1:20]
        else:
            data, following, outer = l4, proto, ip[:length]
        if (not self.tunnel and self.ipv6 and proto not in (TCP, UDP)) or \
                self.offset * 4 > len(data):
            return None
        packet = struct.pack(">BBBBIQ", following, 1 + self.vc, self.offset,
                             self.version << 2 | self.vc << 1 | 1, self.spi, self.iv)
        nonce = packet[4:16]
        packet += bytes(8 * self.vc) + data
        self.iv += 1
        clear = 16 + self.offset * 4
        packet = packet[:clear] + gcm(self.key, nonce, packet[:clear], packet[clear:])
        if self.error:
            packet = packet[:2] + bytes([packet[2] | 0x80]) + packet[3:]
        source, dest = struct.unpack(">HH", l4[:4])
        udp = struct.pack(">HHHH", source ^ dest if proto in (TCP, UDP) else 1000, 1000,
                          8 + len(packet), 0)
        outer = ip_header(outer, len(outer) + 8 + len(packet), UDP)
        return frame[:14] + outer + udp + packet

    def offsets(self):
        """For the three modes; the two that do not count must not matter."""
        used = 0 if not self.tunnel else 2 if self.ipv6 else 1
        return [self.offset if i == used else self.rng.randrange(64) for i in range(3)]


def write_pcap(path, frames):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for frame in frames:
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def write_case(path, case):
    """Returns the number of clear packets."""
    first = case.iv
    clear = [case.clear_frame() for _ in range(case.rng.randrange(1, 12))]
    sealed = [s for s in map(case.sealed_frame, clear) if s]
    os.mkdir(path)
    write_pcap(os.path.join(path, "cleartext.pcap"), clear)
    write_pcap(os.path.join(path, "encrypted.pcap"), sealed)
    keys = "".join(m.hex(" ") + "\n" for m in case.masters)
    with open(os.path.join(path, "decrypt.cfg"), "w") as f:
        f.write(keys)
    with open(os.path.join(path, "encrypt.cfg"), "w") as f:
        print("%s%08X" % (keys, case.spi), "tunnel" if case.tunnel else "transport",
              "aes-gcm-%d" % (128 << case.version), *case.offsets(),
              "vc" if case.vc else "no-vc", sep="\n", file=f)
    with open(os.path.join(path, "case.json"), "w") as f:
        json.dump({"forced_bit_error": case.error, "first_iv": first,
                   "derived_key": case.key.hex(), "cleartext_packets": len(clear),
                   "encrypted_packets": len(sealed),
                   "skipped_packets": len(clear) - len(sealed)}, f)
    return len(clear)


def main():
    rng = random.Random(int(sys.argv[3]))
    print(sum(write_case(os.path.join(sys.argv[1], "case-%04d" % i), Case(rng))
              for i in range(int(sys.argv[2]))))


main()
