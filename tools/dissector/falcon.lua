-- SPDX-License-Identifier: BSD-2-Clause
-- Wireshark and tshark dissector for PSP (UDP port 1000), Falcon 0.9 and raw transactions. RDMA over Falcon
-- is in falcon_rdma.lua, NVMe over Falcon in falcon_nvme.lua.
--
--	tshark -X lua_script:falcon.lua -r capture.pcap
--	wireshark -X lua_script:falcon.lua, or copy it to ~/.local/lib/wireshark/plugins/
--
-- Filters: falcon.type, falcon.cid, falcon.psn, falcon_psp.spi, falcon_raw.op, ...; what breaks the
-- specification is marked by an expert item (filter falcon.malformed, falcon_psp.malformed).
--
-- Sections are those of the Falcon 0.9 specification. Dissectors of further upper layers attach themselves
-- to the table "falcon.proto" under their protocol type (7.2).

local PSP_PORT, ESP_PORT = 1000, 4500
local NEXT_FALCON, NEXT_IPV4, NEXT_IPV6 = 252, 4, 41
local PSP_LEN, VC_LEN, ICV_LEN = 16, 8, 16
local ESP_LEN = 16		-- SPI, sequence number, IV
local PSP_VERSION_MAX, PSP_CLEAR = 3, 15
local TIME_SHIFT = 17		-- T1 = IV >> 17, units of 131.072 ns (7.7.1)

local PULL_REQUEST, PULL_DATA, PUSH_DATA, RESYNC, NACK, BACK, EACK = 0, 3, 5, 6, 8, 9, 10

local type_names = {
	[PULL_REQUEST] = "Pull Request", [PULL_DATA] = "Pull Data", [PUSH_DATA] = "Push Data",
	[RESYNC] = "Resync", [NACK] = "NACK", [BACK] = "BACK", [EACK] = "EACK",
}
local header_len = {
	[PULL_REQUEST] = 32, [PULL_DATA] = 24, [PUSH_DATA] = 28, [RESYNC] = 32,
	[NACK] = 40, [BACK] = 32, [EACK] = 72,
}
local proto_names = { [2] = "RDMA", [3] = "NVMe", [7] = "raw" }
local resync_names = {
	[1] = "Target ULP complete-in-error", [2] = "Local xLR flow",
	[3] = "Packet (exhausting) Retransmission Error", [4] = "Transaction timed out",
	[5] = "Remote xLR flow", [6] = "Target ULP non-recoverable error",
	[7] = "Target ULP invalid CID error",
}
local nack_names = {
	[1] = "Insufficient resources", [2] = "ULP Receiver Not Ready", [4] = "xLR drop",
	[6] = "ULP complete in error", [7] = "ULP non-recoverable error", [8] = "Invalid CID",
}
local psp_versions = {
	[0] = "AES-GCM-128", [1] = "AES-GCM-256", [2] = "GMAC-128", [3] = "GMAC-256",
	[PSP_CLEAR] = "clear",
}
local raw_ops = { [1] = "PUT", [2] = "GET", [3] = "SEND" }

-- 7.8, RNR NACK Timeout in milliseconds; 0 stands for the longest.
local rnr_ms = { [0] = "655.36" }
do
	local first = { 0.01, 0.02, 0.03 }
	for code = 1, 31 do
		local v = first[code]
		if not v then
			-- From 0.04 on, each pair of values is twice the pair before.
			v = (code % 2 == 0 and 0.04 or 0.06) * 2 ^ math.floor((code - 4) / 2)
		end
		rnr_ms[code] = string.format("%.2f", v)
	end
end
local rnr_names = {}
for code, ms in pairs(rnr_ms) do
	rnr_names[code] = ms .. " ms"
end

---------------------------------------------------------------------------------------------------
-- PSP

