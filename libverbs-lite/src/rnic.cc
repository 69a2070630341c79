// SPDX-License-Identifier: BSD-2-Clause
#include "rnic.h"

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "chardev_transport.h"
#include "sim/sim_transport.h"
#include "transport/error_text.h"

namespace exrnic {

namespace {

constexpr char kFirstRnic[] = "exrnic0";
constexpr char kFolder[] = "/dev/";
constexpr char kSimulator[] = "sim:";
constexpr char kDeviceVariable[] = "VL_DEVICE";

// What NULL stands for. A program with more rights than its user does not listen to the user.
const char* DefaultName() {
  const char* name = secure_getenv(kDeviceVariable);
  return name != nullptr && name[0] != 0 ? name : kFirstRnic;
}

std::unique_ptr<Transport> OpenByPath(const char* name) {
  const char* folder = strchr(name, '/') == nullptr ? kFolder : "";
  char path[PATH_MAX];
  const int length = snprintf(path, sizeof(path), "%s%s", folder, name);
  if (length >= 0 && static_cast<size_t>(length) < sizeof(path)) return OpenChardev(path);
  Fail(ENAMETOOLONG, "the path of the RNIC has %d bytes, at most %zu", length, sizeof(path) - 1);
  return nullptr;
}

std::unique_ptr<Transport> OpenByName(const char* name) {
  const size_t prefix = sizeof(kSimulator) - 1;
  if (strncmp(name, kSimulator, prefix) == 0) return OpenSim(name + prefix);
  return OpenByPath(name);
}

}  // namespace

vl_rnic* OpenRnic(std::unique_ptr<Transport> transport) {
  std::unique_ptr<vl_rnic> rnic(new (std::nothrow) vl_rnic);
  if (rnic == nullptr) return Fail(ENOMEM);
  if (transport->Query(&rnic->info) != 0) return nullptr;
  rnic->user_page = transport->user_page();
  rnic->transport = std::move(transport);
  return rnic.release();
}

bool IsGone(int result) {
  if (result != 0 && errno != ENODEV) return false;
  ClearErrorText();  // the call has done what it was to do
  return true;
}

}  // namespace exrnic

using exrnic::BeginCall;
using exrnic::Fail;

vl_rnic* vl_open_rnic(const char* name) {
  BeginCall({});
  if (name == nullptr) name = exrnic::DefaultName();
  std::unique_ptr<exrnic::Transport> transport = exrnic::OpenByName(name);
  if (transport == nullptr) return nullptr;
  return exrnic::OpenRnic(std::move(transport));
}

int vl_close_rnic(vl_rnic* rnic) {
  if (!BeginCall({{"rnic", rnic}})) return -1;
  {
    std::lock_guard<std::mutex> guard(rnic->control);
    if (rnic->users > 0) {
      return Fail(EBUSY,
                  "the RNIC still has %d domains, completion queues, channels or ports: destroy "
                  "them first",
                  rnic->users);
    }
  }
  delete rnic;
  return 0;
}

int vl_query_link(vl_rnic* rnic, int* up) {
  if (!BeginCall({{"rnic", rnic}, {"up", up}})) return -1;
  std::lock_guard<std::mutex> guard(rnic->control);
  bool is_up = false;
  if (rnic->transport->QueryLink(&is_up) != 0) return -1;
  exrnic::DeviceInfo now = {};
  if (rnic->transport->Query(&now) != 0) return -1;
  rnic->info.node_id = now.node_id;
  memcpy(rnic->info.mac, now.mac, sizeof(now.mac));
  *up = is_up ? 1 : 0;
  return 0;
}

int vl_query_rnic(vl_rnic* rnic, vl_rnic_attr* attr) {
  if (!BeginCall({{"rnic", rnic}, {"attr", attr}})) return -1;
  std::lock_guard<std::mutex> guard(rnic->control);
  const exrnic::DeviceInfo& info = rnic->info;
  attr->node_id = info.node_id;
  attr->max_node = info.max_node;
  attr->mtu = info.mtu;
  attr->max_qp = info.max_qp;
  attr->max_cq = info.max_cq;
  attr->max_mr = info.max_mr;
  attr->max_srq = info.max_srq;
  attr->max_wr = info.max_sq_slots;
  attr->max_cq_entries = exrnic_cq_capacity(info.max_cq_entries);
  attr->clock_khz = info.clock_khz;
  attr->comp_vectors = info.comp_vectors;
  attr->read_pool = info.read_pool;
  attr->max_window = info.max_window;
  static_assert(sizeof(attr->mac) == sizeof(info.mac), "a MAC address");
  memcpy(attr->mac, info.mac, sizeof(attr->mac));
  static_assert(sizeof(attr->pkeys) == sizeof(info.pkeys), "a table of P_Keys");
  memcpy(attr->pkeys, info.pkeys, sizeof(attr->pkeys));
  return 0;
}
