// SPDX-License-Identifier: BSD-2-Clause
#include "mw.h"

#include <cerrno>
#include <new>

#include "rnic.h"

using exrnic::BeginCall;
using exrnic::Fail;

vl_mw* vl_allocate_mw(vl_pd* pd) {
  if (!BeginCall({{"pd", pd}})) return nullptr;
  std::unique_ptr<vl_mw> mw(new (std::nothrow) vl_mw{pd, 0});
  if (mw == nullptr) return Fail(ENOMEM);
  std::lock_guard<std::mutex> guard(pd->rnic->control);
  if (pd->rnic->transport->AllocateMw(pd->number, &mw->stag) != 0) return nullptr;
  ++pd->users;
  return mw.release();
}

int vl_deallocate_mw(vl_mw* mw) {
  if (!BeginCall({{"mw", mw}})) return -1;
  vl_rnic* rnic = mw->pd->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (!exrnic::IsGone(rnic->transport->DeallocateMw(mw->stag))) return -1;
  --mw->pd->users;
  delete mw;
  return 0;
}

uint32_t vl_mw_stag(const vl_mw* mw) { return BeginCall({{"mw", mw}}) ? mw->stag : 0; }