local psp = Proto("falcon_psp", "PSP Security Protocol")
local pf = {
	next = ProtoField.uint8("falcon_psp.next_header", "Next header", base.DEC,
		{ [NEXT_FALCON] = "Falcon", [NEXT_IPV4] = "IPv4", [NEXT_IPV6] = "IPv6" }),
	ext_len = ProtoField.uint8("falcon_psp.hdr_ext_len", "Header extension length", base.DEC),
	reserved = ProtoField.uint8("falcon_psp.reserved", "Reserved", base.HEX, nil, 0xc0),
	crypt_offset = ProtoField.uint8("falcon_psp.crypt_offset", "Crypt offset (4-byte units)",
		base.DEC, nil, 0x3f),
	sample = ProtoField.uint8("falcon_psp.sample", "Sample at receiver", base.DEC, nil, 0x80),
	drop = ProtoField.uint8("falcon_psp.drop", "Drop after trace", base.DEC, nil, 0x40),
	version = ProtoField.uint8("falcon_psp.version", "Version", base.DEC, psp_versions, 0x3c),
	vc = ProtoField.uint8("falcon_psp.vc_present", "Virtualization cookie", base.DEC,
		{ [0] = "absent", [1] = "present" }, 0x02),
	one = ProtoField.uint8("falcon_psp.one", "Always 1", base.DEC, nil, 0x01),
	spi = ProtoField.uint32("falcon_psp.spi", "SPI", base.HEX),
	iv = ProtoField.uint64("falcon_psp.iv", "IV (ps)", base.DEC),
	t1 = ProtoField.uint32("falcon_psp.t1", "T1 (131.072 ns units)", base.DEC),
	cookie = ProtoField.uint64("falcon_psp.vc", "Virtualization cookie", base.HEX),
	encrypted = ProtoField.bytes("falcon_psp.encrypted", "Encrypted data"),
	icv = ProtoField.bytes("falcon_psp.icv", "ICV"),
}
psp.fields = pf
local pe = {
	malformed = ProtoExpert.new("falcon_psp.malformed", "Malformed PSP packet",
		expert.group.MALFORMED, expert.severity.ERROR),
	reserved = ProtoExpert.new("falcon_psp.reserved_set", "Reserved PSP bits are set",
		expert.group.PROTOCOL, expert.severity.WARN),
	checksum = ProtoExpert.new("falcon_psp.no_checksum",
		"Clear packet without UDP checksum: receivers refuse it",
		expert.group.PROTOCOL, expert.severity.WARN),
}
psp.experts = pe

local udp_checksum = Field.new("udp.checksum")
local falcon = Proto("falcon", "Falcon Transport Protocol")
local falcon_cid_only

local function psp_header(tvb, tree)
	local versions = tvb(3, 1)

	tree:add(pf.next, tvb(0, 1))
	tree:add(pf.ext_len, tvb(1, 1))
	tree:add(pf.reserved, tvb(2, 1))
	tree:add(pf.crypt_offset, tvb(2, 1))
	tree:add(pf.sample, versions)
	tree:add(pf.drop, versions)
	tree:add(pf.version, versions)
	tree:add(pf.vc, versions)
	tree:add(pf.one, versions)
	tree:add(pf.spi, tvb(4, 4))
	tree:add(pf.iv, tvb(8, 8))
	tree:add(pf.t1, tvb(8, 8), tvb(8, 8):uint64():rshift(TIME_SHIFT):lower()):set_generated()
end

-- What the header alone can have wrong. Returns true if the rest can be made sense of.
local function psp_check(tvb, tree, version, vc)
	local ok = true
	local function bad(why)
		tree:add_proto_expert_info(pe.malformed, why)
		ok = false
	end

	if tvb(3, 1):bitfield(7, 1) == 0 then
		bad("The lowest bit of byte 3 must be 1")
	end
	if tvb(1, 1):uint() ~= (vc and 2 or 1) then
		bad("Header extension length contradicts the cookie bit")
	end
	if version > PSP_VERSION_MAX and version ~= PSP_CLEAR then
		bad("Unknown PSP version")
	end
	if tvb(2, 1):bitfield(0, 2) ~= 0 then
		tree:add_proto_expert_info(pe.reserved)
	end
	return ok
