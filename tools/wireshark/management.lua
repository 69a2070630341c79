-- SPDX-License-Identifier: BSD-2-Clause
-- Fabric management (FABRIC.md) for Wireshark and tshark. efe.lua calls it with the generated table
-- and its own way to make a field.

local wire, field_of = ...
if not field_of then return end  -- a folder of plugins, where each file is loaded by itself

local management = Proto("exrnic_fabric", "Fabric management of exrnic")
local malformed = ProtoExpert.new("exrnic_fabric.malformed.expert", "Malformed management frame",
                                  expert.group.MALFORMED, expert.severity.ERROR)
management.experts = {malformed}

local path_port = ProtoField.uint16("exrnic_fabric.path", "Path", base.DEC)
local route = ProtoField.uint16("exrnic_fabric.route", "Port of node", base.DEC)
local floods = ProtoField.bytes("exrnic_fabric.floods", "Ports that flood")
local protos = {path_port, route, floods}

-- Fields of the header, and of each attribute.
local headers = {}
for name, prefix in pairs({management_header = "", management_device = "device.",
                           management_port = "port.", management_assignment = "assignment."}) do
  local header = {bytes = wire[name].bytes, fields = {}}
  for _, description in ipairs(wire[name]) do
    local field = field_of("exrnic_fabric." .. prefix, description)
    table.insert(protos, field.proto)
    table.insert(header.fields, field)
    header[field.name] = field
  end
  headers[name] = header
end
management.fields = protos

local function show(name, buffer, tree)
  for _, field in ipairs(headers[name].fields) do
    tree:add(field.proto, buffer(field.at, field.bytes))
  end
end

local function value(name, field, buffer)
  local place = headers[name][field]
  return buffer(place.at, place.bytes):bitfield(place.first, place.bits)
end

local function name_of(enum, number)
  for _, item in ipairs(wire[enum]) do
    if item.value == number then return item.name end
  end
  return string.format("%d", number)
end

local show_data = {
  device = function(data, tree) show("management_device", data, tree) end,
  ports = function(data, tree, first)
    for i = 0, wire.MANAGEMENT_PORTS - 1 do
      local bytes = headers.management_port.bytes
      local port = data(i * bytes, bytes):tvb()
      if value("management_port", "flags", port) ~= 0 then
        show("management_port", port, tree:add(management, port(), "Port " .. first * wire.MANAGEMENT_PORTS + i))
      end
    end
  end,
  routes = function(data, tree, first)
    for i = 0, wire.MANAGEMENT_ROUTES - 1 do
      local port = data(2 * i, 2)
      if port:uint() ~= wire.PORT_NONE then
        tree:add(route, port):prepend_text(string.format("Node %d: ", first * wire.MANAGEMENT_ROUTES + i))
      end
    end
  end,
  floods = function(data, tree) tree:add(floods, data()) end,
  assignment = function(data, tree) show("management_assignment", data, tree) end,
}

function management.dissector(buffer, packet, root)
  packet.cols.protocol = "FABRIC"
  local tree = root:add(management, buffer())
  local ethernet = 14
  if buffer:len() ~= wire.MANAGEMENT_FRAME_BYTES - ethernet then
    tree:add_proto_expert_info(malformed, "a management frame has " .. wire.MANAGEMENT_FRAME_BYTES .. " bytes")
    return buffer:len()
  end
  local header = buffer(0, headers.management_header.bytes):tvb()
  show("management_header", header, tree)
  local hops = value("management_header", "hops", header)
  for i = 0, math.min(hops, wire.MANAGEMENT_HOPS - 1) do
    tree:add(path_port, buffer(wire.MANAGEMENT_PATH_AT - ethernet + 2 * i, 2))
  end
  local method = name_of("management_method", value("management_header", "method", header))
  local attribute = name_of("management_attribute", value("management_header", "attribute", header))
  local modifier = value("management_header", "modifier", header)
  local data = buffer(wire.MANAGEMENT_DATA_AT - ethernet, wire.MANAGEMENT_DATA_BYTES):tvb()
  if method == "trap" and attribute == "ports" then
    show("management_port", data, tree)
  elseif show_data[attribute] then
    show_data[attribute](data, tree, modifier)
  end
  packet.cols.info = string.format("%s %s %d, hop %d of %d", method, attribute, modifier,
                                   value("management_header", "hop", header), hops)
  return buffer:len()
end

DissectorTable.get("ethertype"):add(wire.MANAGEMENT_ETHERTYPE, management)
