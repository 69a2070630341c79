// SPDX-License-Identifier: BSD-2-Clause
#include "tests/protection/access_case.h"

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/work.h"

namespace exrnic::testing {
namespace {

Bytes tagged(uint8_t opcode, uint32_t stag, uint64_t to, const Bytes& payload) {
  Bytes ddp(EXRNIC_DDP_TAGGED_BYTES);
  exrnic_ddp_tagged_set_t(ddp.data(), 1);
  exrnic_ddp_tagged_set_last(ddp.data(), 1);
  exrnic_ddp_tagged_set_dv(ddp.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_tagged_set_rv(ddp.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_tagged_set_opcode(ddp.data(), opcode);
  exrnic_ddp_tagged_set_stag(ddp.data(), stag);
  exrnic_ddp_tagged_set_to(ddp.data(), to);
  ddp.insert(ddp.end(), payload.begin(), payload.end());
  return ddp;
}

Bytes untagged(uint8_t opcode, uint32_t qn, uint32_t msn, uint32_t stag, const Bytes& payload) {
  Bytes ddp(EXRNIC_DDP_UNTAGGED_BYTES);
  exrnic_ddp_untagged_set_last(ddp.data(), 1);
  exrnic_ddp_untagged_set_dv(ddp.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_untagged_set_rv(ddp.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_untagged_set_opcode(ddp.data(), opcode);
  exrnic_ddp_untagged_set_invalidate_stag(ddp.data(), stag);
  exrnic_ddp_untagged_set_qn(ddp.data(), qn);
  exrnic_ddp_untagged_set_msn(ddp.data(), msn);
  ddp.insert(ddp.end(), payload.begin(), payload.end());
  return ddp;
}

Bytes read_request(const AccessCase& access) {
  Bytes body(EXRNIC_READ_REQUEST_BYTES);
  exrnic_read_request_set_sink_stag(body.data(), 0x77);
  exrnic_read_request_set_length(body.data(), access.attempt.length);
  exrnic_read_request_set_source_stag(body.data(), access.attempt.stag);
  exrnic_read_request_set_source_to(body.data(), access.attempt.to);
  return body;
}

std::vector<exrnic_sge> element_of(const Attempt& attempt) {
  if (attempt.length == 0) return {};
  return {{attempt.to, static_cast<uint32_t>(attempt.length), attempt.stag}};
}

// Terminate codes of RFC 5040, 4.8 and RFC 5041, 8, by hand: which reason each one names.
unsigned reasons_of_code(Kind kind, uint16_t code) {
  if (kind == Kind::kScatter) return code == 0x0000 ? ~0u : 0;  // the owner's CQE says no more
  if (kind == Kind::kInvalidate && code == 0x0109) return kNoRight;
  const unsigned base = kind == Kind::kPush ? 0x1100 : 0x0100;
  if (code == base) return kNoSuchStag;
  if (code == base + 1) return kOutside;
  if (code == 0x0102) return kNoRight;
  if (code == (kind == Kind::kPush ? 0x1102 : 0x0103)) return kOtherDomain;
  if (code == (kind == Kind::kPush ? 0x1103 : 0x0104)) return kWraps;
  return 0;
}

bool has_cqe(const AccessCase& access, exrnic_cqe_status status) {
  return std::any_of(access.cqes.begin(), access.cqes.end(),
                     [=](const exrnic_cqe& cqe) { return cqe.status == status; });
}

std::string judge_grant(const AccessCase& access) {
  if (access.code) return fmt::format("false refusal, code {:#06x}", *access.code);
  if (access.kind == Kind::kPush) return "";
  if (access.kind != Kind::kPull && !has_cqe(access, EXRNIC_CQE_STATUS_SUCCESS))
    return access.cqes.empty() ? "no completion"
                               : fmt::format("false refusal, status {}", access.cqes[0].status);
  if (!access.to_peer()) return "";
  if (!access.ended) return "no answer";
  return access.received == access.data ? "" : "wrong bytes leave";
}

std::string judge_refusal(const AccessCase& access) {
  if (!access.received.empty() || access.ended) return "false grant: bytes leave";
  const bool local = access.kind == Kind::kGather || access.kind == Kind::kScatter;
  if (local && !has_cqe(access, EXRNIC_CQE_STATUS_LOC_PROT_ERR))
    return "false grant: no completion says LOC_PROT_ERR";
  if (access.kind == Kind::kGather) return "";
  if (!access.code) return "false grant: no terminate message";
  if ((reasons_of_code(access.kind, *access.code) & access.reasons) != 0) return "";
  return fmt::format("refused for a reason that is none, code {:#06x}", *access.code);
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[kKinds] = {"PUSH", "PULL", "gather", "scatter", "invalidation"};
  return kNames[static_cast<size_t>(kind)];
}

void post(Stage& stage, const AccessCase& access) {
  const auto elements = element_of(access.attempt);
  if (access.kind == Kind::kScatter)
    return stage.post_receive(*access.qp, slots_of(receive_into(elements)));
  if (access.kind == Kind::kInvalidate)
    return stage.post_receive(*access.qp, slots_of(receive_into({})));
  if (access.kind != Kind::kGather) return;
  Work push;
  push.opcode = EXRNIC_WQE_OPCODE_PUSH;
  push.elements = elements;
  stage.post_send(*access.qp, slots_of(push));
}

Bytes segment_of(AccessCase& access) {
  StageQp& qp = *access.qp;
  switch (access.kind) {
    case Kind::kPush:
      return tagged(EXRNIC_RDMAP_OPCODE_WRITE, access.attempt.stag, access.attempt.to, access.data);
    case Kind::kPull:
      return untagged(EXRNIC_RDMAP_OPCODE_READ_REQUEST, EXRNIC_READ_QN, qp.read_msn++, 0,
                      read_request(access));
    case Kind::kScatter:
      return untagged(EXRNIC_RDMAP_OPCODE_SEND, EXRNIC_SEND_QN, qp.send_msn++, 0, access.data);
    case Kind::kInvalidate:
      return untagged(EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE, EXRNIC_SEND_QN, qp.send_msn++,
                      access.attempt.stag, {});
    default:
      return {};
  }
}

bool is_refusal(const uint8_t* ddp) {
  return !exrnic_ddp_untagged_t(ddp) &&
         exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE;
}

void take(AccessCase& access, const uint8_t* ddp, size_t length) {
  const bool is_tagged = exrnic_ddp_tagged_t(ddp);
  if (is_refusal(ddp)) {
    access.code = static_cast<uint16_t>(exrnic_terminate_code(ddp + EXRNIC_DDP_UNTAGGED_BYTES));
    return;
  }
  const size_t header = is_tagged ? EXRNIC_DDP_TAGGED_BYTES : EXRNIC_DDP_UNTAGGED_BYTES;
  access.received.insert(access.received.end(), ddp + header, ddp + length);
  access.ended = exrnic_ddp_tagged_last(ddp);
}

bool failed(const AccessCase& access) {
  return access.code || std::any_of(access.cqes.begin(), access.cqes.end(), [](auto& cqe) {
           return cqe.status != EXRNIC_CQE_STATUS_SUCCESS;
         });
}

std::string judge(const AccessCase& access) {
  return access.reasons == 0 ? judge_grant(access) : judge_refusal(access);
}

std::string describe(const AccessCase& access) {
  const Attempt& a = access.attempt;
  return fmt::format(
      "{} by queue pair {} (domain {}) of STag {:#010x}, offset {:#x}, {} bytes; "
      "reasons against it: {:#x}",
      name_of(access.kind), access.qp->qpn, a.domain, a.stag, a.to, a.length, access.reasons);
}

}  // namespace exrnic::testing
