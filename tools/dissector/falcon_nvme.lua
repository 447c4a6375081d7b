-- SPDX-License-Identifier: BSD-2-Clause
-- Wireshark and tshark dissector for NVMe over Falcon 0.9 (include/falcon/wire/nvme.h), on top of falcon.lua.
--
--	tshark -X lua_script:falcon.lua -X lua_script:falcon_nvme.lua -r capture.pcap
--	wireshark likewise, or copy both to ~/.local/lib/wireshark/plugins/
--
-- Filters: falcon_nvme.type, falcon_nvme.opcode, falcon_nvme.itag, ...; what breaks the specification is
-- marked by an expert item (filter falcon_nvme.malformed). Sections are those of the NVMe over Falcon 0.9
-- specification.

local PULL_REQUEST, PULL_DATA, PUSH_DATA = 0, 3, 5

local WRITE_DATA, READ_RESPONSE, COMMAND, WRITE_WITH_DATA = 2, 5, 6, 7
local nvme_types = {
	[0] = "Write Request", [1] = "Write Data Request", [WRITE_DATA] = "Write Data Response",
	[3] = "Write Completion", [4] = "Read Request", [READ_RESPONSE] = "Read Response",
	[COMMAND] = "Command", [WRITE_WITH_DATA] = "Write Request with Data",
	[8] = "Command Completion", [9] = "Read Command",
}
-- 8.1.3: which Falcon packet carries it, and how many bytes its header has.
local nvme_carrier = { [0] = PUSH_DATA, PULL_REQUEST, PULL_DATA, PUSH_DATA, PUSH_DATA, PUSH_DATA,
	PUSH_DATA, PUSH_DATA, PUSH_DATA, PUSH_DATA }
local nvme_len = { [0] = 64, 32, 36, 36, 64, 36, 64, 64, 36, 64 }

