// SPDX-License-Identifier: BSD-2-Clause
// The verbs objects of a program, owned: destroyed in the order that verbs ask for. Errors are
// std::runtime_error that names the call.
#ifndef EXRNIC_EXAMPLES_VERBS_OBJECTS_H
#define EXRNIC_EXAMPLES_VERBS_OBJECTS_H

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "exrnic/verbs.h"

namespace exrnic {

// How a program gets its RNIC; tests give it one of software.
using OpenRnicCall = std::function<vl_rnic*()>;

// vl_open_rnic, where "" means that the environment decides; the text of what failed.
vl_rnic* OpenDevice(const std::string& name);
constexpr char kDeviceHelp[] =
    "RNIC: exrnic0, ..., or sim:PATH, a node of exrnic-sim (default: VL_DEVICE, or exrnic0)";

struct VlDelete {
  void operator()(vl_rnic* rnic) const { vl_close_rnic(rnic); }
  void operator()(vl_pd* pd) const { vl_deallocate_pd(pd); }
  void operator()(vl_comp_channel* channel) const { vl_destroy_comp_channel(channel); }
  void operator()(vl_cq* cq) const { vl_destroy_cq(cq); }
  void operator()(vl_srq* srq) const { vl_destroy_srq(srq); }
  void operator()(vl_qp* qp) const { vl_destroy_qp(qp); }
  void operator()(vl_mr* mr) const { vl_deallocate_mr(mr); }
};
template <typename T>
using Owned = std::unique_ptr<T, VlDelete>;

// Throw "<what>: <errno text>".
[[noreturn]] void ThrowErrno(const std::string& what);
template <typename T>
Owned<T> Own(T* object, const char* call) {
  if (object == nullptr) ThrowErrno(call);
  return Owned<T>(object);
}
void Check(int result, const char* call);

vl_rnic_attr QueryRnic(vl_rnic* rnic);
vl_qp_attr QueryQp(vl_qp* qp);
// RC, one completion queue for both ways, the smallest work requests, no PULLs.
vl_qp_init_attr QpAttributes(vl_cq* cq, uint32_t send_wr, uint32_t recv_wr = 1);
Owned<vl_qp> CreateQp(vl_pd* pd, vl_qp_init_attr init);
Owned<vl_srq> CreateSrq(vl_pd* pd, uint32_t receives, uint32_t elements);
void ModifyQp(vl_qp* qp, vl_qp_state state);
// From RESET to RTS.
void ConnectQp(vl_qp* qp, uint32_t peer_node, uint32_t peer_qpn);

// Page-aligned memory of whole pages, zeroed.
class Pages {
 public:
  explicit Pages(size_t bytes);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  uint8_t* data_;
};

inline uint64_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// The next completion; busy-waits. Throws after the time limit, naming `what` it waited for.
vl_wc AwaitCompletion(vl_cq* cq, const std::string& what,
                      std::chrono::seconds limit = std::chrono::seconds(30));

// Lets this process pin as much as it wants, as far as it may.
void RaiseMemlockLimit();

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_VERBS_OBJECTS_H
