-- SPDX-License-Identifier: BSD-2-Clause
-- Wireshark and tshark dissector for RDMA over Falcon 0.9 (include/falcon/wire/rdma.h), on top of falcon.lua.
--
--	tshark -X lua_script:falcon.lua -X lua_script:falcon_rdma.lua -r capture.pcap
--	wireshark likewise, or copy both to ~/.local/lib/wireshark/plugins/
--
-- Filters: falcon_rdma.opcode, falcon_rdma.dest_qp, falcon_rdma.sn, ...; what breaks the specification
-- is marked by an expert item (filter falcon_rdma.malformed). Sections are those of the RDMA over Falcon
-- 0.9 specification.

local PULL_REQUEST, PULL_DATA, PUSH_DATA = 0, 3, 5

local RBTH_LEN = 12
-- 8.1.3: name, headers after the RBTH in their order, the Falcon packet that carries it.
local SEND, WRITE, RESPONSE = { "seth", "oeth" }, { "reth" }, { "steth" }
local rdma_rows = {
	[0] = { "SEND First", SEND }, { "SEND Middle", SEND }, { "SEND Last", SEND },
	{ "SEND Last with Immediate", { "seth", "oeth", "immdt" } }, { "SEND Only", SEND },
	{ "SEND Only with Immediate", { "seth", "oeth", "immdt" } }, { "WRITE First", WRITE },
	{ "WRITE Middle", WRITE }, { "WRITE Last", WRITE },
	{ "WRITE Last with Immediate", { "reth", "seth", "immdt" } }, { "WRITE Only", WRITE },
	{ "WRITE Only with Immediate", { "reth", "seth", "immdt" } },
	{ "READ Request", { "reth", "seth", "steth" }, PULL_REQUEST },
	{ "READ Response First", RESPONSE, PULL_DATA }, { "READ Response Middle", RESPONSE, PULL_DATA },
	{ "READ Response Last", RESPONSE, PULL_DATA }, { "READ Response Only", RESPONSE, PULL_DATA },
	[18] = { "ATOMIC Response", { "atomicacketh", "steth" }, PULL_DATA },
	[19] = { "ATOMIC CmpSwap", { "atomiceth", "seth", "steth" }, PULL_REQUEST },
	[20] = { "ATOMIC FetchAdd", { "atomiceth", "seth", "steth" }, PULL_REQUEST },
	[22] = { "SEND Last with Invalidate", { "seth", "oeth", "ieth" } },
	[23] = { "SEND Only with Invalidate", { "seth", "oeth", "ieth" } },
}
local rdma_ud_rows = {
	[4] = { "SEND Only", { "deth" } }, [5] = { "SEND Only with Immediate", { "deth", "immdt" } },
}
local RDMA_RC, RDMA_UD, RDMA_XRC = 0, 3, 5
local rdma_transports = { [RDMA_RC] = "RC", [RDMA_UD] = "UD", [RDMA_XRC] = "XRC" }
local rdma_naks = { [0] = "Sequence error", [1] = "Invalid request", [2] = "Remote access error",
	[3] = "Remote operational error" }
local rdma_opcodes = {}
for transport, prefix in pairs(rdma_transports) do
	for op, row in pairs(transport == RDMA_UD and rdma_ud_rows or rdma_rows) do
		rdma_opcodes[transport * 32 + op] = prefix .. " " .. row[1]
	end
end