local nvme = Proto("falcon_nvme", "NVMe over Falcon")
local nf = {
	-- 8.2
	version = ProtoField.uint32("falcon_nvme.version", "Version", base.DEC, nil, 0xf0000000),
	type = ProtoField.uint32("falcon_nvme.type", "Packet Type", base.DEC, nvme_types,
		0x0f000000),
	func = ProtoField.uint32("falcon_nvme.function", "Initiator Function", base.HEX, nil,
		0x00ffffff),
	inv = ProtoField.uint32("falcon_nvme.inv", "Data Invalid", base.DEC, nil, 0x20000000),
	split = ProtoField.uint32("falcon_nvme.split", "Split Command", base.DEC, nil, 0x10000000),
	group = ProtoField.uint32("falcon_nvme.group", "Ncmd Group", base.DEC, nil, 0x08000000),
	ttag = ProtoField.uint32("falcon_nvme.ttag", "Target Tag", base.HEX, nil, 0x00ffffff),
	total = ProtoField.uint32("falcon_nvme.ncnt_total", "NCNT Total", base.DEC, nil,
		0xff000000),
	itag = ProtoField.uint32("falcon_nvme.itag", "Initiator Tag", base.HEX, nil, 0x00ffffff),
	offset = ProtoField.uint32("falcon_nvme.ncnt_offset", "NCNT Offset", base.DEC, nil,
		0xff000000),
	icmd = ProtoField.uint32("falcon_nvme.icmd", "iCMD Identifier", base.HEX, nil, 0x00ffffff),
	-- 8.3 and 8.5
	insid = ProtoField.uint16("falcon_nvme.initiator_nsid", "Initiator NSID", base.DEC),
	tnsid = ProtoField.uint16("falcon_nvme.target_nsid", "Target NSID", base.DEC),
	slba_lo = ProtoField.uint32("falcon_nvme.slba_lo", "Target SLBA 31:0", base.HEX_DEC),
	slba_hi = ProtoField.uint32("falcon_nvme.slba_hi", "Target SLBA 63:32", base.HEX_DEC),
	nlb = ProtoField.uint16("falcon_nvme.nlb", "Number of Logical Blocks, less one", base.DEC),
	dtype = ProtoField.uint16("falcon_nvme.dtype", "DTYPE", base.DEC, nil, 0x0f00),
	prinfo = ProtoField.uint16("falcon_nvme.prinfo", "PRINFO", base.HEX, nil, 0x003c),
	pract = ProtoField.uint16("falcon_nvme.prinfo.act", "PRACT", base.DEC, nil, 0x0020),
	chk_guard = ProtoField.uint16("falcon_nvme.prinfo.guard", "Check Guard", base.DEC, nil,
		0x0010),
	chk_app = ProtoField.uint16("falcon_nvme.prinfo.apptag", "Check Application Tag", base.DEC,
		nil, 0x0008),
	chk_ref = ProtoField.uint16("falcon_nvme.prinfo.reftag", "Check Reference Tag", base.DEC,
		nil, 0x0004),
	fua = ProtoField.uint16("falcon_nvme.fua", "Force Unit Access", base.DEC, nil, 0x0002),
	lr = ProtoField.uint16("falcon_nvme.lr", "Limited Retry", base.DEC, nil, 0x0001),
	dsm = ProtoField.uint8("falcon_nvme.dsm", "Dataset Management", base.HEX),
	unit = ProtoField.uint8("falcon_nvme.unit", "nCMD data (512-byte units)", base.DEC),
	dspec = ProtoField.uint16("falcon_nvme.dspec", "Directive Specific", base.HEX),
	reftag = ProtoField.uint32("falcon_nvme.reftag", "Initial Reference Tag", base.HEX),
	appmask = ProtoField.uint16("falcon_nvme.apptag_mask", "Application Tag Mask", base.HEX),
	apptag = ProtoField.uint16("falcon_nvme.apptag", "Application Tag", base.HEX),
	opcode = ProtoField.uint8("falcon_nvme.opcode", "Opcode", base.HEX),
	admin = ProtoField.uint8("falcon_nvme.admin", "Admin Command", base.DEC, nil, 0x01),
	sqid = ProtoField.uint8("falcon_nvme.sqid", "Target SQID", base.DEC),
	-- 8.4 and 8.8
	dnr = ProtoField.uint32("falcon_nvme.status.dnr", "Do Not Retry", base.DEC, nil, 0x4000),
	sct = ProtoField.uint32("falcon_nvme.status.sct", "Status Code Type", base.HEX, nil, 0x0700),
	sc = ProtoField.uint32("falcon_nvme.status.sc", "Status Code", base.HEX, nil, 0x00ff),
	reserved = ProtoField.bytes("falcon_nvme.reserved", "Reserved"),
	data = ProtoField.bytes("falcon_nvme.data", "Data"),
	-- 6.7, 8.4 and 8.7
	md = ProtoField.bytes("falcon_nvme.metadata", "Metadata"),
	inner_guard = ProtoField.uint16("falcon_nvme.inner.guard", "Inner Guard", base.HEX),
	inner_app = ProtoField.uint16("falcon_nvme.inner.apptag", "Inner Application Tag", base.HEX),
	inner_ref = ProtoField.uint32("falcon_nvme.inner.reftag", "Inner Reference Tag", base.HEX),
	outer_guard = ProtoField.uint16("falcon_nvme.outer.guard", "Outer Guard", base.HEX),
	outer_app = ProtoField.uint16("falcon_nvme.outer.apptag", "Outer Application Tag", base.HEX),
	outer_ref = ProtoField.uint32("falcon_nvme.outer.reftag", "Outer Reference Tag", base.HEX),
}
nvme.fields = nf
local ne = {
	malformed = ProtoExpert.new("falcon_nvme.malformed", "Malformed NVMe over Falcon packet",
		expert.group.MALFORMED, expert.severity.ERROR),
	reserved = ProtoExpert.new("falcon_nvme.reserved_set", "Reserved bits are set",
		expert.group.PROTOCOL, expert.severity.WARN),
}
nvme.experts = ne

local function nvme_reserved(tree, range)
	local item = tree:add(nf.reserved, range)

	for i = 0, range:len() - 1 do
		if range(i, 1):uint() ~= 0 then
			item:add_proto_expert_info(ne.reserved)
			return
		end
	end
end

local function nvme_nbth(tvb, tree)
	local item = tree:add(nf.version, tvb(0, 4))

	if tvb(0, 1):bitfield(0, 4) ~= 1 then
		item:add_proto_expert_info(ne.malformed, "Version is not 1")
	end
	tree:add(nf.type, tvb(0, 4))
	tree:add(nf.func, tvb(0, 4))
	tree:add(nf.inv, tvb(4, 4))
	tree:add(nf.split, tvb(4, 4))
	tree:add(nf.group, tvb(4, 4))
	tree:add(nf.ttag, tvb(4, 4))
	if bit.band(tvb(4, 1):uint(), 0xc7) ~= 0 then
		tree:add_proto_expert_info(ne.reserved)
	end
	tree:add(nf.total, tvb(8, 4))
	tree:add(nf.itag, tvb(8, 4))
	item = tree:add(nf.offset, tvb(12, 4))
	if tvb(12, 1):uint() > tvb(8, 1):uint() then
		item:add_proto_expert_info(ne.malformed, "Offset beyond the total")
	end
	tree:add(nf.icmd, tvb(12, 4))
	nvme_reserved(tree, tvb(16, 16))
end

