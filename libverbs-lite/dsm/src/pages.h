// SPDX-License-Identifier: BSD-2-Clause
// The pages of a node: which it has, which it has written. Release consistency: what it writes is
// at the homes, and told to all, when it releases; what others have written, and it has heard of,
// it gives up when it acquires.
//
// A page whose home is this node is always there. Nobody tells the home who PULLs, so a page that
// it writes may have copies elsewhere that it does not know. Two kinds of copies therefore:
//   tracked   the home knows that there are some: it has protected the page, so it notices when it
//             writes there, and tells; then it forgets that there are
//   young     all others. They are given up at each acquire.
// Who finds that a young copy has come back with the same bytes asks the home to track the page. So
// pages that a home writes all the time cost it no faults, and those that all only read stay.
//
// Whoever calls has the lock of the node.
#ifndef EXRNIC_DSM_PAGES_H
#define EXRNIC_DSM_PAGES_H

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "area.h"
#include "diff.h"
#include "dsm_message.h"
#include "layout.h"

namespace exrnic {

// To the homes of pages. Offsets and bytes of the area.
class DsmHomes {
 public:
  virtual ~DsmHomes() = default;
  virtual void Pull(unsigned node, uint64_t offset, uint32_t bytes) = 0;
  virtual void Push(unsigned node, const std::vector<DsmRun>& runs, uint64_t offset) = 0;
  virtual void AwaitPages() = 0;
  // Asks for them to be tracked.
  virtual void Share(unsigned home, const std::vector<uint32_t>& pages) = 0;
};

struct DsmPageCounts {
  uint64_t read_faults, write_faults;
  uint64_t pulled, pushed;  // pages that came, and of which a diff went
  uint64_t pushed_bytes;
};

class DsmPages {
 public:
  DsmPages(DsmArea* area, DsmLayout* layout, unsigned self, DsmHomes* homes);

  // Pages that were allocated, or whose home is known now.
  void Open(uint32_t first, uint32_t count);
  // The program may do it now. The home is known.
  void Fault(uint32_t page, bool write);
  // Diffs are at the homes. What was written since the last call.
  std::vector<uint32_t> Release();
  // What is not to be trusted any more goes.
  void Acquire();

  void HearNotice(const std::vector<DsmRange>& ranges, unsigned writer);
  // Of the pages whose home this node is: tracked from now on. Others are left out.
  std::vector<uint32_t> Track(const std::vector<DsmRange>& ranges);
  void HearTracked(const std::vector<DsmRange>& ranges, unsigned home);

  bool IsThere(uint32_t page) const { return states_[page].access != DsmAccess::kNone; }
  const DsmPageCounts& counts() const { return counts_; }

 private:
  struct State {
    DsmAccess access = DsmAccess::kNone;
    bool tracked = false;     // by its home, as far as this node knows; here: copies are known
    bool young = false;       // in young_
    bool outdated = false;    // in outdated_
    bool written = false;     // in written_
    bool had = false;         // it was there, and went
    bool compares = false;    // it went only because it was young: the bytes are those of then
    uint8_t* twin = nullptr;  // of twins_
  };

  bool IsHome(uint32_t page) const { return layout_->Home(page) == self_; }
  uint32_t RunAt(uint32_t page);
  void Fetch(uint32_t page);
  void MakeTwin(uint32_t page);
  void PushDiff(uint32_t page);  // until AwaitPages
  void MarkWritten(uint32_t page);
  void SetAccess(const std::vector<uint32_t>& pages, DsmAccess access);

  DsmArea* const area_;
  DsmLayout* const layout_;
  const unsigned self_;
  DsmHomes* const homes_;
  std::vector<State> states_;
  std::vector<uint32_t> young_, outdated_, written_;
  std::vector<uint32_t> twinned_;  // pages with a twin
  std::vector<std::unique_ptr<uint8_t[]>> twins_;
  std::vector<uint8_t*> free_twins_;
  std::vector<DsmRun> runs_;     // of PushDiff
  std::vector<uint8_t> before_;  // of Fetch
  uint32_t next_ = 0;            // behind the last page that came,
  uint32_t ahead_ = 1;           // and how many come together if the program goes on there
  DsmPageCounts counts_ = {};
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_PAGES_H
