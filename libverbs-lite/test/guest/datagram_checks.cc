// SPDX-License-Identifier: BSD-2-Clause
// Datagrams between two guests: to a queue pair, to a group, with keys that match or not.
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "connection.h"
#include "pattern.h"
#include "work.h"

namespace exrnic {

namespace {

constexpr uint32_t kQkey = 0x1234'5678;
constexpr uint32_t kGroup = 77;
constexpr uint32_t kBytes = 200;

// A queue pair of VL_SERVICE_UD, in RTS, that knows the other guest's.
class Datagrams : public Connection {
 public:
  Datagrams(Side* side, Bench* bench) : Connection(side, 64 * 1024, 64, 0, VL_SERVICE_UD) {
    ReadyDatagrams(qp(), kQkey);
    other_ = ExchangeHello(bench, hello());
  }
  const Hello& other() const { return other_; }

  Work To(vl_wr_opcode opcode, uint64_t wr_id, const vl_destination& to, uint32_t bytes = kBytes) {
    Work work(opcode, wr_id, {Source(0, bytes)});
    work.wr.ud = to;
    work.wr.imm_data = 50 + static_cast<uint32_t>(wr_id);
    return work;
  }
  vl_destination Other(uint32_t qkey = kQkey) const { return ToQp(other_.node, other_.qpn, qkey); }