local rdma = Proto("falcon_rdma", "RDMA over Falcon")
local df = {
	-- 8.2
	version = ProtoField.uint32("falcon_rdma.version", "Version", base.DEC, nil, 0xf0000000),
	ce = ProtoField.uint32("falcon_rdma.ce", "Complete-in-Error", base.DEC, nil, 0x00001000),
	-- an extension: include/falcon/README.md
	room = ProtoField.bool("falcon_rdma.room", "Room wanted behind requests", 32, nil, 0x00020000),
	reason = ProtoField.uint32("falcon_rdma.reason", "Reason", base.DEC, rdma_naks, 0x0001e000),
	pad = ProtoField.uint32("falcon_rdma.pad", "Pad", base.DEC, nil, 0x00000c00),
	se = ProtoField.uint32("falcon_rdma.se", "Solicited Event", base.DEC, nil, 0x00000100),
	opcode = ProtoField.uint32("falcon_rdma.opcode", "Opcode", base.DEC, rdma_opcodes, 0x000000ff),
	qp = ProtoField.uint32("falcon_rdma.dest_qp", "Destination QP", base.HEX, nil, 0xffffff00),
	sn = ProtoField.uint32("falcon_rdma.sn", "Sequence Number", base.DEC),
	-- 8.3
	va = ProtoField.uint64("falcon_rdma.va", "Virtual Address", base.HEX),
	rkey = ProtoField.uint32("falcon_rdma.rkey", "R-Key", base.HEX),
	length = ProtoField.uint32("falcon_rdma.length", "Length", base.DEC),
	rmsn = ProtoField.uint32("falcon_rdma.rmsn", "Request Message Sequence Number", base.DEC),
	offset = ProtoField.uint32("falcon_rdma.offset", "Message Offset", base.DEC),
	sink_va = ProtoField.uint64("falcon_rdma.sink_va", "Sink Virtual Address", base.HEX),
	sink_lkey = ProtoField.uint32("falcon_rdma.sink_lkey", "Sink L-Key", base.HEX),
	imm = ProtoField.uint32("falcon_rdma.imm", "Immediate Data", base.HEX),
	swap_add = ProtoField.uint64("falcon_rdma.swap_add", "Swap / Add Data", base.HEX_DEC),
	compare = ProtoField.uint64("falcon_rdma.compare", "Compare Data", base.HEX_DEC),
	original = ProtoField.uint64("falcon_rdma.original", "Original Data", base.HEX_DEC),
	inv_rkey = ProtoField.uint32("falcon_rdma.inv_rkey", "R-Key to invalidate", base.HEX),
	srq = ProtoField.uint32("falcon_rdma.xrc_srq", "XRC SRQ", base.HEX, nil, 0xffffff00),
	qkey = ProtoField.uint32("falcon_rdma.qkey", "Queue Key", base.HEX),
	src_qp = ProtoField.uint32("falcon_rdma.src_qp", "Source QP", base.HEX, nil, 0xffffff00),
	data = ProtoField.bytes("falcon_rdma.data", "Data"),
	padding = ProtoField.bytes("falcon_rdma.padding", "Padding"),
}
rdma.fields = df
local de = {
	malformed = ProtoExpert.new("falcon_rdma.malformed", "Malformed RDMA over Falcon packet",
		expert.group.MALFORMED, expert.severity.ERROR),
	reserved = ProtoExpert.new("falcon_rdma.reserved_set", "Reserved bits are set",
		expert.group.PROTOCOL, expert.severity.WARN),
	error = ProtoExpert.new("falcon_rdma.in_error", "The message completes in error",
		expert.group.RESPONSE_CODE, expert.severity.NOTE),
}
rdma.experts = de

-- The fields of each header, with their bytes; a byte that is reserved ends two of them.
local rdma_headers = {
	xrceth = { { "srq", 4, true } }, deth = { { "qkey", 4 }, { "src_qp", 4, true } },
	reth = { { "va", 8 }, { "rkey", 4 }, { "length", 4 } }, seth = { { "rmsn", 4 } },
	oeth = { { "offset", 4 } }, steth = { { "sink_va", 8 }, { "sink_lkey", 4 } },
	immdt = { { "imm", 4 } }, ieth = { { "inv_rkey", 4 } },
	atomiceth = { { "va", 8 }, { "rkey", 4 }, { "swap_add", 8 }, { "compare", 8 } },
	atomicacketh = { { "original", 8 } },
}

