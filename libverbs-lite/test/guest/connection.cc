// SPDX-License-Identifier: BSD-2-Clause
#include "connection.h"

#include <cstring>
#include <mutex>

#include "pd.h"
#include "qp.h"
#include "rnic.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kHello = 300, kJoined };

constexpr uint32_t kCheckedSize = 96;
constexpr uint32_t kCheckedOps = 40;

std::string Describe(uint64_t wr_id) { return "work request " + std::to_string(wr_id); }

}  // namespace

Side::Side(const Bench& bench)
    : rnic(Own(bench.Open(), "cannot open the RNIC")),
      pd(Own(vl_allocate_pd(rnic.get()), "vl_allocate_pd")),
      node(QueryRnic(rnic.get()).node_id) {}

vl_qp_init_attr EveryOperation(vl_cq* cq, uint32_t send_wr, uint32_t recv_wr) {
  vl_qp_init_attr init = QpAttributes(cq, send_wr, recv_wr);
  init.max_send_sge = init.max_recv_sge = VL_MAX_SGE;
  init.max_inline = VL_MAX_INLINE;
  init.max_reads_out = init.max_reads_in = VL_MAX_READS;
  return init;
}

Connection::Connection(Side* side, size_t bytes, uint32_t send_wr, uint32_t max_reads_in,
                       vl_service service)
    : node_(side->node),
      own_source_(std::make_unique<Pages>(bytes)),
      own_target_(std::make_unique<Pages>(bytes)),
      source_(own_source_->data()),
      target_(own_target_->data()),
      bytes_(bytes) {
  memset(target_, kPoison, bytes_);
  MakeQueues(side, send_wr, max_reads_in, service);
  source_mr_ = Own(vl_allocate_mr(side->pd.get(), source_, bytes_, 0), "vl_allocate_mr");
  RegisterTarget(side);
}

Connection::Connection(Side* side, uint8_t* memory, size_t bytes)
    : node_(side->node), source_(memory), target_(memory), bytes_(bytes) {
  MakeQueues(side, kReceives, VL_MAX_READS, VL_SERVICE_RC);
  RegisterTarget(side);
}

void Connection::MakeQueues(Side* side, uint32_t send_wr, uint32_t max_reads_in,
                            vl_service service) {
  cq_ = Own(vl_create_cq(side->rnic.get(), send_wr + kReceives, nullptr), "vl_create_cq");
  vl_qp_init_attr init = EveryOperation(cq_.get(), send_wr, kReceives);
  init.max_reads_in = max_reads_in;
  init.service = service;
  qp_ = CreateQp(side->pd.get(), init);
}

void Connection::RegisterTarget(Side* side) {
  target_mr_ = Own(vl_allocate_mr(side->pd.get(), target_, bytes_, kAccess), "vl_allocate_mr");
}

void Connection::AllowAtomics() {
  SetMrAccess(target_mr_.get(), kAccess | VL_ACCESS_REMOTE_ATOMIC);
}

Hello Connection::hello() const {
  return {AddressOf(target()), bytes_, node_, vl_qp_number(qp()), vl_mr_stag(target_mr_.get()), 0};
}

void Connection::Join(const Hello& peer, const RnrTerms& rnr) {
  peer_ = peer;
  ConnectQp(qp(), peer.node, peer.qpn, rnr);
}

Hello Connection::ExchangeHello(Bench* bench, const Hello& mine) {
  return bench->oob()->Exchange(kHello, mine);
}

void Connection::AwaitJoined(Bench* bench) { bench->oob()->Exchange<uint32_t>(kJoined, 0); }

void Connection::Meet(Bench* bench) {
  Join(ExchangeHello(bench, hello()));
  AwaitJoined(bench);
}

PushLink Connection::Link(Oob* oob) const {
  return {oob, cq(), qp(), source(), source_stag(), target(), bytes_, peer_.stag, peer_.address};
}

Push MakePush(const Connection& connection, uint64_t wr_id, size_t from, size_t to,
              uint32_t length) {
  return {wr_id,
          {connection.Source(from, length)},
          connection.peer().address + to,
          connection.peer().stag};
}

void Post(vl_qp* qp, const std::vector<Push>& pushes) {
  std::vector<vl_send_wr> wrs(pushes.size());
  for (size_t i = 0; i < pushes.size(); ++i) {
    const Push& push = pushes[i];
    wrs[i].wr_id = push.wr_id;
    wrs[i].next = i + 1 < wrs.size() ? &wrs[i + 1] : nullptr;
    wrs[i].sg_list = push.list.data();
    wrs[i].num_sge = static_cast<int>(push.list.size());
    wrs[i].opcode = VL_OP_PUSH;
    wrs[i].flags = VL_SEND_SIGNALED;
    wrs[i].remote_stag = push.remote_stag;
    wrs[i].remote_address = push.remote_address;
  }
  Check(vl_post_sq(qp, wrs.data(), nullptr), "vl_post_sq");
}

exrnic_wqe RawPush(const Connection& connection, size_t from, size_t to, uint32_t length) {
  exrnic_wqe wqe = {};
  wqe.opcode = EXRNIC_WQE_OPCODE_PUSH;
  wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED;
  wqe.num_sge = 1;
  wqe.num_slots = 1;
  wqe.remote_to = connection.peer().address + to;
  wqe.remote_stag = connection.peer().stag;
  wqe.length = length;
  wqe.sge0_address = AddressOf(connection.source() + from);
  wqe.sge0_length = length;
  wqe.sge0_stag = connection.source_stag();
  return wqe;
}

void PutRaw(vl_qp* qp, const exrnic_wqe& wqe, uint64_t wr_id) {
  std::lock_guard<SpinLock> guard(qp->sq.lock());
  exrnic_work slots = {};
  slots.head = wqe;
  qp->sq.Put(slots, 1, wr_id);
}

void PostRaw(vl_qp* qp, const exrnic_wqe& wqe, uint64_t wr_id) {
  PutRaw(qp, wqe, wr_id);
  std::lock_guard<SpinLock> guard(qp->sq.lock());
  qp->sq.RingDoorbell(qp->pd->rnic->user_page, qp->number);
}

void ExpectCompletion(Bench* bench, vl_cq* cq, uint64_t wr_id, vl_wc_status status,
                      uint32_t detail) {
  const vl_wc wc = AwaitCompletion(cq, Describe(wr_id));
  bench->ExpectEqual(wc.wr_id, wr_id, "completed work request");
  bench->Expect(wc.status == status, Describe(wr_id) + " ended with \"" +
                                         vl_status_string(wc.status) + "\", not \"" +
                                         vl_status_string(status) + "\"");
  bench->ExpectEqual(wc.detail, detail, "terminate code of " + Describe(wr_id));
}

void ExpectNoCompletion(Bench* bench, vl_cq* cq, const std::string& why) {
  vl_wc wc;
  bench->Expect(vl_poll_cq(cq, 1, &wc) == 0, "a completion came, though " + why);
}

void SendChecked(Bench* bench, const Connection& connection) {
  SendSize(connection.Link(bench->oob()), kCheckedSize, kCheckedOps, bench->NextSeed());
}

void ReceiveChecked(Bench* bench, const Connection& connection) {
  bench->NextSeed();
  ReceiveSize(connection.Link(bench->oob()));
}

}  // namespace exrnic