 private:
  Hello other_ = {};
};

vl_wc ExpectDatagram(Bench* bench, const Datagrams& end, uint64_t wr_id, int flags = 0) {
  const vl_wc wc = AwaitCompletion(end.cq(), "datagram " + std::to_string(wr_id));
  bench->ExpectEqual(wc.wr_id, wr_id, "receive");
  bench->Expect(wc.status == VL_WC_SUCCESS, "it failed");
  bench->ExpectEqual(wc.byte_len, kBytes, "its bytes");
  bench->ExpectEqual(static_cast<uint64_t>(wc.flags),
                     static_cast<uint64_t>(flags | VL_WC_WITH_SOURCE), "its flags");
  bench->ExpectEqual(wc.src_node, end.other().node, "its sender's node");
  bench->ExpectEqual(wc.src_qpn, end.other().qpn, "its sender's queue pair");
  if (flags & VL_WC_WITH_IMM) bench->ExpectEqual(wc.imm_data, 50 + wr_id, "immediate data");
  return wc;
}

void SendDatagrams(Bench* bench) {
  Side side(*bench);
  Datagrams end(&side, bench);
  FillPattern(bench->NextSeed(), end.source(), end.bytes());
  bench->Meet();  // the receives are posted, and one queue pair is attached
  const vl_destination group = ToGroup(kGroup, kQkey);
  const Work works[] = {end.To(VL_OP_SEND, 0, end.Other()), end.To(VL_OP_SEND_IMM, 1, end.Other()),
                        end.To(VL_OP_SEND, 8, end.Other(kQkey + 1)),
                        end.To(VL_OP_SEND_IMM, 2, group)};
  for (const Work& work : works) Post(end, work);
  for (const Work& work : works) ExpectCompletion(bench, end.cq(), work.wr.wr_id, VL_WC_SUCCESS);
  bench->Meet();  // detached
  Post(end, end.To(VL_OP_SEND, 9, group));
  Post(end, end.To(VL_OP_SEND_IMM, 3, end.Other()));
  for (const uint64_t wr_id : {9, 3}) ExpectCompletion(bench, end.cq(), wr_id, VL_WC_SUCCESS);
  ExpectState(bench, end.qp(), VL_QPS_RTS);
  bench->Meet();
}

void ReceiveDatagrams(Bench* bench) {
  Side side(*bench);
  Datagrams end(&side, bench);
  std::vector<uint8_t> source(kBytes);
  FillPattern(bench->NextSeed(), source.data(), source.size());
  std::optional<GroupMember> member(std::in_place, end.qp(), kGroup);
  for (uint32_t i = 0; i < 4; ++i) PostReceive(end.qp(), i, {end.Target(i * kBytes, kBytes)});
  bench->Meet();
  ExpectDatagram(bench, end, 0);
  ExpectDatagram(bench, end, 1, VL_WC_WITH_IMM);
  const vl_wc of_group = ExpectDatagram(bench, end, 2, VL_WC_WITH_IMM | VL_WC_WITH_GROUP);
  bench->ExpectEqual(of_group.group, kGroup, "its group");
  bench->Expect(vl_attach_mcast(end.qp(), kGroup) == -1 && errno == EEXIST, "attached twice");
  member.reset();
  bench->Expect(vl_detach_mcast(end.qp(), kGroup) == -1 && errno == ENOENT, "detached twice");
  bench->Meet();
  ExpectDatagram(bench, end, 3, VL_WC_WITH_IMM);
  for (uint32_t i = 0; i < 4; ++i) {
    bench->Expect(memcmp(end.target() + i * kBytes, source.data(), kBytes) == 0,
                  "other bytes in datagram " + std::to_string(i));
  }
  ExpectState(bench, end.qp(), VL_QPS_RTS);
  bench->Meet();
}

void RefuseDatagrams(Bench* bench) {
  Side side(*bench);
  Datagrams end(&side, bench);
  const vl_rnic_attr rnic = QueryRnic(side.rnic.get());
  const auto refused = [&](Work work, const std::string& what) {
    work.wr.sg_list = work.list.data();
    work.wr.num_sge = static_cast<int>(work.list.size());
    const vl_send_wr* bad = nullptr;
    bench->Expect(vl_post_sq(end.qp(), &work.wr, &bad) == -1 && errno == EINVAL, "posted: " + what);
  };
  for (const vl_wr_opcode opcode :
       {VL_OP_PUSH, VL_OP_PUSH_IMM, VL_OP_PULL, VL_OP_FETCH_ADD, VL_OP_SEND_INVALIDATE}) {
    refused(end.To(opcode, 0, end.Other(), 8), "opcode " + std::to_string(opcode));
  }
  refused(end.To(VL_OP_SEND, 0, end.Other(), rnic.mtu + 1), "more than the mtu");
  refused(end.To(VL_OP_SEND, 0, {EXRNIC_MAX_NODE, 1, kQkey}), "to no node");
  refused(end.To(VL_OP_SEND, 0, {rnic.max_node, 1, kQkey}), "to one that this RNIC has not");
  refused(end.To(VL_OP_SEND, 0, {end.other().node, EXRNIC_MAX_QP, kQkey}), "to no queue pair");
  refused(end.To(VL_OP_SEND, 0, {VL_NODE_GROUP, VL_MAX_GROUP + 1, kQkey}), "to no group");
  bench->Expect(vl_attach_mcast(end.qp(), VL_MAX_GROUP + 1) == -1 && errno == EINVAL, "no group");
  Connection connected(&side);
  bench->Expect(vl_attach_mcast(connected.qp(), 1) == -1 && errno == EINVAL, "RC at a group");
  vl_qp_attr attr = {};
  attr.state = VL_QPS_RESET;
  Check(vl_modify_qp(end.qp(), &attr), "vl_modify_qp to RESET");
  attr.state = VL_QPS_INIT;
  for (const uint32_t index : {uint32_t{VL_PKEYS - 1}, uint32_t{VL_PKEYS}, ~0u}) {
    attr.pkey_index = index;
    bench->Expect(vl_modify_qp(end.qp(), &attr) == -1 && errno == EINVAL,
                  "INIT with P_Key " + std::to_string(index));
  }
  bench->Meet();
}

}  // namespace

std::vector<GuestCheck> DatagramChecks() {
  std::vector<GuestCheck> checks = {
      {"datagrams reach the queue pair or the group that they are for, if they have its key",
       SendDatagrams, ReceiveDatagrams},
      {"what no datagram can be is not posted", RefuseDatagrams, RefuseDatagrams},
  };
  for (GuestCheck& check : checks) check.needs_rnic = true;
  return checks;
}

}  // namespace exrnic
