// SPDX-License-Identifier: BSD-2-Clause
// The peer of a PEB, who has met it: introductions, messages that are good but for what the input
// says, segments that are anything; and its bus meanwhile. An input is a list of steps, each a byte
// that says which, and what it needs.
#include <map>
#include <set>
#include <string>
#include <utility>

#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/peb/peb.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
// Of its own: other targets of this folder have other steps.
namespace peb_target {
namespace {

using namespace peb;

enum Step : uint8_t { kIntroduce, kMessage, kSegment, kAsk, kWrite, kComplete, kWait, kSteps };

constexpr uint16_t kOurs = 1;
constexpr uint16_t kPeers = 2;
constexpr uint16_t kGroup = 5;
constexpr uint16_t kSession = 77;
constexpr uint64_t kStepNs = 4;
constexpr uint64_t kWaitNs = uint64_t{1} << EXRNIC_READ_TIMEOUT_SHIFT;
constexpr uint64_t kPage = 4096;

// The bus and the MAC: what cannot be there is found.
class Sink final : public PebSink {
 public:
  explicit Sink(Side side) : side_(side) {}

  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override {
    const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
    session = static_cast<uint16_t>(exrnic_efe_session(efe));
    if (!(exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ)) return;
    next = static_cast<uint32_t>(exrnic_efe_seq(efe)) + 1;
    life = static_cast<uint16_t>(exrnic_efe_src_generation(efe));
  }
  bool can_write(unsigned) override { return true; }
  void write(unsigned, Write&& write) override {
    check(write.address, write.data.size(), EXRNIC_PEB_PAYLOAD_MAX);
  }
  bool can_request(unsigned) override { return served.size() < 16; }
  void request(unsigned, uint64_t name, Request&& request) override {
    const bool config = request.kind != Request::Kind::kRead;
    if (config && side_ == Side::kHost) found("a device configures its host");
    check(request.address, request.length, config ? 4 : EXRNIC_PEB_REQUEST_MAX);
    if (config && (request.address >= kPage || request.address % 4 + request.length > 4))
      found("a configuration request beside the DWs of its space");
    served.emplace(name, std::move(request));
  }
  void answered(unsigned, Answer&& answer) override {
    const auto one = asked.find(answer.id);
    if (one == asked.end()) found("an answer to what nobody waits for");
    const bool good = answer.status == EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
    if (answer.data.size() != (good ? one->second : 0)) found("an answer of another length");
    asked.erase(one);
  }
  void link(unsigned, bool up) override {
    if (up == up_) found("the link comes or goes twice");
    up_ = up;
    served.clear();
  }

  std::map<uint64_t, uint32_t> asked;  // bytes that are to be answered
  std::map<uint64_t, Request> served;
  // Of what was sent last.
  uint16_t session = 0;
  uint32_t next = EXRNIC_INITIAL_SEQ;
  uint16_t life = 0;

 private:
  static void check(uint64_t address, uint64_t length, uint64_t most) {
    if (length == 0 || length > most || address % kPage + length > kPage)
      found(std::to_string(length) + " bytes at " + std::to_string(address));
  }

  const Side side_;
  bool up_ = false;
};

// Makes frames as the peer does, in its session.
class Peers {
 public:
  Peers(Peb& peb, const Sink& sink) : peb_(peb), sink_(sink) {}

  void say(const Bytes& ddp) {
    Frame frame;
    frame.data.resize(EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES);
    uint8_t* ethernet = frame.data.data();
    uint8_t* efe = ethernet + EXRNIC_ETH_BYTES;
    exrnic_eth_set_dst(ethernet, ref::mac_of(kOurs));
    exrnic_eth_set_src(ethernet, ref::mac_of(kPeers));
    exrnic_eth_set_ethertype(ethernet, EXRNIC_ETHERTYPE);
    exrnic_efe_set_version(efe, EXRNIC_EFE_VERSION);
    exrnic_efe_set_flags(efe, EXRNIC_EFE_FLAGS_SEQ | EXRNIC_EFE_FLAGS_SYN |
                                  (sink_.session == 0 ? 0u : unsigned{EXRNIC_EFE_FLAGS_ACK}));
    exrnic_efe_set_src_node(efe, kPeers);
    exrnic_efe_set_session(efe, kSession);
    exrnic_efe_set_peer_session(efe, sink_.session);
    exrnic_efe_set_seq(efe, next_++);
    exrnic_efe_set_ack(efe, sink_.next);
    exrnic_efe_set_dst_qpn(efe, EXRNIC_PEB_QPN + kGroup);
    exrnic_efe_set_src_qpn(efe, EXRNIC_PEB_QPN + kGroup);
    exrnic_efe_set_src_generation(efe, life);
    exrnic_efe_set_dst_generation(efe, sink_.life);
    exrnic_efe_set_length(efe, ddp.size());
    frame.data.insert(frame.data.end(), ddp.begin(), ddp.end());
    frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));
    peb_.receive(std::move(frame));
  }
  void introduce(uint16_t new_life, uint64_t kind) {
    life = new_life;
    messages_ = 0;
    ref::Tagged header;
    header.last = true;
    header.stag = EXRNIC_INTRODUCTION_STAG;
    header.to = kind;
    say(ref::make_header(header));
  }
  void send(const Bytes& message) {
    ref::Untagged header;
    header.msn = ++messages_;
    Bytes ddp = ref::make_header(header);
    put(ddp, message);
    say(ddp);
  }