local function nvme_request(tvb, tree, type)
	tree:add(nf.insid, tvb(32, 2))
	tree:add(nf.tnsid, tvb(34, 2))
	tree:add(nf.slba_lo, tvb(36, 4))
	tree:add(nf.slba_hi, tvb(40, 4))
	tree:add(nf.nlb, tvb(44, 2))
	tree:add(nf.dtype, tvb(46, 2))
	local prinfo = tree:add(nf.prinfo, tvb(46, 2))
	for _, field in ipairs({ nf.pract, nf.chk_guard, nf.chk_app, nf.chk_ref }) do
		prinfo:add(field, tvb(46, 2))
	end
	tree:add(nf.fua, tvb(46, 2))
	tree:add(nf.lr, tvb(46, 2))
	tree:add(nf.dsm, tvb(48, 1))
	tree:add(nf.unit, tvb(49, 1))
	tree:add(nf.dspec, tvb(50, 2))
	tree:add(nf.reftag, tvb(52, 4))
	tree:add(nf.appmask, tvb(56, 2))
	tree:add(nf.apptag, tvb(58, 2))
	if type == COMMAND then
		tree:add(nf.opcode, tvb(60, 1))
		tree:add(nf.admin, tvb(61, 1))
	else
		nvme_reserved(tree, tvb(60, 2))
	end
	nvme_reserved(tree, tvb(62, 1))
	tree:add(nf.sqid, tvb(63, 1))
end

local function nvme_status(tvb, tree, type)
	if type == WRITE_DATA then
		nvme_reserved(tree, tvb(32, 4))
		return
	end
	tree:add(nf.dnr, tvb(32, 4))
	tree:add(nf.sct, tvb(32, 4))
	tree:add(nf.sc, tvb(32, 4))
end

-- A block's 16 bytes; the inner ones may be encrypted.
local function nvme_metadata(range, tree)
	local md = tree:add(nf.md, range)

	md:add(nf.inner_guard, range(0, 2))
	md:add(nf.inner_app, range(2, 2))
	md:add(nf.inner_ref, range(4, 4))
	md:add(nf.outer_guard, range(8, 2))
	md:add(nf.outer_app, range(10, 2))
	md:add(nf.outer_ref, range(12, 4))
end

-- Where metadata are among |units| times 512 bytes of data: after how many bytes of them each, or nil if
-- the packet alone does not tell. Data of a write have them behind all of them (DIX), a Read Response
-- behind each block (DIF); of a block of 4 KiB that is in several packets, in its last.
local function nvme_layout(tvb, type, units, count)
	local last = tvb(12, 1):uint() == tvb(8, 1):uint()
	local at

	if type == READ_RESPONSE and count == units then
		return 512
	end
	if type ~= READ_RESPONSE or last or units == 8 then
		return units * 512
	end
	at = 4096 - tvb(12, 1):uint() * units * 512 % 4096
	if tvb(4, 1):bitfield(3, 1) == 0 and count == 1 and at <= units * 512 then
		return at
	end
	return nil
end

local function nvme_data(tvb, tree, type)
	local data = tvb(nvme_len[type])
	local rest = data:len() % 512
	local count, units = rest / 16, (data:len() - rest) / 512
	local step = rest % 16 == 0 and count > 0 and count <= units and
		nvme_layout(tvb, type, units, count)
	local at = 0

	while step and count > 0 do
		local mds = step == 512 and units > 1 and type == READ_RESPONSE and 1 or count

		tree:add(nf.data, data(at, step))
		at = at + step
		for _ = 1, mds do
			nvme_metadata(data(at, 16), tree)
			at = at + 16
		end
		count = count - mds
	end
	if at < data:len() then
		tree:add(nf.data, data(at))
	end
end

function nvme.dissector(tvb, pinfo, tree)
	local carrier = tonumber(pinfo.private["falcon_type"])
	local subtree = tree:add(nvme, tvb())
	local type = tvb(0, 1):bitfield(4, 4)
	local len = nvme_len[type]

	if not len or tvb:len() < len then
		subtree:add_proto_expert_info(ne.malformed, len and
			"Shorter than its type's header" or "Reserved packet type")
		return tvb:len()
	end
	if nvme_carrier[type] ~= carrier then
		subtree:add_proto_expert_info(ne.malformed, "Not carried by this Falcon packet type")
	end
	nvme_nbth(tvb, subtree)
	if len == 64 then
		nvme_request(tvb, subtree, type)
	elseif len == 36 then
		nvme_status(tvb, subtree, type)
	end
	if tvb:len() > len then
		nvme_data(tvb, subtree, type)
	end
	pinfo.cols.info:append(string.format(" %s %u/%u", nvme_types[type], tvb(12, 1):uint(),
		tvb(8, 1):uint()))
	return tvb:len()
end

DissectorTable.get("falcon.proto"):add(3, nvme)
