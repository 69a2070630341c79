// SPDX-License-Identifier: BSD-2-Clause
#include "pd.h"

#include <cerrno>
#include <new>

#include "rnic.h"

using exrnic::BeginCall;
using exrnic::Fail;

vl_pd* vl_allocate_pd(vl_rnic* rnic) {
  if (!BeginCall({{"rnic", rnic}})) return nullptr;
  std::unique_ptr<vl_pd> pd(new (std::nothrow) vl_pd{rnic, 0});
  if (pd == nullptr) return Fail(ENOMEM);
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->AllocatePd(&pd->number) != 0) return nullptr;
  ++rnic->users;
  return pd.release();
}

int vl_deallocate_pd(vl_pd* pd) {
  if (!BeginCall({{"pd", pd}})) return -1;
  vl_rnic* rnic = pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (pd->users > 0) {
    return Fail(
        EBUSY,
        "%d queue pairs, shared receive queues, regions or memory windows are in the domain: "
        "destroy them first",
        pd->users);
  }
  if (!exrnic::IsGone(rnic->transport->DeallocatePd(pd->number))) return -1;
  --rnic->users;
  delete pd;
  return 0;
}