  uint16_t life = 1;

 private:
  Peb& peb_;
  const Sink& sink_;
  uint32_t next_ = EXRNIC_INITIAL_SEQ;
  uint32_t messages_ = 0;
};

void put_introduction(Bytes& to) {
  put<uint8_t>(to, kIntroduce);
  put<uint16_t>(to, 3);
  put<uint8_t>(to, 0);
}

void put_message(Bytes& to, const std::optional<Tlp>& tlp) {
  Bytes message(EXRNIC_PEB_BYTES);
  exrnic_peb_set_posted_limit(message.data(), 32);
  exrnic_peb_set_request_limit(message.data(), 32);
  if (tlp) put(message, encode(*tlp, {kPeers, kOurs}));
  put<uint8_t>(to, kMessage);
  put<uint8_t>(to, static_cast<uint8_t>(message.size()));
  put(to, message);
}

// Who meets, writes, asks for a register and memory, and answers what it was asked for.
std::vector<Bytes> seeds() {
  std::vector<Bytes> seeds;
  for (const Side side : {Side::kHost, Side::kDevice}) {
    Bytes seed{static_cast<uint8_t>(side)};
    put_introduction(seed);
    put_introduction(seed);
    put_message(seed, std::nullopt);
    put_message(seed, Write{0xfee0'0001, Bytes(6, 1)});
    put_message(seed, Request{Request::Kind::kRead, 1, uint64_t{1} << 33, 700, {}});
    if (side == Side::kDevice)
      put_message(seed, Request{Request::Kind::kConfigWrite, 2, 5, 1, Bytes(1, 1)});
    put<uint8_t>(seed, kComplete);
    put<uint8_t>(seed, 0);
    put<uint8_t>(seed, kAsk);
    put<uint32_t>(seed, 100);
    put<uint16_t>(seed, 99);
    put_message(seed, Completion{0, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, 100, 100, Bytes(28, 1)});
    put_message(seed, Completion{0, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, 72, 0, Bytes(72, 2)});
    put<uint8_t>(seed, kWrite);
    put<uint16_t>(seed, 500);
    put<uint8_t>(seed, kAsk);
    put<uint32_t>(seed, 8000);
    put<uint16_t>(seed, 1000);
    for (unsigned i = 0; i < 3; ++i) put<uint8_t>(seed, kWait);
    seeds.push_back(seed);
  }
  return seeds;
}

void run(const uint8_t* data, size_t size) {
  Reader in(data, size);
  const Side side = in.take<uint8_t>() % 2 == 0 ? Side::kHost : Side::kDevice;
  Sink sink(side);
  CoreConfig config;
  config.node_id = kOurs;
  Peb peb(config, side, 1, sink);
  peb.assign(0, Peer{kPeers, kGroup});
  Peers peer(peb, sink);
  uint64_t time_ns = 0;
  uint64_t asked = 0;
  while (!in.empty()) {
    time_ns += kStepNs;
    peb.step(time_ns);
    switch (in.take<uint8_t>() % kSteps) {
      case kIntroduce: {
        const auto life = in.take<uint16_t>();
        peer.introduce(life, in.take<uint8_t>() % 2);
        break;
      }
      case kMessage:
        peer.send(in.bytes(in.take<uint8_t>()));
        break;
      case kSegment:
        peer.say(in.bytes(in.take<uint8_t>()));
        break;
      case kAsk: {
        const auto address = in.take<uint32_t>();
        const uint32_t length = 1 + in.take<uint16_t>() % EXRNIC_PEB_REQUEST_MAX;
        sink.asked[++asked] = length;
        peb.request(0, {asked, Request::Kind::kRead, address, length, {}});
        break;
      }
      case kWrite:
        peb.write(0, uint64_t{asked} << 20, Bytes(in.take<uint16_t>(), 3));
        break;
      case kComplete: {
        const bool good = in.take<uint8_t>() % 4 != 0;
        if (sink.served.empty()) break;
        const auto [name, request] = *sink.served.begin();
        sink.served.erase(sink.served.begin());
        const bool reads = good && request.kind != Request::Kind::kConfigWrite;
        peb.complete(0, name,
                     good ? EXRNIC_COMPLETION_STATUS_SUCCESSFUL : EXRNIC_COMPLETION_STATUS_ABORT,
                     Bytes(reads ? request.length : 0, 4));
        break;
      }
      default:
        time_ns += kWaitNs;
    }
  }
  peb.step(time_ns + kStepNs);
  peb.assign(0, std::nullopt);
  if (!sink.asked.empty()) found("a request without an answer");
}

}  // namespace
}  // namespace peb_target

std::vector<Bytes> peb_seeds() { return peb_target::seeds(); }
void fuzz_peb(const uint8_t* data, size_t size) { peb_target::run(data, size); }

}  // namespace exrnic::fuzz
