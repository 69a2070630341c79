-- SPDX-License-Identifier: BSD-2-Clause
-- Ether Forwarding Engine (EFE) for Wireshark and tshark. What follows EFE is a DDP segment as
-- RFC 5041 and RFC 5040 define it: Wireshark's own iWARP dissector takes it. What a Send between
-- bridges of PCI Express carries is shown as its TLP. Places and meanings of all fields are those of
-- the generated table.

local here = debug.getinfo(1, "S").source:match("^@(.*[/\\])") or "./"

local function load_wire()
  for _, path in ipairs({"exrnic_wire.lua", "../../rtl-model/gen/exrnic_wire.lua"}) do
    local file = io.open(here .. path)
    if file then
      file:close()
      return dofile(here .. path)
    end
  end
  error("efe.lua: exrnic_wire.lua (of rtl-model/gen) must lie beside it")
end

local wire = load_wire()
local efe = Proto("efe", "Ether Forwarding Engine")
local iwarp = Dissector.get("iwarp_ddp_rdmap")

local padding = ProtoField.bytes("efe.padding", "Padding")
local malformed = ProtoExpert.new("efe.malformed.expert", "Malformed EFE frame", expert.group.MALFORMED,
                                  expert.severity.ERROR)
efe.experts = {malformed}

local makers = {ProtoField.uint8, ProtoField.uint16, ProtoField.uint24, ProtoField.uint32,
                [8] = ProtoField.uint64}

-- "Enum efe_class" and "Flags efe_flags" in a field's meaning say what its values are.
local function items_of(field, kind)
  local name = field.doc:match("^" .. kind .. " ([%w_]+)")
  return name and wire[name]
end

local function names_of(items)
  local names = {}
  for _, item in ipairs(items or {}) do names[item.value] = item.doc end
  return items and names
end

-- The bytes that a field touches, and its ProtoField. `prefix` is that of filters.
local function field_of(prefix, field)
  local last = field.first + field.bits - 1
  local at = math.floor(field.first / 8)
  local bytes = math.floor(last / 8) - at + 1
  local mask
  if field.bits ~= bytes * 8 then mask = (2 ^ field.bits - 1) * 2 ^ (at * 8 + bytes * 8 - 1 - last) end
  local proto = makers[bytes](prefix .. field.name, field.name, base.DEC_HEX,
                              names_of(items_of(field, "Enum")), mask, field.doc)
  return {name = field.name, at = at, bytes = bytes, first = field.first - at * 8, bits = field.bits,
          proto = proto, flags = {}}
end

local function flag_of(field, item)
  return ProtoField.bool("efe." .. field.name .. "." .. item.name, item.name, field.bits, nil,
                         2 ^ item.value, item.doc)
end

local fields, by_name = {}, {}
for _, description in ipairs(wire.efe) do
  local field = field_of("efe.", description)
  for _, item in ipairs(items_of(description, "Flags") or {}) do
    table.insert(field.flags, flag_of(description, item))
  end
  table.insert(fields, field)
  by_name[field.name] = field
end

local protos = {padding}
for _, field in ipairs(fields) do
  table.insert(protos, field.proto)
  for _, flag in ipairs(field.flags) do table.insert(protos, flag) end
end
-- What the fields mean in a datagram.
local qkey = ProtoField.uint32("efe.qkey", "Q_Key", base.HEX)
local pkey = ProtoField.uint16("efe.pkey", "P_Key", base.HEX)
local group = ProtoField.uint16("efe.group", "Group", base.DEC_HEX)
for _, field in ipairs({qkey, pkey, group}) do table.insert(protos, field) end
efe.fields = protos

local function range(buffer, field) return buffer(field.at, field.bytes) end
local function value(buffer, name)
  local field = by_name[name]
  return range(buffer, field):bitfield(field.first, field.bits)
end

local function has_flag(buffer, name)
  for _, item in ipairs(wire.efe_flags) do
    if item.name == name then
      return math.floor(value(buffer, "flags") / 2 ^ item.value) % 2 == 1
    end
  end
  error("efe.lua: the generated table has no flag " .. name)
end

local function show_header(buffer, tree)
  for _, field in ipairs(fields) do
    local item = tree:add(field.proto, range(buffer, field))
    for _, flag in ipairs(field.flags) do item:add(flag, range(buffer, field)) end
  end
end

local function is_datagram(buffer)
  for _, class in ipairs(wire.efe_class) do
    if class.name == "datagram" then return value(buffer, "klass") == class.value end
  end
  error("efe.lua: the generated table has no class datagram")
end

-- Of a datagram; nil: it goes to a queue pair.
local function group_of(buffer)
  local number = value(buffer, "dst_qpn") - wire.GROUP_QPN
  return number >= 0 and number < 2 ^ 16 and number or nil  -- two bytes of the MAC address
end

local function show_datagram(buffer, tree)
  tree:add(qkey, range(buffer, by_name.ack))
  tree:add(pkey, range(buffer, by_name.peer_session))
  local number = group_of(buffer)
  if number then tree:add(group, range(buffer, by_name.dst_qpn), number) end
end

local function destination(buffer)
  local number = is_datagram(buffer) and group_of(buffer)
  return number and string.format("group %d", number) or string.format("QP %d", value(buffer, "dst_qpn"))
end

