-- SPDX-License-Identifier: BSD-2-Clause
-- Wireshark and tshark dissector for RIFL frames (user/rifl), in captures of link type USER0 (147).
--
--	tshark -X lua_script:falcon_rifl.lua -r capture.pcap
--	wireshark likewise, or copy it to ~/.local/lib/wireshark/plugins/
--
-- A packet is one frame of one lane, behind four bytes:
--
--	0	1, the version of this header
--	1	the end that has sent it, 0 or 1
--	2	lane
--	3	bit 7: scrambled, as on the wire; bits 3 to 0: S_FrameID, 5 to 12
--
-- All frames of a lane in their order. The verification code has the frame's ID, which follows from the
-- frames before: so damaged ones are told. Descrambling begins with zeros; it is wrong for the 33 bits behind
-- a gap or behind bits that are damaged.
--
-- Filters: falcon_rifl.kind, falcon_rifl.frame_id, falcon_rifl.lane, ...; falcon_rifl.damaged,
-- falcon_rifl.reserved. Sections, figures and tables are those of the paper (user/rifl/README.md).

local HEADER_LEN, HEADER_VERSION = 4, 1
local SYN_BITS, META_BITS, VERIFICATION_BITS = 2, 2, 12
local POLY = 0x102f		-- of the checksum
local TAP1, TAP2 = 13, 33	-- of the scrambler
local SIZES = { [16] = true, [32] = true, [64] = true, [128] = true, [256] = true }

local DATA, CONTROL = 1, 2
local syn_names = { [0] = "illegal", [DATA] = "data", [CONTROL] = "control", [3] = "illegal" }
local INVALID, FULL, LAST, FULL_LAST = 0, 1, 2, 3
local meta_names = {
	[INVALID] = "no byte valid", [FULL] = "all bytes valid",
	[LAST] = "as the format code says, end of packet", [FULL_LAST] = "all bytes valid, end of packet",
}
local control_names = { [0x0001] = "Idle", [0x0010] = "Pause request", [0x1000] = "Re-transmit request" }
local invalid_names = { [0] = "Invalid", [1] = "Flow control pause", [2] = "Flow control resume" }

local rifl = Proto("falcon_rifl", "RIFL frame")
local f = {
	version = ProtoField.uint8("falcon_rifl.version", "Header version", base.DEC),
	from = ProtoField.uint8("falcon_rifl.end", "Sent by end", base.DEC),
	lane = ProtoField.uint8("falcon_rifl.lane", "Lane", base.DEC),
	scrambled = ProtoField.uint8("falcon_rifl.scrambled", "Scrambled", base.DEC, nil, 0x80),
	id_bits = ProtoField.uint8("falcon_rifl.id_bits", "S_FrameID", base.DEC, nil, 0x0f),
	-- figures 2 and 3
	syn = ProtoField.uint8("falcon_rifl.syn", "Syncword", base.DEC, syn_names, 0xc0),
	meta = ProtoField.uint8("falcon_rifl.meta", "Meta code", base.DEC, meta_names, 0x30),
	format = ProtoField.uint16("falcon_rifl.format", "Format code", base.DEC, nil, 0x0ff0),
	control = ProtoField.uint24("falcon_rifl.control", "Control code", base.HEX, control_names,
		0x3fffc0),
	payload = ProtoField.bytes("falcon_rifl.payload", "User data"),
	verification = ProtoField.uint16("falcon_rifl.verification", "Verification code", base.HEX, nil,
		0x0fff),
	-- what they say
	kind = ProtoField.string("falcon_rifl.kind", "Kind"),
	checksum = ProtoField.uint16("falcon_rifl.checksum", "Checksum", base.HEX),
	id = ProtoField.uint16("falcon_rifl.frame_id", "Frame ID", base.DEC),
	awaited = ProtoField.uint16("falcon_rifl.awaited_id", "Frame ID by the frames before", base.DEC),
	len = ProtoField.uint16("falcon_rifl.length", "Bytes of user data", base.DEC),
	last = ProtoField.bool("falcon_rifl.end_of_packet", "End of packet"),
}
rifl.fields = f
local e = {
	malformed = ProtoExpert.new("falcon_rifl.malformed", "No RIFL frame",
		expert.group.MALFORMED, expert.severity.ERROR),
	syncword = ProtoExpert.new("falcon_rifl.out_of_sync", "Illegal syncword",
		expert.group.SEQUENCE, expert.severity.WARN),
	damaged = ProtoExpert.new("falcon_rifl.damaged", "The verification code is wrong",
		expert.group.CHECKSUM, expert.severity.WARN),
	reserved = ProtoExpert.new("falcon_rifl.reserved", "A code without a meaning",
		expert.group.PROTOCOL, expert.severity.WARN),
}
rifl.experts = e