end

local function psp_payload(tvb, pinfo, tree, next_header)
	if next_header == NEXT_FALCON then
		falcon.dissector:call(tvb, pinfo, tree)
	elseif next_header == NEXT_IPV4 then
		Dissector.get("ip"):call(tvb, pinfo, tree)
	elseif next_header == NEXT_IPV6 then
		Dissector.get("ipv6"):call(tvb, pinfo, tree)
	elseif tvb:len() > 0 then
		Dissector.get("data"):call(tvb, pinfo, tree)
	end
end

-- An encrypted packet shows what its crypt offset leaves in the clear: with Falcon, the CID.
local function psp_encrypted(tvb, pinfo, tree, subtree, first, last, next_header)
	local clear = PSP_LEN + tvb(2, 1):bitfield(2, 6) * 4
	local from = math.max(math.min(clear, last), PSP_LEN)

	if next_header == NEXT_FALCON and clear >= first + 4 and last >= first + 4 then
		falcon_cid_only(tvb(first, 4):tvb(), pinfo, tree)
	else
		pinfo.cols.info:set("Encrypted")
	end
	if last > from then
		subtree:add(pf.encrypted, tvb(from, last - from))
	end
end

function psp.dissector(tvb, pinfo, tree)
	local version, vc, first, last, whole, subtree

	if tvb:len() < PSP_LEN then
		return 0
	end
	pinfo.cols.protocol:set("PSP")
	version = tvb(3, 1):bitfield(2, 4)
	vc = tvb(3, 1):bitfield(6, 1) == 1
	first = PSP_LEN + (vc and VC_LEN or 0)
	last = tvb:len()
	subtree = tree:add(psp, tvb(0, math.min(first, last)))
	psp_header(tvb, subtree)
	if not psp_check(tvb, subtree, version, vc) then
		return last
	end
	-- A capture cut by its snapshot length has lost the ICV, whole or in part.
	whole = last == tvb:reported_len()
	if version ~= PSP_CLEAR and whole then
		last = last - ICV_LEN
	end
	if last < first then
		subtree:add_proto_expert_info(pe.malformed, "Too short for cookie and ICV")
		return tvb:len()
	end
	-- The cookie lies inside the area that the crypt offset counts.
	if vc and (version >= 2 or tvb(2, 1):bitfield(2, 6) * 4 >= VC_LEN) then
		subtree:add(pf.cookie, tvb(PSP_LEN, VC_LEN))
	end
	if version ~= PSP_CLEAR and whole then
		subtree:add(pf.icv, tvb(last, ICV_LEN))
	elseif version == PSP_CLEAR and udp_checksum() and udp_checksum().value == 0 then
		subtree:add_proto_expert_info(pe.checksum)
	end
	if version < 2 then
		psp_encrypted(tvb, pinfo, tree, subtree, first, last, tvb(0, 1):uint())
	elseif last > first then
		psp_payload(tvb(first, last - first):tvb(), pinfo, tree, tvb(0, 1):uint())
	else
		subtree:add_proto_expert_info(pe.malformed, "Nothing after the PSP header")
	end
	return tvb:len()
end

---------------------------------------------------------------------------------------------------
-- Falcon

