// SPDX-License-Identifier: BSD-2-Clause
#include "mr.h"

#include <cerrno>
#include <new>

#include "pd.h"
#include "rnic.h"

using exrnic::BeginCall;
using exrnic::DeviceAccess;
using exrnic::Fail;

uint32_t exrnic::DeviceAccess(int access) {
  uint32_t device = 0;
  if (access & VL_ACCESS_LOCAL_WRITE) device |= EXRNIC_ACCESS_LOCAL_WRITE;
  if (access & VL_ACCESS_REMOTE_WRITE) device |= EXRNIC_ACCESS_REMOTE_WRITE;
  if (access & VL_ACCESS_REMOTE_READ) device |= EXRNIC_ACCESS_REMOTE_READ;
  if (access & VL_ACCESS_REMOTE_ATOMIC) device |= EXRNIC_ACCESS_REMOTE_ATOMIC;
  if (access & VL_ACCESS_MW_BIND) device |= EXRNIC_ACCESS_MW_BIND;
  return device;
}

namespace {

constexpr int kAllAccess = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ |
                           VL_ACCESS_REMOTE_ATOMIC | VL_ACCESS_MW_BIND;

constexpr int kAllChanges = VL_REALLOCATE_MEMORY | VL_REALLOCATE_PD | VL_REALLOCATE_ACCESS;

// These are false with an error.

bool IsRange(const void* address, size_t length) {
  const uint64_t base = reinterpret_cast<uintptr_t>(address);
  if (address == nullptr) {
    Fail(EINVAL, "address is NULL");
  } else if (length == 0) {
    Fail(EINVAL, "length is 0: a region has 1 byte or more");
  } else if (base + length < base) {
    Fail(EINVAL, "%zu bytes from address 0x%llx wrap", length,
         static_cast<unsigned long long>(base));
  } else {
    return true;
  }
  return false;
}

bool AccessIsValid(int access) {
  if ((access & ~kAllAccess) == 0) return true;
  Fail(EINVAL, "access is 0x%x: VL_ACCESS_* are the bits of 0x%x", static_cast<unsigned>(access),
       static_cast<unsigned>(kAllAccess));
  return false;
}

// Named: `what` says so, and the argument is one. Else it is none.
bool Fits(int what, vl_reallocate bit, const char* bit_name, const char* argument, bool is_none) {
  if ((what & bit) != 0 || is_none) return true;
  Fail(EINVAL, "%s was given without %s", argument, bit_name);
  return false;
}

bool ChangeIsValid(const vl_mr& mr, int what, const vl_pd* pd, const void* address, size_t length,
                   int access) {
  if (what == 0 || (what & ~kAllChanges) != 0) {
    Fail(EINVAL, "what is 0x%x: one or more of the bits of 0x%x, VL_REALLOCATE_*",
         static_cast<unsigned>(what), static_cast<unsigned>(kAllChanges));
    return false;
  }
  if ((what & VL_REALLOCATE_MEMORY) != 0 && !IsRange(address, length)) return false;
  if ((what & VL_REALLOCATE_PD) != 0 && (pd == nullptr || pd->rnic != mr.rnic)) {
    Fail(EINVAL, pd == nullptr ? "pd is NULL" : "pd is of another RNIC than the region");
    return false;
  }
  return AccessIsValid(access) &&
         Fits(what, VL_REALLOCATE_MEMORY, "VL_REALLOCATE_MEMORY", "address or length",
              address == nullptr && length == 0) &&
         Fits(what, VL_REALLOCATE_PD, "VL_REALLOCATE_PD", "pd", pd == nullptr) &&
         Fits(what, VL_REALLOCATE_ACCESS, "VL_REALLOCATE_ACCESS", "access", access == 0);
}

}  // namespace

vl_mr* vl_allocate_mr(vl_pd* pd, void* address, size_t length, int access) {
  if (!BeginCall({{"pd", pd}}) || !IsRange(address, length) || !AccessIsValid(access))
    return nullptr;
  vl_rnic* rnic = pd->rnic;
  std::unique_ptr<vl_mr> mr(new (std::nothrow) vl_mr(pd));
  if (mr == nullptr) return Fail(ENOMEM);
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
  if (!BeginCall({{"mr", mr}}) || !ChangeIsValid(*mr, what, pd, address, length, access)) return -1;
  vl_rnic* rnic = mr->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (mr->lost) {
    return Fail(EIO,
                "the device did not answer when the region was reallocated before: it is cut off, "
                "and to be deallocated");
  }
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
  if (!BeginCall({{"mr", mr}})) return -1;
  vl_rnic* rnic = mr->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (!mr->lost && !exrnic::IsGone(rnic->transport->DeregisterMr(mr->stag))) return -1;
  --mr->pd->users;
  delete mr;
  return 0;
}

uint32_t vl_mr_stag(const vl_mr* mr) { return BeginCall({{"mr", mr}}) ? mr->stag.load() : 0; }

int vl_get_pbl(vl_mr* mr, uint64_t* entries, uint32_t* pages, uint32_t* page_shift) {
  if (!BeginCall({{"mr", mr}, {"pages", pages}, {"page_shift", page_shift}})) return -1;
  if (entries == nullptr && *pages > 0) {
    return Fail(EINVAL, "entries is NULL, and *pages %u: entries that fit there", *pages);
  }
  vl_rnic* rnic = mr->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  return rnic->transport->GetPbl(mr->stag, entries, pages, page_shift);
}
