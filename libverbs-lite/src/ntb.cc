// SPDX-License-Identifier: BSD-2-Clause
// Remote windows and ports.
#include "exrnic/ntb.h"

#include <cerrno>
#include <new>

#include "barrier.h"
#include "error_text.h"
#include "pd.h"
#include "qp.h"
#include "rnic.h"

using exrnic::Fail;
using exrnic::FailNull;

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

// From now on nothing is posted; of what was, the device has been told.
static void AddWindow(vl_qp* qp) {
  std::lock_guard<exrnic::SpinLock> guard(qp->sq.lock());
  ++qp->windows;
}

vl_window* vl_map_window(vl_qp* qp, uint32_t remote_stag, uint64_t remote_address, uint64_t length,
                         int access) {
  if (qp == nullptr) return FailNull(EINVAL);
  std::unique_ptr<vl_window> window(new (std::nothrow) vl_window{qp, {}});
  if (window == nullptr) return FailNull(ENOMEM);
  vl_rnic* rnic = qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  const exrnic::WindowRequest request = {qp->number, remote_stag, remote_address, length,
                                         static_cast<uint32_t>(access)};
  AddWindow(qp);
  if (rnic->transport->MapWindow(request, &window->info) != 0) {
    --qp->windows;
    if (errno == EBUSY) {
      exrnic::SetErrorText(
          "work requests were posted to the queue pair: remote windows need another one, or this "
          "one reset");
    }
    return nullptr;
  }
  return window.release();
}

int vl_unmap_window(vl_window* window) {
  if (window == nullptr) return Fail(EINVAL);
  vl_rnic* rnic = window->qp->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  const bool gone = exrnic::IsGone(rnic->transport->UnmapWindow(window->info));
  const int error = errno;
  --window->qp->windows;
  delete window;
  return gone ? 0 : Fail(error);
}

volatile void* vl_window_address(const vl_window* window) {
  return window != nullptr ? window->info.address : FailNull(EINVAL);
}

void vl_window_flush() { vl_wmb_flush_windows(); }

vl_port* vl_open_port(vl_rnic* rnic, unsigned number, unsigned peer_node, unsigned peer_port) {
  if (rnic == nullptr) return FailNull(EINVAL);
  std::unique_ptr<vl_port> port(new (std::nothrow) vl_port{rnic, -1});
  if (port == nullptr) return FailNull(ENOMEM);
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->OpenPort(number, peer_node, peer_port, &port->fd) != 0) return nullptr;
  ++rnic->users;
  return port.release();
}

int vl_close_port(vl_port* port) {
  if (port == nullptr) return Fail(EINVAL);
  vl_rnic* rnic = port->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  rnic->transport->ClosePort(port->fd);
  --rnic->users;
  delete port;
  return 0;
}

int vl_port_fd(const vl_port* port) { return port != nullptr ? port->fd : Fail(EINVAL); }

int vl_get_port_event(vl_port* port, vl_port_event* event) {
  if (port == nullptr || event == nullptr) return Fail(EINVAL);
  exrnic::PortEvent from;
  if (port->rnic->transport->ReadPort(port->fd, &from) != 0) return -1;
  *event = {from.bells, from.events, from.link_up ? 1 : 0};
  return 0;
}

int vl_ring_port(vl_port* port, uint32_t bits) {
  if (port == nullptr) return Fail(EINVAL);
  vl_wmb_flush_windows();
  return port->rnic->transport->RingPort(port->fd, bits);
}

int vl_mask_port(vl_port* port, uint32_t bits) {
  return port == nullptr ? Fail(EINVAL) : port->rnic->transport->MaskPort(port->fd, bits);
}

int vl_set_scratchpad(vl_port* port, unsigned index, uint32_t value) {
  if (port == nullptr || index >= VL_PORT_SPADS) return Fail(EINVAL);
  return port->rnic->transport->SetSpad(port->fd, index, value);
}

int vl_get_scratchpad(vl_port* port, unsigned index, uint32_t* value) {
  if (port == nullptr || value == nullptr || index >= VL_PORT_SPADS) return Fail(EINVAL);
  return port->rnic->transport->GetSpad(port->fd, index, value);
}