local f = {
	-- 7.2
	version = ProtoField.uint32("falcon.version", "Version", base.DEC, nil, 0xf0000000),
	reserved0 = ProtoField.uint32("falcon.reserved0", "Reserved", base.HEX, nil, 0x0f000000),
	cid = ProtoField.uint32("falcon.cid", "Destination CID", base.HEX_DEC, nil, 0x00ffffff),
	func = ProtoField.uint32("falcon.function", "Destination Function", base.HEX, nil,
		0xffffff00),
	proto = ProtoField.uint32("falcon.proto", "Protocol Type", base.DEC, proto_names,
		0x000000e0),
	type = ProtoField.uint32("falcon.type", "Packet Type", base.DEC, type_names, 0x0000001e),
	ar = ProtoField.uint32("falcon.ar", "Ack Req", base.DEC, nil, 0x00000001),
	rdbpsn = ProtoField.uint32("falcon.rdbpsn", "Receiver Data Window Base PSN", base.DEC),
	rrbpsn = ProtoField.uint32("falcon.rrbpsn", "Receiver Request Window Base PSN", base.DEC),
	psn = ProtoField.uint32("falcon.psn", "Packet Sequence Number", base.DEC),
	rsn = ProtoField.uint32("falcon.rsn", "Request Sequence Number", base.DEC),
	-- 7.3 to 7.6
	reserved = ProtoField.bytes("falcon.reserved", "Reserved"),
	request_len = ProtoField.uint16("falcon.request_len", "Request Length", base.DEC),
	resync_code = ProtoField.uint8("falcon.resync.code", "Resync Code", base.DEC, resync_names),
	resync_type = ProtoField.uint8("falcon.resync.type", "Resync Packet Type", base.DEC,
		type_names, 0xf0),
	vendor = ProtoField.uint32("falcon.resync.vendor", "Vendor Defined", base.HEX),
	-- 7.7 and 7.8
	reserved1 = ProtoField.uint32("falcon.reserved1", "Reserved", base.HEX, nil, 0xffffffe1),
	t1 = ProtoField.uint32("falcon.t1", "Timestamp t1 (131.072 ns units)", base.DEC),
	t2 = ProtoField.uint32("falcon.t2", "Timestamp t2 (131.072 ns units)", base.DEC),
	hops = ProtoField.uint32("falcon.hops", "Hop Count", base.DEC, nil, 0xf0000000),
	buffer = ProtoField.uint32("falcon.rx_buffer", "Rx Buffer Occupancy", base.DEC, nil,
		0x0f800000),
	ecn = ProtoField.uint32("falcon.ecn", "ECN Rx Packet Count", base.DEC, nil, 0x007ffe00),
	reserved6 = ProtoField.uint32("falcon.reserved6", "Reserved", base.HEX, nil, 0x000001ff),
	reserved7 = ProtoField.uint32("falcon.reserved7", "Reserved", base.HEX, nil, 0xff000000),
	rue_info = ProtoField.uint32("falcon.rue_info", "RUE Info", base.HEX, nil, 0x00fffffc),
	own_data = ProtoField.uint32("falcon.own.data", "Out of Window: Data", base.DEC, nil, 2),
	own_req = ProtoField.uint32("falcon.own.request", "Out of Window: Request", base.DEC, nil, 1),
	data_ack = ProtoField.bytes("falcon.eack.data_ack", "Data ACK Bitmap"),
	data_rx = ProtoField.bytes("falcon.eack.data_rx", "Data Rx Bitmap"),
	req = ProtoField.bytes("falcon.eack.request", "Request Bitmap"),
	nack_rue_info = ProtoField.uint32("falcon.nack.rue_info", "RUE Info", base.HEX, nil,
		0x00ffffff),
	nack_psn = ProtoField.uint32("falcon.nack.psn", "NACK PSN", base.DEC),
	nack_code = ProtoField.uint8("falcon.nack.code", "NACK Code", base.DEC, nack_names),
	reserved9 = ProtoField.uint8("falcon.reserved9", "Reserved", base.HEX, nil, 0xe0),
	rnr = ProtoField.uint8("falcon.nack.rnr_timeout", "RNR NACK Timeout", base.DEC, rnr_names,
		0x1f),
	window = ProtoField.uint8("falcon.nack.window", "Window", base.DEC,
		{ [0] = "data", [1] = "request" }, 0x80),
	reserved10 = ProtoField.uint8("falcon.reserved10", "Reserved", base.HEX, nil, 0x7f),
	ulp_code = ProtoField.uint8("falcon.nack.ulp_code", "ULP NACK Code", base.DEC),
}
falcon.fields = f
local e = {
	malformed = ProtoExpert.new("falcon.malformed", "Malformed Falcon packet",
		expert.group.MALFORMED, expert.severity.ERROR),
	reserved = ProtoExpert.new("falcon.reserved_set", "Reserved bits are set",
		expert.group.PROTOCOL, expert.severity.WARN),
	reserved_code = ProtoExpert.new("falcon.reserved_code", "Reserved value",
		expert.group.PROTOCOL, expert.severity.ERROR),
}
falcon.experts = e

