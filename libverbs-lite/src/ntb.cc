// SPDX-License-Identifier: BSD-2-Clause
// Remote windows and ports.
#include "exrnic/ntb.h"

#include <cerrno>
#include <new>

#include "exrnic_data_path.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"
#include "transport/error_text.h"

using exrnic::BeginCall;
using exrnic::Fail;

struct vl_window {
  vl_qp* qp;
  exrnic::WindowInfo info;
};

struct vl_port {
  vl_rnic* rnic;
  int fd;
};

static_assert(VL_WINDOW_STORE == EXRNIC_WINDOW_ACCESS_STORE &&
                  VL_WINDOW_LOAD == EXRNIC_WINDOW_ACCESS_LOAD && VL_PORTS == EXRNIC_PORTS &&
                  VL_PORT_SPADS == EXRNIC_PORT_SPADS &&
                  VL_PORT_LINK_UP == EXRNIC_PORT_EVENT_LINK_UP &&
                  VL_PORT_LINK_DOWN == EXRNIC_PORT_EVENT_LINK_DOWN,
              "the device's values");

// False with an error.
static bool WindowIsValid(const vl_qp& qp, uint64_t address, uint64_t length, int access) {
  constexpr int kAccess = VL_WINDOW_STORE | VL_WINDOW_LOAD;
  const vl_qp_state state = qp.state;
  if (access == 0 || (access & ~kAccess) != 0) {
    Fail(EINVAL, "access is 0x%x: one or both of VL_WINDOW_STORE, VL_WINDOW_LOAD",
         static_cast<unsigned>(access));
  } else if (!exrnic::IsWithin("length", length, 1, qp.pd->rnic->info.max_window)) {
    return false;
  } else if (address + (length - 1) < address) {
    Fail(EINVAL, "%llu bytes from remote_address 0x%llx wrap",
         static_cast<unsigned long long>(length), static_cast<unsigned long long>(address));
  } else if (qp.service != VL_SERVICE_RC || (state != VL_QPS_RTS && state != VL_QPS_ERROR)) {
    Fail(EINVAL, "windows need a queue pair of VL_SERVICE_RC in RTS; this one is in %s",
         vl_qp_state_string(state));
  } else {
    return true;
  }
  return false;
}

// From now on nothing is posted; of what was, the device has been told.
static void AddWindow(vl_qp* qp) {
  std::lock_guard<exrnic::SpinLock> guard(qp->sq.lock());
  ++qp->windows;
}

vl_window* vl_map_window(vl_qp* qp, uint32_t remote_stag, uint64_t remote_address, uint64_t length,
                         int access) {
  if (!BeginCall({{"qp", qp}}) || !WindowIsValid(*qp, remote_address, length, access)) {
    return nullptr;
  }
  std::unique_ptr<vl_window> window(new (std::nothrow) vl_window{qp, {}});
  if (window == nullptr) return Fail(ENOMEM);
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  const exrnic::WindowRequest request = {qp->number, remote_stag, remote_address, length,
                                         static_cast<uint32_t>(access)};
  AddWindow(qp);
  if (rnic->transport->MapWindow(request, &window->info) != 0) {
    --qp->windows;
    exrnic::Explain(EBUSY,
                    "work requests were posted to the queue pair: remote windows need another one, "
                    "or this one reset");
    exrnic::Explain(EINVAL,
                    "the queue pair is not in RTS (it may have gone to ERROR), its peer is on this "
                    "node, or such a window is none: length %llu at 0x%llx",
                    static_cast<unsigned long long>(length),
                    static_cast<unsigned long long>(remote_address));
    return nullptr;
  }
  return window.release();
}

int vl_unmap_window(vl_window* window) {
  if (!BeginCall({{"window", window}})) return -1;
  vl_rnic* rnic = window->qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  const bool gone = exrnic::IsGone(rnic->transport->UnmapWindow(window->info));
  const int error = errno;
  --window->qp->windows;
  delete window;
  return gone ? 0 : Fail(error);
}

volatile void* vl_window_address(const vl_window* window) {
  return BeginCall({{"window", window}}) ? window->info.address : nullptr;
}

