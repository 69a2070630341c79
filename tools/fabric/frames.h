// SPDX-License-Identifier: BSD-2-Clause
// Management frames: requests are built, and what comes is taken apart. Nothing that comes is
// trusted: what does not fit is no answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/fabric/port.h"

namespace exrnic::fabric {

constexpr uint16_t kNoNumber = EXRNIC_NODE_NONE;
constexpr uint16_t kNoPort = EXRNIC_PORT_NONE;
constexpr unsigned kMostLines = EXRNIC_MANAGEMENT_HOPS - 1;  // of a directed way
constexpr unsigned kPortsOfBlock = EXRNIC_MANAGEMENT_PORTS;
constexpr unsigned kRoutesOfBlock = EXRNIC_MANAGEMENT_ROUTES;
constexpr unsigned kRouteBlocks = EXRNIC_MAX_NODE / kRoutesOfBlock;
constexpr unsigned kFloodsOfBlock = EXRNIC_MANAGEMENT_FLOODS;

using Data = std::array<uint8_t, EXRNIC_MANAGEMENT_DATA_BYTES>;
using RoutesBlock = std::array<uint16_t, kRoutesOfBlock>;  // a port for each number, or kNoPort

// A way from the own node: `out` has the port by which each device on it is left, the own node's
// first. `in` has the ports by which the devices behind it are entered, as far as they are known.
// Neither is longer than kMostLines.
struct Path {
  std::vector<uint16_t> out;
  std::vector<uint16_t> in;
};

// Where a request goes: along a path, or with the number of a device.
struct Way {
  Path path;
  std::optional<uint16_t> number;
};

Way along(Path path);
Way to_number(uint16_t number);

struct Request {
  Way way;
  uint8_t method = EXRNIC_MANAGEMENT_METHOD_GET;
  uint16_t attribute = EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE;
  uint32_t modifier = 0;
  Data data{};
};

struct Answer {
  uint8_t status = EXRNIC_MANAGEMENT_STATUS_OK;
  uint16_t came_by = kNoPort;  // the port of the device by which the request came
  Data data{};

  bool ok() const { return status == EXRNIC_MANAGEMENT_STATUS_OK; }
};

struct Trap {
  uint16_t number = kNoNumber;  // of the switch, as its address says
  uint32_t port = 0;
};

// The attribute device, with numbers of this machine.
struct DeviceData {
  uint64_t guid = 0;
  uint8_t kind = 0;
  bool fixed = false;
  bool keyed = false;
  uint16_t number = kNoNumber;
  uint16_t ports = 0;
  uint16_t manager = kNoNumber;
  uint32_t nodes = 0;
  uint16_t changes = 0;
  uint8_t beat = 0;
};

struct PortData {
  bool exists = false;
  bool up = false;
  bool credits = false;
  uint16_t changes = 0;
  uint32_t mbps = 0;
};

struct AssignmentData {
  uint16_t node = kNoNumber;
  uint16_t group = 0;
};

// What of the attribute device is set.
struct DeviceChange {
  std::optional<uint16_t> number;
  std::optional<uint16_t> manager;
  std::optional<uint64_t> key;
  std::optional<uint8_t> beat;
};

// The source address is left to the agent.
Frame build(const Request& request, uint64_t transaction, uint64_t key);

Request get(Way way, uint16_t attribute, uint32_t modifier = 0);
Request set_device(Way way, const DeviceChange& change);
Request set_routes(Way way, uint32_t block, const RoutesBlock& ports);
Request set_floods(Way way, uint32_t block, const Data& bits);
Request set_assignment(Way way, uint32_t port, const AssignmentData& assignment);

// Whether it is a management frame of this version, and of what method.
std::optional<uint8_t> method_of(const Frame& frame);
uint64_t transaction_of(const Frame& frame);

// The frame as an answer to `request`; none if it does not fit that.
std::optional<Answer> parse_answer(const Frame& frame, const Request& request);
std::optional<Trap> parse_trap(const Frame& frame);

// None if no device can be like that.
std::optional<DeviceData> parse_device(const Data& data);
PortData parse_port(const Data& data, unsigned place);  // in its block
RoutesBlock parse_routes(const Data& data);
RoutesBlock no_routes();
bool has_routes(const Data& blocks, unsigned block);  // of the attribute route_blocks
AssignmentData parse_assignment(const Data& data);

// Port `port` of a block of floods.
bool flood_bit(const Data& data, unsigned port);
void set_flood_bit(Data& data, unsigned port);

}  // namespace exrnic::fabric