local ulps = DissectorTable.new("falcon.proto", "Falcon protocol type", ftypes.UINT8, base.DEC,
	falcon)

-- Add |field| over |range|; an expert item if the bits it covers, all reserved, are not zero.
local function add_reserved(tree, field, range, mask)
	tree:add(field, range)
	if bit.band(range:uint(), mask) ~= 0 then
		tree:add_proto_expert_info(e.reserved)
	end
end

-- Add |field|; an expert item unless its value |v| is a key of |names|.
local function add_code(tree, field, range, v, names)
	local item = tree:add(field, range)

	if not names[v] then
		item:add_proto_expert_info(e.reserved_code)
	end
end

local function info(pinfo, cid, type, text)
	pinfo.cols.protocol:set("Falcon")
	pinfo.cols.info:set(string.format("%s CID 0x%06x %s", type_names[type], cid, text))
end

-- The PSNs of a bitmap as "301-303 305"; bit 0, in the last byte, is |first| (7.7.2).
local function bitmap_text(range, first)
	local list, bits, from = {}, range:len() * 8, nil
	local function psn(i)
		return string.format("%.0f", (first + i) % 2 ^ 32)
	end

	for i = 0, bits do
		local set = i < bits and range:bitfield(bits - 1 - i, 1) == 1
		if set and not from then
			from = i
		elseif from and not set then
			list[#list + 1] = psn(from) .. (i - 1 > from and "-" .. psn(i - 1) or "")
			from = nil
		end
	end
	return #list > 0 and table.concat(list, " ") or "none"
end

local function add_bitmap(tree, field, range, first)
	tree:add(field, range):append_text(" (PSN " .. bitmap_text(range, first) .. ")")
end

-- Words 0 and 1, which ACKs share with the base header as far as version and type go.
local function word0(tvb, tree)
	local item = tree:add(f.version, tvb(0, 4))

	if tvb(0, 1):bitfield(0, 4) ~= 1 then
		item:add_proto_expert_info(e.malformed, "Version is not 1")
	end
	add_reserved(tree, f.reserved0, tvb(0, 4), 0x0f000000)
	tree:add(f.cid, tvb(0, 4))
end

local function base_header(tvb, tree)
	word0(tvb, tree)
	tree:add(f.func, tvb(4, 4))
	add_code(tree, f.proto, tvb(4, 4), tvb(7, 1):bitfield(0, 3), proto_names)
	add_code(tree, f.type, tvb(4, 4), tvb(7, 1):bitfield(3, 4), type_names)
	tree:add(f.ar, tvb(4, 4))
	tree:add(f.rdbpsn, tvb(8, 4))
	tree:add(f.rrbpsn, tvb(12, 4))
	tree:add(f.psn, tvb(16, 4))
	tree:add(f.rsn, tvb(20, 4))
end

local function base_info(tvb, pinfo, type, text)
	info(pinfo, tvb(1, 3):uint(), type, string.format("PSN %u RSN %u%s%s", tvb(16, 4):uint(),
		tvb(20, 4):uint(), tvb(7, 1):bitfield(7, 1) == 1 and " [AR]" or "", text))
end

local dissect = {}

dissect[PULL_REQUEST] = function(tvb, pinfo, tree)
	base_header(tvb, tree)
	add_reserved(tree, f.reserved, tvb(24, 2), 0xffff)
	tree:add(f.request_len, tvb(26, 2))
	add_reserved(tree, f.reserved, tvb(28, 4), 0xffffffff)
	base_info(tvb, pinfo, PULL_REQUEST, string.format(" Request Length %u", tvb(26, 2):uint()))
end

dissect[PULL_DATA] = function(tvb, pinfo, tree)
	base_header(tvb, tree)
	base_info(tvb, pinfo, PULL_DATA, string.format(" Len %u", tvb:len() - 24))
end

dissect[PUSH_DATA] = function(tvb, pinfo, tree)
	local item

	base_header(tvb, tree)
	add_reserved(tree, f.reserved, tvb(24, 2), 0xffff)
	item = tree:add(f.request_len, tvb(26, 2))
	if tvb(26, 2):uint() ~= tvb:reported_len() - 28 then
		item:add_proto_expert_info(e.malformed, "Request Length contradicts the payload")
	end
	base_info(tvb, pinfo, PUSH_DATA, string.format(" Len %u", tvb:len() - 28))
end

dissect[RESYNC] = function(tvb, pinfo, tree)
	local code, type = tvb(24, 1):uint(), tvb(25, 1):bitfield(0, 4)

	base_header(tvb, tree)
	add_code(tree, f.resync_code, tvb(24, 1), code, resync_names)
	add_code(tree, f.resync_type, tvb(25, 1), type,
		{ [PULL_REQUEST] = true, [PULL_DATA] = true, [PUSH_DATA] = true })
	add_reserved(tree, f.reserved, tvb(25, 3), 0x0fffff)
	tree:add(f.vendor, tvb(28, 4))
	base_info(tvb, pinfo, RESYNC, string.format(" of %s: %s", type_names[type] or "reserved",
		resync_names[code] or "reserved"))
end

-- 7.7.1 up to the middle of word 7
local function ack_header(tvb, tree)
	word0(tvb, tree)
	add_reserved(tree, f.reserved1, tvb(4, 4), 0xffffffe1)
	tree:add(f.type, tvb(4, 4))
	tree:add(f.rdbpsn, tvb(8, 4))
	tree:add(f.rrbpsn, tvb(12, 4))
	tree:add(f.t1, tvb(16, 4))
	tree:add(f.t2, tvb(20, 4))
	tree:add(f.hops, tvb(24, 4))
	tree:add(f.buffer, tvb(24, 4))
	tree:add(f.ecn, tvb(24, 4))
	add_reserved(tree, f.reserved6, tvb(24, 4), 0x1ff)
	add_reserved(tree, f.reserved7, tvb(28, 4), 0xff000000)
end

local function ack_info(tvb, pinfo, type, text)
	local own = tvb(31, 1):bitfield(6, 2)

	if type ~= NACK and own ~= 0 then
		text = text .. " OWN" .. (bit.band(own, 1) ~= 0 and " request" or "") ..
			(bit.band(own, 2) ~= 0 and " data" or "")
	end
	info(pinfo, tvb(1, 3):uint(), type, string.format("Data %u Request %u%s",
		tvb(8, 4):uint(), tvb(12, 4):uint(), text))
end

dissect[BACK] = function(tvb, pinfo, tree, type)
	ack_header(tvb, tree)
	tree:add(f.rue_info, tvb(28, 4))
	tree:add(f.own_data, tvb(28, 4))
	tree:add(f.own_req, tvb(28, 4))
	ack_info(tvb, pinfo, type, "")
end

dissect[EACK] = function(tvb, pinfo, tree)
	dissect[BACK](tvb, pinfo, tree, EACK)
	add_bitmap(tree, f.data_ack, tvb(32, 16), tvb(8, 4):uint())
	add_bitmap(tree, f.data_rx, tvb(48, 16), tvb(8, 4):uint())
	add_bitmap(tree, f.req, tvb(64, 8), tvb(12, 4):uint())
	ack_info(tvb, pinfo, EACK, " Rx " .. bitmap_text(tvb(48, 16), tvb(8, 4):uint()))
end

dissect[NACK] = function(tvb, pinfo, tree)
	local code = tvb(36, 1):uint()

	ack_header(tvb, tree)
	tree:add(f.nack_rue_info, tvb(28, 4))
	tree:add(f.nack_psn, tvb(32, 4))
	add_code(tree, f.nack_code, tvb(36, 1), code, nack_names)
	add_reserved(tree, f.reserved9, tvb(37, 1), 0xe0)
	tree:add(f.rnr, tvb(37, 1))
	tree:add(f.window, tvb(38, 1))
	add_reserved(tree, f.reserved10, tvb(38, 1), 0x7f)
	tree:add(f.ulp_code, tvb(39, 1))
	ack_info(tvb, pinfo, NACK, string.format(" %s PSN %u: %s%s",
		tvb(38, 1):bitfield(0, 1) == 1 and "request" or "data", tvb(32, 4):uint(),
		nack_names[code] or "reserved",
		code == 2 and " " .. rnr_names[tvb(37, 1):bitfield(3, 5)] or ""))
end

-- The upper layer's part: by protocol type, told the Falcon packet type, else plain data.
local function ulp(tvb, pinfo, tree, type, proto)
	pinfo.private["falcon_type"] = tostring(type)
	if not ulps:get_dissector(proto) or ulps:try(proto, tvb, pinfo, tree) == 0 then
		Dissector.get("data"):call(tvb, pinfo, tree)
	end
end

function falcon.dissector(tvb, pinfo, tree)
	local len = tvb:len()
	local subtree, type, hdr

	pinfo.cols.protocol:set("Falcon")
	if len < 8 then
		tree:add(falcon, tvb()):add_proto_expert_info(e.malformed, "No room for a header")
		return len
	end
	type = tvb(7, 1):bitfield(3, 4)
	hdr = header_len[type]
	subtree = tree:add(falcon, tvb(0, math.min(len, hdr or len)))
	subtree:append_text(", " .. (type_names[type] or "reserved type " .. type))
	if not hdr or len < hdr then
		word0(tvb, subtree)
		subtree:add(f.type, tvb(4, 4))
		subtree:add_proto_expert_info(e.malformed,
			hdr and "Shorter than its type's header" or "Reserved packet type")
		pinfo.cols.info:set(hdr and "Truncated " .. type_names[type] or
			"Reserved packet type " .. type)
		return len
	end
	dissect[type](tvb, pinfo, subtree, type)
	if len > hdr and (type == PULL_REQUEST or type == PULL_DATA or type == PUSH_DATA) then
		ulp(tvb(hdr):tvb(), pinfo, tree, type, tvb(7, 1):bitfield(0, 3))
	elseif len > hdr then
		subtree:add_proto_expert_info(e.malformed, "Bytes after the end of the packet")
	end
	return len
end

-- Of an encrypted packet: the one word that is in the clear.
function falcon_cid_only(tvb, pinfo, tree)
	local subtree = tree:add(falcon, tvb(), "Falcon Transport Protocol, encrypted")

	word0(tvb, subtree)
	pinfo.cols.protocol:set("Falcon")
	pinfo.cols.info:set(string.format("Encrypted CID 0x%06x", tvb(1, 3):uint()))
end

---------------------------------------------------------------------------------------------------
-- Raw transactions (include/falcon/raw.h)

local raw = Proto("falcon_raw", "Falcon Raw Transaction")
local rf = {
	op = ProtoField.uint8("falcon_raw.op", "Operation", base.DEC, raw_ops),
	flags = ProtoField.uint8("falcon_raw.flags", "Flags", base.HEX),
	dst = ProtoField.uint16("falcon_raw.dst_service", "Destination service", base.DEC),
	src = ProtoField.uint16("falcon_raw.src_service", "Source service", base.DEC),
	reserved = ProtoField.uint16("falcon_raw.reserved", "Reserved", base.HEX),
	offset = ProtoField.uint64("falcon_raw.offset", "Offset or tag", base.HEX_DEC),
	data = ProtoField.bytes("falcon_raw.data", "Data"),
}
raw.fields = rf
local re = {
	malformed = ProtoExpert.new("falcon_raw.malformed", "Malformed raw transaction",
		expert.group.MALFORMED, expert.severity.ERROR),
}
raw.experts = re

local RAW_LEN = 16
local RAW_GET = 2

local function raw_header(tvb, pinfo, tree, type)
	local op = tvb(0, 1):uint()
	local item = tree:add(rf.op, tvb(0, 1))

	-- A GET is pulled, the others are pushed.
	if not raw_ops[op] or (op == RAW_GET) ~= (type == PULL_REQUEST) then
		item:add_proto_expert_info(re.malformed, "Operation not known in this packet type")
	end
	tree:add(rf.flags, tvb(1, 1))
	tree:add(rf.dst, tvb(2, 2))
	tree:add(rf.src, tvb(4, 2))
	tree:add(rf.reserved, tvb(6, 2))
	tree:add(rf.offset, tvb(8, 8))
	pinfo.cols.info:append(string.format(" %s service %u", raw_ops[op] or "?",
		tvb(2, 2):uint()))
end

function raw.dissector(tvb, pinfo, tree)
	local type = tonumber(pinfo.private["falcon_type"])
	local subtree = tree:add(raw, tvb())
	local first = 0

	if type ~= PULL_DATA then
		if tvb:len() < RAW_LEN then
			subtree:add_proto_expert_info(re.malformed, "Shorter than the raw header")
			return tvb:len()
		end
		raw_header(tvb, pinfo, subtree, type)
		first = RAW_LEN
	end
	if tvb:len() > first then
		subtree:add(rf.data, tvb(first))
	end
	return tvb:len()
end

---------------------------------------------------------------------------------------------------
-- ESP in UDP (RFC 3948): the header, whose IV is a clock

local esp = Proto("falcon_esp", "ESP as Falcon uses it")
local ef = {
	spi = ProtoField.uint32("falcon_esp.spi", "SPI", base.HEX),
	seq = ProtoField.uint32("falcon_esp.seq", "Sequence number", base.DEC),
	iv = ProtoField.uint64("falcon_esp.iv", "IV (ps)", base.DEC),
	t1 = ProtoField.uint32("falcon_esp.t1", "T1 (131.072 ns units)", base.DEC),
}
esp.fields = ef
local udp_ports = DissectorTable.get("udp.port")
local ipsec = udp_ports:get_dissector(ESP_PORT)

function esp.dissector(tvb, pinfo, tree)
	-- IKE begins with zeros, a keep-alive is shorter.
	if tvb:len() >= ESP_LEN and tvb(0, 4):uint() ~= 0 then
		local subtree = tree:add(esp, tvb(0, ESP_LEN))

		subtree:add(ef.spi, tvb(0, 4))
		subtree:add(ef.seq, tvb(4, 4))
		subtree:add(ef.iv, tvb(8, 8))
		subtree:add(ef.t1, tvb(8, 8), tvb(8, 8):uint64():rshift(TIME_SHIFT):lower())
			:set_generated()
	end
	ipsec:call(tvb, pinfo, tree)
	return tvb:len()
end

ulps:add(7, raw)
udp_ports:add(PSP_PORT, psp)
udp_ports:add(ESP_PORT, esp)
-- What ESP and tunnels contain by its number.
DissectorTable.get("ip.proto"):add(NEXT_FALCON, falcon)