-- What is known of a frame before iWARP speaks.
local function summary(buffer)
  local text = string.format("node %d", value(buffer, "src_node"))
  if has_flag(buffer, "seq") then
    text = text .. string.format(" QP %d to %s, seq %u", value(buffer, "src_qpn"),
                                 destination(buffer), value(buffer, "seq"))
  end
  if has_flag(buffer, "ack") then text = text .. string.format(", ack %u", value(buffer, "ack")) end
  local refusal = value(buffer, "refusal")
  if refusal ~= 0 then
    text = text .. string.format(", refusal %d of seq %u", refusal, value(buffer, "seq"))
  end
  if has_flag(buffer, "sack") then
    text = text .. string.format(", missing %u", value(buffer, "seq"))
  end
  if has_flag(buffer, "ce") then text = text .. ", congestion" end
  return text
end

-- ---- PEB: headers of its messages, and of TLPs. Fields of one name and size are one field.

local peb = Proto("peb", "PCI Express-to-Ethernet Bridge")
local peb_malformed = ProtoExpert.new("peb.malformed.expert", "Malformed PEB message",
                                      expert.group.MALFORMED, expert.severity.ERROR)
peb.experts = {peb_malformed}

local peb_headers, peb_protos, shared = {}, {}, {}
for _, name in ipairs({"peb", "tlp", "tlp_address", "tlp_address_64", "tlp_register", "tlp_completion"}) do
  local header = {bytes = wire[name].bytes, fields = {}}
  for _, description in ipairs(wire[name]) do
    local field = field_of(name == "peb" and "peb." or "peb.tlp.", description)
    local known = shared[description.name .. field.bytes]
    if known then
      field.proto = known
    else
      shared[description.name .. field.bytes] = field.proto
      table.insert(peb_protos, field.proto)
    end
    table.insert(header.fields, field)
  end
  peb_headers[name] = header
end
peb.fields = peb_protos

-- By the value of `kind`: its name, and the headers of the TLP.
local tlps = {}
for _, item in ipairs(wire.tlp_type) do
  local headers = {"tlp", "tlp_address"}
  if item.name:find("^completion") then headers = {"tlp_completion"} end
  if item.name:find("^config") then headers = {"tlp", "tlp_register"} end
  if item.name:find("_64$") then headers = {"tlp", "tlp_address_64"} end
  tlps[item.value] = {name = item.name, headers = headers}
end

-- Returns the bytes behind them; nil: they are not all there.
local function show_headers(names, buffer, tree)
  local at = 0
  for _, name in ipairs(names) do
    local header = peb_headers[name]
    if buffer:len() < at + header.bytes then return nil end
    for _, field in ipairs(header.fields) do tree:add(field.proto, buffer(at + field.at, field.bytes)) end
    at = at + header.bytes
  end
  return at
end

function peb.dissector(buffer, packet, root)
  packet.cols.protocol = "PEB"
  local tree = root:add(peb, buffer())
  local behind = show_headers({"peb"}, buffer, tree)
  local text = "limits"
  if behind and buffer:len() > behind then
    local rest = buffer(behind):tvb()
    local tlp = tlps[rest(0, 1):uint()]
    local data = tlp and show_headers(tlp.headers, rest, tree)
    behind = data and behind + data
    text = tlp and tlp.name or "no TLP"
    if data and rest:len() > data then Dissector.get("data"):call(rest(data):tvb(), packet, root) end
  end
  if not behind then tree:add_proto_expert_info(peb_malformed, "no TLP of a PEB") end
  packet.cols.info:append(": " .. text)
end

local function is_of_pebs(buffer)
  local number = value(buffer, "dst_qpn") - wire.PEB_QPN
  return number >= 0 and number <= wire.PEB_GROUP_MAX and value(buffer, "src_qpn") == value(buffer, "dst_qpn")
end

-- ---- The payload

-- The frame whose segment iWARP has. What it carries is an application's own: nobody is to guess
-- that eight bytes are RPC.
local carried_in, carried_by_peb

local function show_payload(buffer, packet, tree)
  if packet.number ~= carried_in then return false end
  if carried_by_peb and buffer:len() > 0 then  -- an introduction has none
    peb.dissector(buffer, packet, tree)
  else
    Dissector.get("data"):call(buffer, packet, tree)
  end
  return true
end

function efe.dissector(buffer, packet, root)
  packet.cols.protocol = "EFE"
  local tree = root:add(efe, buffer())
  if buffer:len() < wire.efe.bytes then
    tree:add_proto_expert_info(malformed, "shorter than an EFE header")
    return buffer:len()
  end
  show_header(buffer, tree)
  if is_datagram(buffer) then show_datagram(buffer, tree) end
  tree:set_len(wire.efe.bytes)
  local text = summary(buffer)
  packet.cols.info = text
  if value(buffer, "version") ~= wire.EFE_VERSION then
    tree:add_proto_expert_info(malformed, "EFE version " .. value(buffer, "version"))
    return buffer:len()
  end
  local length = value(buffer, "length")
  local rest = buffer:len() - wire.efe.bytes
  if length > rest then
    tree:add_proto_expert_info(malformed, "length " .. length .. " in a frame with " .. rest)
    return buffer:len()
  end
  if length > 0 then
    -- A conversation is one of queue pairs: iWARP keeps the segments of a message by it.
    packet.src_port = value(buffer, "src_qpn")
    packet.dst_port = value(buffer, "dst_qpn")
    carried_in, carried_by_peb = packet.number, is_of_pebs(buffer)
    iwarp:call(buffer(wire.efe.bytes, length):tvb(), packet, root)
    packet.cols.info:prepend(text .. ": ")
  end
  if rest > length then tree:add(padding, buffer(wire.efe.bytes + length)) end
  return buffer:len()
end

DissectorTable.get("ethertype"):add(wire.ETHERTYPE, efe)
efe:register_heuristic("iwarp_ddp_rdmap", show_payload)

assert(loadfile(here .. "management.lua"))(wire, field_of)