void vl_window_flush() { exrnic_wmb_flush_windows(); }

// These are false with an error.
static bool IsPort(const char* name, unsigned port) {
  return exrnic::IsWithin(name, port, 0, VL_PORTS - 1);
}
static bool IsScratchpad(unsigned index) {
  return exrnic::IsWithin("index", index, 0, VL_PORT_SPADS - 1);
}

// What a call on a port has returned.
static int Told(int result) {
  if (result != 0) exrnic::Explain(ENOTCONN, "the peer's port is closed");
  return result;
}

vl_port* vl_open_port(vl_rnic* rnic, unsigned number, unsigned peer_node, unsigned peer_port) {
  if (!BeginCall({{"rnic", rnic}}) || !IsPort("port", number) || !IsPort("peer_port", peer_port)) {
    return nullptr;
  }
  if (!exrnic::IsWithin("peer_node", peer_node, 0, rnic->info.max_node - 1)) return nullptr;
  if (peer_node == rnic->info.node_id) {
    return Fail(EINVAL, "peer_node is %u, this node: the peer of a port is of another one",
                peer_node);
  }
  std::unique_ptr<vl_port> port(new (std::nothrow) vl_port{rnic, -1});
  if (port == nullptr) return Fail(ENOMEM);
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->OpenPort(number, peer_node, peer_port, &port->fd) != 0) {
    exrnic::Explain(EBUSY, "port %u is open already, in this process, another one or the kernel",
                    number);
    exrnic::Explain(EPERM, "port %u is for who has CAP_NET_RAW (privileged_ports of exrnic_cdev)",
                    number);
    return nullptr;
  }
  ++rnic->users;
  return port.release();
}

int vl_close_port(vl_port* port) {
  if (!BeginCall({{"port", port}})) return -1;
  vl_rnic* rnic = port->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  rnic->transport->ClosePort(port->fd);
  --rnic->users;
  delete port;
  return 0;
}

int vl_port_fd(const vl_port* port) { return BeginCall({{"port", port}}) ? port->fd : -1; }

int vl_get_port_event(vl_port* port, vl_port_event* event) {
  if (!BeginCall({{"port", port}, {"event", event}})) return -1;
  exrnic::PortEvent from;
  if (port->rnic->transport->ReadPort(port->fd, &from) != 0) return -1;
  *event = {from.bells, from.events, from.link_up ? 1 : 0};
  return 0;
}

int vl_ring_port(vl_port* port, uint32_t bits) {
  if (!BeginCall({{"port", port}})) return -1;
  exrnic_wmb_flush_windows();
  return Told(port->rnic->transport->RingPort(port->fd, bits));
}

int vl_mask_port(vl_port* port, uint32_t bits) {
  return BeginCall({{"port", port}}) ? port->rnic->transport->MaskPort(port->fd, bits) : -1;
}

static int SetSpad(vl_port* port, exrnic::SpadOwner owner, unsigned index, uint32_t value) {
  if (!BeginCall({{"port", port}}) || !IsScratchpad(index)) return -1;
  return Told(port->rnic->transport->SetSpad(port->fd, owner, index, value));
}

static int GetSpad(vl_port* port, exrnic::SpadOwner owner, unsigned index, uint32_t* value) {
  if (!BeginCall({{"port", port}, {"value", value}}) || !IsScratchpad(index)) return -1;
  return port->rnic->transport->GetSpad(port->fd, owner, index, value);
}

int vl_set_scratchpad(vl_port* port, unsigned index, uint32_t value) {
  return SetSpad(port, exrnic::SpadOwner::kPeer, index, value);
}

int vl_get_scratchpad(vl_port* port, unsigned index, uint32_t* value) {
  return GetSpad(port, exrnic::SpadOwner::kSelf, index, value);
}

int vl_set_own_scratchpad(vl_port* port, unsigned index, uint32_t value) {
  return SetSpad(port, exrnic::SpadOwner::kSelf, index, value);
}

int vl_get_peer_scratchpad(vl_port* port, unsigned index, uint32_t* value) {
  return GetSpad(port, exrnic::SpadOwner::kPeer, index, value);
}
