// SPDX-License-Identifier: BSD-2-Clause
// The library, descriptors, nodes and queries.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "adapter.h"
#include "limits.h"
#include "objects.h"

using exrnic::sisci::Adapter;
using exrnic::sisci::Call;
using exrnic::sisci::CheckFlags;
using exrnic::sisci::Descriptor;
using exrnic::sisci::Failure;
using exrnic::sisci::Lock;
using exrnic::sisci::Map;
using exrnic::sisci::OpenAdapter;
using exrnic::sisci::Require;
using exrnic::sisci::TheLibrary;
using exrnic::sisci::Type;
using exrnic::sisci::Using;

SISCI_EXPORT(SCIInitialize);
void SCIInitialize(unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    CheckFlags(flags, 0);
    const Lock lock(TheLibrary().mutex);
    TheLibrary().initialised = true;
  });
}

SISCI_EXPORT(SCITerminate);
void SCITerminate() {
  const Lock lock(TheLibrary().mutex);
  TheLibrary().initialised = false;
}

SISCI_EXPORT(SCIOpen);
void SCIOpen(sci_desc_t* sd, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Require(TheLibrary().initialised, SCI_ERR_NOT_INITIALIZED);
    Require(sd != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, SCI_FLAG_THREAD_SAFE);
    auto descriptor = std::make_shared<Descriptor>();
    const Lock lock(TheLibrary().mutex);
    descriptor->Open(0);
    Publish(descriptor, sd);
  });
}

SISCI_EXPORT(SCIClose);
void SCIClose(sci_desc_t sd, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    CheckFlags(flags, 0);
    std::map<unsigned, std::shared_ptr<Adapter>> adapters;  // they end without the lock
    const Using<Descriptor> descriptor(sd, Type::kDescriptor);
    Require(descriptor->objects == 0, SCI_ERR_BUSY);
    adapters.swap(descriptor->adapters);
    Withdraw(descriptor.object().get());
  });
}

namespace {

// For calls without a descriptor: not kept open.
template <typename Body>
void WithAdapter(unsigned number, Body body) {
  Require(TheLibrary().initialised, SCI_ERR_NOT_INITIALIZED);
  std::shared_ptr<Adapter> adapter;
  Lock lock(TheLibrary().mutex);
  adapter = OpenAdapter(number);
  body(adapter.get());
  lock.unlock();
}

}  // namespace

SISCI_EXPORT(SCIGetLocalNodeId);
void SCIGetLocalNodeId(unsigned int adapterNo, unsigned int* nodeId, unsigned int flags,
                       sci_error_t* error) {
  Call(error, [&] {
    Require(nodeId != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, 0);
    WithAdapter(adapterNo, [&](Adapter* adapter) { *nodeId = adapter->node(); });
  });
}

// Nodes have numbers and no names: "3" and "node3" are node 3.
SISCI_EXPORT(SCIGetNodeIdByAdapterName);
void SCIGetNodeIdByAdapterName(char* adapterName, dis_nodeId_list_t* nodeIdList,
                               dis_virt_adapter_t* type, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Require(adapterName != nullptr && nodeIdList != nullptr && type != nullptr,
            SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, 0);
    const char* const digits = strncmp(adapterName, "node", 4) == 0 ? adapterName + 4 : adapterName;
    char* end = nullptr;
    const unsigned long node = strtoul(digits, &end, 10);
    Require(isdigit(static_cast<unsigned char>(*digits)) && *end == 0, SCI_ERR_NO_SUCH_NODEID);
    WithAdapter(0, [&](Adapter* adapter) {
      Require(node < adapter->attr().max_node, SCI_ERR_ILLEGAL_NODEID);
    });
    memset(*nodeIdList, 0, sizeof(*nodeIdList));
    (*nodeIdList)[0] = static_cast<unsigned>(node);
    *type = DIS_VIRT_ADAPTER_PHYSICAL;
  });
}

