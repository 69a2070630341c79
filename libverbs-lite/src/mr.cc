// SPDX-License-Identifier: BSD-2-Clause
#include "mr.h"

#include <cerrno>
#include <new>

#include "pd.h"
#include "rnic.h"

using exrnic::Fail;
using exrnic::FailNull;

namespace {

constexpr int kAllAccess = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ |
                           VL_ACCESS_REMOTE_ATOMIC;

constexpr int kAllChanges = VL_REALLOCATE_MEMORY | VL_REALLOCATE_PD | VL_REALLOCATE_ACCESS;

uint32_t DeviceAccess(int access) {
  uint32_t device = 0;
  if (access & VL_ACCESS_LOCAL_WRITE) device |= EXRNIC_ACCESS_LOCAL_WRITE;
  if (access & VL_ACCESS_REMOTE_WRITE) device |= EXRNIC_ACCESS_REMOTE_WRITE;
  if (access & VL_ACCESS_REMOTE_READ) device |= EXRNIC_ACCESS_REMOTE_READ;
  if (access & VL_ACCESS_REMOTE_ATOMIC) device |= EXRNIC_ACCESS_REMOTE_ATOMIC;
  return device;
}

bool IsRange(const void* address, size_t length) {
  const uint64_t base = reinterpret_cast<uintptr_t>(address);
  return address != nullptr && length != 0 && base + length >= base;
}

bool ChangeIsValid(const vl_mr& mr, int what, const vl_pd* pd, const void* address, size_t length,
                   int access) {
  if (what == 0 || (what & ~kAllChanges) != 0 || (access & ~kAllAccess) != 0) return false;
  const bool memory_is_valid =
      (what & VL_REALLOCATE_MEMORY) ? IsRange(address, length) : address == nullptr && length == 0;
  const bool pd_is_valid =
      (what & VL_REALLOCATE_PD) ? pd != nullptr && pd->rnic == mr.rnic : pd == nullptr;
  return memory_is_valid && pd_is_valid && ((what & VL_REALLOCATE_ACCESS) || access == 0);
}

}  // namespace

vl_mr* vl_allocate_mr(vl_pd* pd, void* address, size_t length, int access) {
  if (pd == nullptr || !IsRange(address, length) || (access & ~kAllAccess) != 0) {
    return FailNull(EINVAL);
  }
  vl_rnic* rnic = pd->rnic;
  std::unique_ptr<vl_mr> mr(new (std::nothrow) vl_mr(pd));
  if (mr == nullptr) return FailNull(ENOMEM);
  std::lock_guard<std::mutex> guard(rnic->control);
  const exrnic::MrRequest request = {reinterpret_cast<uintptr_t>(address), length, pd->number,
                                     DeviceAccess(access)};
  uint32_t stag = 0;
  if (rnic->transport->RegisterMr(request, &stag) != 0) return nullptr;
  mr->stag = stag;
  ++pd->users;
  return mr.release();
}

int vl_reallocate_mr(vl_mr* mr, int what, vl_pd* pd, void* address, size_t length, int access) {
  if (mr == nullptr || !ChangeIsValid(*mr, what, pd, address, length, access)) return Fail(EINVAL);
  vl_rnic* rnic = mr->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (mr->lost) return Fail(EIO);
  const exrnic::MrChange change = {static_cast<uint32_t>(what),
                                   reinterpret_cast<uintptr_t>(address), length,
                                   pd != nullptr ? pd->number : 0, DeviceAccess(access)};
  uint32_t stag = mr->stag;
  if (rnic->transport->ReregisterMr(change, &stag) != 0) {
    mr->lost = errno == EIO || errno == ETIMEDOUT;
    return -1;
  }
  mr->stag = stag;
  if (pd != nullptr) {
    --mr->pd->users;
    ++pd->users;
    mr->pd = pd;
  }
  return 0;
}

int vl_deallocate_mr(vl_mr* mr) {
  if (mr == nullptr) return Fail(EINVAL);
  vl_rnic* rnic = mr->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (!mr->lost && !exrnic::IsGone(rnic->transport->DeregisterMr(mr->stag))) return -1;
  --mr->pd->users;
  delete mr;
  return 0;
}

uint32_t vl_mr_stag(const vl_mr* mr) {
  if (mr != nullptr) return mr->stag;
  Fail(EINVAL);
  return 0;
}

int vl_get_pbl(vl_mr* mr, uint64_t* entries, uint32_t* pages, uint32_t* page_shift) {
  if (mr == nullptr || pages == nullptr || page_shift == nullptr ||
      (entries == nullptr && *pages > 0)) {
    return Fail(EINVAL);
  }
  vl_rnic* rnic = mr->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  return rnic->transport->GetPbl(mr->stag, entries, pages, page_shift);
}
