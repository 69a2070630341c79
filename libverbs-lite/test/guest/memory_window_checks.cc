// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: a part of a region for one peer, for a while.
#include <cerrno>
#include <cstring>

#include "pattern.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr uint32_t kFrom = 3000;  // of the window, in the target
constexpr uint32_t kLength = 5000;
enum OobMessage : uint32_t { kStag = 520 };

struct Window {
  Window(const Side& side, const Connection& connection)
      : region(AllocateMr(side.pd.get(), connection.target(), connection.bytes(),
                          VL_ACCESS_LOCAL_WRITE | VL_ACCESS_MW_BIND)),
        mw(AllocateMw(side.pd.get())) {}

  uint32_t Stag(uint8_t key) const { return (vl_mw_stag(mw.get()) & ~0xffu) | key; }
  Work Bind(uint64_t wr_id, const Connection& connection, uint8_t key) const {
    Work work(VL_OP_BIND_MW, wr_id);
    work.wr.bind = {Stag(key), vl_mr_stag(region.get()), AddressOf(connection.target() + kFrom),
                    kLength, VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ};
    return work;
  }

  Owned<vl_mr> region;
  Owned<vl_mw> mw;
};

// ---- By a window

Work ByWindow(vl_wr_opcode opcode, uint64_t wr_id, const Connection& connection, uint32_t stag,
              const vl_sge& own) {
  Work work = RemoteWork(opcode, wr_id, connection, kFrom, {own});
  work.wr.remote_stag = stag;
  return work;
}

void UseWindow(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  const auto stag = bench->oob()->ReceiveStruct<uint32_t>(kStag);
  const Work push = ByWindow(VL_OP_PUSH, 1, connection, stag, connection.Source(0, kLength));
  Post(connection, push);
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  Post(connection, ByWindow(VL_OP_PULL, 2, connection, stag, connection.Target(0, kLength)));
  ExpectCompletion(bench, connection.cq(), 2, VL_WC_SUCCESS);
  bench->Expect(memcmp(connection.source(), connection.target(), kLength) == 0,
                "what was PULLed is not what was PUSHed");
  Work end(VL_OP_SEND_INVALIDATE, 3);
  end.wr.invalidate_stag = stag;
  Post(connection, end);
  ExpectCompletion(bench, connection.cq(), 3, VL_WC_SUCCESS);
  Post(connection, push);
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_REM_ACCESS_ERR, EXRNIC_TERM_CODE_TAGGED_STAG);
  bench->Meet();
}

void OfferWindow(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  const Window window(side, connection);
  PostReceive(connection.qp(), 7, {});
  // Bound, ended and bound again: the peer hears of the second key alone.
  Post(connection, window.Bind(1, connection, 0x31));
  Work end(VL_OP_LOCAL_INVALIDATE, 2);
  end.wr.invalidate_stag = window.Stag(0x31);
  Post(connection, end);
  Post(connection, window.Bind(3, connection, 0x32));
  for (uint64_t i = 1; i <= 3; ++i) {
    ExpectCompletion(bench, connection.cq(), i, VL_WC_SUCCESS);
  }
  bench->oob()->SendStruct(kStag, window.Stag(0x32));
  ExpectReceived(bench, connection.cq(), 7, 0, VL_WC_WITH_INVALIDATE, window.Stag(0x32));
  bench->Expect(!ComparePattern(seed, connection.target() + kFrom, kLength), "bytes arrived wrong");
  bench->Meet();
}

// ---- What is not to be bound

void BindTooMuch(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->NextSeed();
  const Window window(side, connection);
  Work bind = window.Bind(1, connection, 1);
  bind.wr.bind.region_stag = connection.target_stag();  // which has no windows
  Post(connection, bind);
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_MW_BIND_ERR);
  ExpectState(bench, connection.qp(), VL_QPS_ERROR);
  bench->Meet();
}

// ---- How it ends

// The region and the queue pair of a window that is bound go before it.
void OutliveAll(Bench* bench) {
  Side side(*bench);
  Owned<vl_mw> mw;
  {
    Connection connection(&side);
    connection.Meet(bench);
    bench->NextSeed();
    Window window(side, connection);
    Post(connection, window.Bind(1, connection, 1));
    ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
    mw = std::move(window.mw);
    bench->Meet();
  }
  bench->Expect(vl_deallocate_pd(side.pd.get()) == -1 && errno == EBUSY,
                "a domain with a memory window was deallocated");
  bench->Expect(vl_deallocate_mw(mw.release()) == 0, "the memory window was not deallocated");
}

}  // namespace

std::vector<GuestCheck> MemoryWindowChecks() {
  std::vector<GuestCheck> checks = {
      {"a peer uses a memory window that is bound for it, and ends it", UseWindow, OfferWindow},
      {"a memory window is not bound to a region without that right", BindTooMuch, BindTooMuch},
      {"a memory window that is bound outlives its region and its queue pair", OutliveAll,
       OutliveAll},
  };
  for (GuestCheck& check : checks) check.needs_rnic = true;
  return checks;
}

}  // namespace exrnic