-- What is known of each lane and direction; and of each packet, for they may be looked at again in any order.
local lanes, packets

function rifl.init()
	lanes, packets = {}, {}
end

---------------------------------------------------------------------------------------------------
-- Bits, the first sent first

local function to_bits(bytes)
	local bits = {}

	for i = 0, bytes:len() - 1 do
		local byte = bytes:get_index(i)

		for b = 7, 0, -1 do
			bits[#bits + 1] = bit.band(bit.rshift(byte, b), 1)
		end
	end
	return bits
end

-- The bits from |first| up to |last| as a buffer, the last byte filled with zeros.
local function to_tvb(bits, first, last, name)
	local text = {}

	for i = first, last, 8 do
		local byte = 0

		for b = i, i + 7 do
			byte = 2 * byte + (b <= last and bits[b] or 0)
		end
		text[#text + 1] = string.format("%02x", byte)
	end
	return ByteArray.new(table.concat(text)):tvb(name)
end

-- 5.B: all but syncword and verification code. Returns the frame, and the last bits of what was received.
local function descramble(bits, past)
	local clear, seen = {}, {}

	for i = 1, TAP2 do
		seen[i] = past and past[i] or 0
	end
	for i, b in ipairs(bits) do
		clear[i] = b
		if i > SYN_BITS and i <= #bits - VERIFICATION_BITS then
			local n = #seen + 1

			clear[i] = (b + seen[n - TAP1] + seen[n - TAP2]) % 2
			seen[n] = b
		end
	end
	return clear, { table.unpack(seen, #seen - TAP2 + 1) }
end

-- 3.B.5: the remainder of all before the verification code.
local function checksum(bits)
	local r = 0

	for i = 1, #bits do
		local b = i <= #bits - VERIFICATION_BITS and bits[i] or 0

		r = 2 * r + b
		if r >= 0x1000 then
			r = bit.bxor(r, POLY)
		end
	end
	return r
end

---------------------------------------------------------------------------------------------------
-- What follows from the frames before

-- The ID of a control frame is that of the data frame to come. A damaged frame may have been either, so
-- behind |n| of them in a row there are n + 1 IDs to be expected. Who is wrong all the time, as after a
-- reset, is believed as soon as two frames agree.
local function follow(lane, id, ids, is_data)
	local good = id < ids and (not lane.id or (id - lane.id) % ids <= lane.damaged or id == lane.other)
	local awaited = lane.id
	local after = (id + (is_data and 1 or 0)) % ids

	if good then
		lane.id, lane.damaged, lane.other = after, 0, nil
	else
		lane.id = lane.id or 0
		lane.damaged = lane.damaged + 1
		lane.other = after
	end
	return good, awaited
end

-- The first look at a packet.
local function learn(tvb, bits)
	local key = tvb(1, 2):uint()
	local lane = lanes[key] or { damaged = 0 }
	local ids = 2 ^ tvb(3, 1):bitfield(4, 4)
	local syn = tvb(HEADER_LEN, 1):bitfield(0, 2)
	local verification = bit.band(tvb(tvb:len() - 2, 2):uint(), 0x0fff)
	local packet = { past = lane.past, sum = checksum(bits) }
	local _

	lanes[key] = lane
	packet.id = bit.bxor(packet.sum, verification)
	packet.good, packet.awaited = follow(lane, packet.id, ids, syn == DATA)
	_, lane.past = descramble(bits, lane.past)
	return packet
end

---------------------------------------------------------------------------------------------------
-- Frames

local function reserved(tree)
	tree:add_proto_expert_info(e.reserved)
	return "Reserved"
end

-- 3.C: nothing but a code. Returns what it is.
local function control_frame(clear, bits, tree)
	local code = tree:add(f.control, clear(0, 3))
	local kind = control_names[bit.band(bit.rshift(clear(0, 3):uint(), 6), 0xffff)]

	for i = 19, #bits - VERIFICATION_BITS do
		if bits[i] == 1 then
			tree:add_proto_expert_info(e.reserved, "Bits behind the control code are set")
			break
		end
	end
	return kind or reserved(code)
end

-- 3.B and 4.D. Returns what it is, and for user data how many bytes.
local function data_frame(clear, bits, tree)
	local size = clear:len()
	local meta = clear(0, 1):bitfield(2, 2)
	local room = (#bits - SYN_BITS - META_BITS - VERIFICATION_BITS) / 8
	local code = bit.band(bit.rshift(clear(size - 3, 2):uint(), 4), 0xff)
	local len = room
	local item

	tree:add(f.meta, clear(0, 1))
	if meta == INVALID or meta == LAST then
		item = tree:add(f.format, clear(size - 3, 2))
		len = code
	end
	if meta == INVALID then
		return invalid_names[code] or reserved(item)
	end
	if meta == LAST and code >= room then
		return reserved(item)
	end
	if len > 0 then
		local first = SYN_BITS + META_BITS + 1

		tree:add(f.payload, to_tvb(bits, first, first + 8 * len - 1, "User data")())
	end
	tree:add(f.len, len):set_generated()
	tree:add(f.last, meta ~= FULL):set_generated()
	return "Data", string.format(" %d bytes%s", len, meta == FULL and "" or " end of packet")
end

local function header(tvb, tree)
	local item = tree:add(f.version, tvb(0, 1))

	if tvb(0, 1):uint() ~= HEADER_VERSION then
		item:add_proto_expert_info(e.malformed, "Unknown version of the header")
		return false
	end
	tree:add(f.from, tvb(1, 1))
	tree:add(f.lane, tvb(2, 1))
	tree:add(f.scrambled, tvb(3, 1))
	tree:add(f.id_bits, tvb(3, 1))
	if not SIZES[tvb:len() - HEADER_LEN] then
		tree:add_proto_expert_info(e.malformed, "No size of a frame")
		return false
	end
	return true
end

-- Returns what the frame is, in words.
local function frame(tvb, tree, packet, bits)
	local syn, clear, kind, more = tvb(HEADER_LEN, 1):bitfield(0, 2), tvb(HEADER_LEN):tvb()
	local item = tree:add(f.syn, tvb(HEADER_LEN, 1))

	if tvb(3, 1):bitfield(0, 1) == 1 then
		bits = descramble(bits, packet.past)
		clear = to_tvb(bits, 1, #bits, "Descrambled")
	end
	if syn == DATA then
		kind, more = data_frame(clear, bits, tree)
	elseif syn == CONTROL then
		kind = control_frame(clear, bits, tree)
	else
		item:add_proto_expert_info(e.syncword)
		kind = "Out of sync"
	end
	tree:add(f.kind, kind):set_generated()
	return kind .. (more or "")
end

function rifl.dissector(tvb, pinfo, tree)
	local subtree = tree:add(rifl, tvb())
	local bits, packet, item, text

	pinfo.cols.protocol = "RIFL"
	pinfo.cols.info = "Malformed"
	if tvb:len() <= HEADER_LEN or not header(tvb, subtree) then
		subtree:add_proto_expert_info(e.malformed)
		return tvb:len()
	end
	bits = to_bits(tvb(HEADER_LEN):bytes())
	packet = packets[pinfo.number] or learn(tvb, bits)
	packets[pinfo.number] = packet
	text = frame(tvb, subtree, packet, bits)
	item = subtree:add(f.verification, tvb(tvb:len() - 2, 2))
	subtree:add(f.checksum, packet.sum):set_generated()
	if packet.awaited then
		subtree:add(f.awaited, packet.awaited):set_generated()
	end
	if packet.good then
		subtree:add(f.id, packet.id):set_generated()
		text = text .. " ID " .. packet.id
	else
		item:add_proto_expert_info(e.damaged)
		text = text .. " [damaged]"
	end
	pinfo.cols.info = string.format("%d.%d %s", tvb(1, 1):uint(), tvb(2, 1):uint(), text)
	return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, rifl)