SISCI_EXPORT(SCIProbeNode);
int SCIProbeNode(sci_desc_t sd, unsigned int localAdapterNo, unsigned int nodeId,
                 unsigned int flags, sci_error_t* error) {
  return Call(error, [&] {
    CheckFlags(flags, 0);
    Using<Descriptor> descriptor(sd, Type::kDescriptor);
    Adapter* const adapter = descriptor.Keep(descriptor->Open(localAdapterNo));
    Require(nodeId < adapter->attr().max_node, SCI_ERR_ILLEGAL_NODEID);
    constexpr auto kPatience = std::chrono::seconds(1);
    Require(adapter->Probe(descriptor.lock(), nodeId, exrnic::sisci::Clock::now() + kPatience),
            SCI_ERR_NODE_NOT_RESPONDING);
    return 1;
  });
}

// ---- Queries

namespace {

void QueryString(void* data, const char* text) {
  const auto* const query = static_cast<sci_query_string_t*>(data);
  Require(query->str != nullptr && query->length > 0, SCI_ERR_ILLEGAL_PARAMETER);
  snprintf(query->str, query->length, "%s", text);
}

unsigned AdapterValue(Adapter* adapter, unsigned subcommand) {
  const uint8_t* const mac = adapter->attr().mac;
  switch (subcommand) {
    case SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT:
    case SCI_Q_ADAPTER_DMA_OFFSET_ALIGNMENT:
    case SCI_Q_ADAPTER_SUGGESTED_MIN_DMA_SIZE:
    case SCI_Q_ADAPTER_SUGGESTED_MIN_BLOCK_SIZE:
    case SCI_Q_ADAPTER_CONFIGURED:
      return 1;
    case SCI_Q_ADAPTER_DMA_MTU:
      return static_cast<unsigned>(exrnic::sisci::kPieceMax);
    case SCI_Q_ADAPTER_NODEID:
      return adapter->node();
    case SCI_Q_ADAPTER_SERIAL_NUMBER:
      return unsigned{mac[2]} << 24 | unsigned{mac[3]} << 16 | unsigned{mac[4]} << 8 | mac[5];
    case SCI_Q_ADAPTER_LINK_OPERATIONAL:
    case SCI_Q_ADAPTER_HW_LINK_STATUS_IS_OK:
      return adapter->LinkIsUp() ? 1 : 0;
    case SCI_Q_ADAPTER_NUMBER:
    case SCI_Q_ADAPTER_INSTANCE_NUMBER:
      return adapter->number();
    default:
      throw Failure{subcommand != 0 && subcommand <= SCI_Q_ADAPTER_IO_BUS_FREQUENCY
                        ? SCI_ERR_NOT_IMPLEMENTED
                        : SCI_ERR_ILLEGAL_QUERY};
  }
}

void QueryAdapter(void* data) {
  const auto* const query = static_cast<sci_query_adapter_t*>(data);
  Require(query->data != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
  WithAdapter(query->localAdapterNo, [&](Adapter* adapter) {
    *static_cast<unsigned*>(query->data) = AdapterValue(adapter, query->subcommand);
  });
}

void QueryMap(void* data) {
  auto* const query = static_cast<sci_query_map_t*>(data);
  const Using<Map> map(query->map, Type::kMap);
  Require(query->subcommand == SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET ||
              query->subcommand == SCI_Q_MAP_QUERY_REMOTE_MAPPED_TO_LOCAL_TARGET,
          SCI_ERR_ILLEGAL_QUERY);
  query->data = map->address != nullptr && map->window == nullptr;
}

}  // namespace

SISCI_EXPORT(SCIQuery);
void SCIQuery(unsigned int command, void* data, unsigned int flags, sci_error_t* error) {
  Call(error, [&] {
    Require(TheLibrary().initialised, SCI_ERR_NOT_INITIALIZED);
    Require(data != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
    CheckFlags(flags, 0);
    switch (command) {
      case SCI_Q_VENDORID:
        return QueryString(data, "exrnic");
      case SCI_Q_API:
        return QueryString(data, "SISCI on libverbs-lite");
      case SCI_Q_ADAPTER:
        return QueryAdapter(data);
      case SCI_Q_MAP:
        return QueryMap(data);
      case SCI_Q_SYSTEM:
      case SCI_Q_LOCAL_SEGMENT:
      case SCI_Q_REMOTE_SEGMENT:
        throw Failure{SCI_ERR_NOT_IMPLEMENTED};
      default:
        throw Failure{SCI_ERR_ILLEGAL_QUERY};
    }
  });
}