-- Headers of |opcode| in their order, the Falcon packet that carries it; nil: it is reserved.
local function rdma_layout(opcode)
	local transport, op = bit.rshift(opcode, 5), bit.band(opcode, 0x1f)
	local row = transport == RDMA_UD and rdma_ud_rows[op] or
		(transport == RDMA_RC or transport == RDMA_XRC) and rdma_rows[op] or nil
	local names = {}

	if not row then
		return nil
	end
	if transport == RDMA_XRC and row[3] ~= PULL_DATA then
		names[1] = "xrceth"
	end
	for _, name in ipairs(row[2]) do
		names[#names + 1] = name
	end
	return names, row[3] or PUSH_DATA
end

local function rdma_length(names)
	local len = RBTH_LEN

	for _, name in ipairs(names) do
		for _, field in ipairs(rdma_headers[name]) do
			len = len + field[2]
		end
	end
	return len
end

local function rdma_rbth(tvb, tree, carrier)
	local item = tree:add(df.version, tvb(0, 4))
	local reserved = 0x0fffe200

	if tvb(0, 1):bitfield(0, 4) ~= 1 then
		item:add_proto_expert_info(de.malformed, "Version is not 1")
	end
	item = tree:add(df.ce, tvb(0, 4))
	if tvb(2, 1):bitfield(3, 1) == 1 then
		item:add_proto_expert_info(de.error)
		if carrier == PULL_DATA and bit.band(tvb(0, 4):uint(), 0x0001e000) ~= 0 then
			tree:add(df.reason, tvb(0, 4))
			reserved = 0x0ffe0200
		end
	end
	if carrier == PULL_DATA and tvb(1, 1):bitfield(6, 1) == 1 then
		tree:add(df.room, tvb(0, 4))
		reserved = bit.band(reserved, 0x0ffdffff)
	end
	tree:add(df.pad, tvb(0, 4))
	tree:add(df.se, tvb(0, 4))
	tree:add(df.opcode, tvb(0, 4))
	tree:add(df.qp, tvb(4, 4))
	tree:add(df.sn, tvb(8, 4))
	if bit.band(tvb(0, 4):uint(), reserved) ~= 0 or tvb(7, 1):uint() ~= 0 then
		tree:add_proto_expert_info(de.reserved)
	end
end

local function rdma_extended(tvb, tree, names)
	local at = RBTH_LEN

	for _, name in ipairs(names) do
		for _, field in ipairs(rdma_headers[name]) do
			local item = tree:add(df[field[1]], tvb(at, field[2]))

			at = at + field[2]
			if field[3] and tvb(at - 1, 1):uint() ~= 0 then
				item:add_proto_expert_info(de.reserved)
			end
		end
	end
	return at
end

local function rdma_payload(tvb, tree, at)
	local pad = tvb(2, 1):bitfield(4, 2)
	local len = tvb:len() - at - pad

	if len < 0 then
		tree:add_proto_expert_info(de.malformed, "More padding than there are bytes")
		return
	end
	if len > 0 then
		tree:add(df.data, tvb(at, len))
	end
	if pad > 0 then
		tree:add(df.padding, tvb(at + len, pad))
	end
end

function rdma.dissector(tvb, pinfo, tree)
	local carrier = tonumber(pinfo.private["falcon_type"])
	local subtree = tree:add(rdma, tvb())
	local names, wants, opcode

	if tvb:len() < RBTH_LEN then
		subtree:add_proto_expert_info(de.malformed, "Shorter than the RBTH")
		return tvb:len()
	end
	rdma_rbth(tvb, subtree, carrier)
	opcode = tvb(3, 1):uint()
	names, wants = rdma_layout(opcode)
	if not names or tvb:len() < rdma_length(names) then
		subtree:add_proto_expert_info(de.malformed, names and
			"Shorter than its opcode's headers" or "Reserved opcode")
		return tvb:len()
	end
	if wants ~= carrier then
		subtree:add_proto_expert_info(de.malformed, "Not carried by this Falcon packet type")
	end
	rdma_payload(tvb, subtree, rdma_extended(tvb, subtree, names))
	pinfo.cols.info:append(string.format(" %s QP 0x%06x SN %u", rdma_opcodes[opcode],
		bit.rshift(tvb(4, 4):uint(), 8), tvb(8, 4):uint()))
	return tvb:len()
end

DissectorTable.get("falcon.proto"):add(2, rdma)
