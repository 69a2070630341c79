// SPDX-License-Identifier: BSD-2-Clause
#include "exrnic/cluster.hpp"

#include <cerrno>

#include "engine.h"

namespace vl {

namespace {

constexpr const char* kOperationNames[] = {"send", "send_with_imm", "write", "write_with_imm"};

}  // namespace

ClusterOperation ClusterOperationOf(const std::string& name) {
  std::string all;
  for (int i = 0; i < 4; ++i) {
    if (name == kOperationNames[i]) return static_cast<ClusterOperation>(i);
    all += std::string(i == 0 ? "" : ", ") + kOperationNames[i];
  }
  throw ClusterError("operation is \"" + name + "\": one of " + all, EINVAL);
}

const char* ClusterOperationName(ClusterOperation operation) {
  return kOperationNames[static_cast<int>(operation)];
}

bool Transfer::Done() { return engine_->Done(state_.get()); }
Received Transfer::Wait() { return Wait(engine_->options().limit); }
Received Transfer::Wait(std::chrono::milliseconds limit) {
  return engine_->Wait(state_.get(), limit);
}
unsigned Transfer::peer() const { return state_->peer; }

Registration::Registration(std::shared_ptr<ClusterEngine> engine, ConstBytes memory, bool receives)
    : engine_(std::move(engine)), number_(engine_->Register(memory, receives)) {}
Registration::~Registration() {
  if (engine_ != nullptr) engine_->Unregister(number_);
}

Cluster::Cluster(ClusterOptions options)
    : engine_(std::make_shared<ClusterEngine>(std::move(options))) {}
Cluster::~Cluster() {
  if (engine_ != nullptr) engine_->Close();
}

void Cluster::Meet() { engine_->Meet(); }
void Cluster::CreateObjects() { engine_->CreateObjects(); }
void Cluster::ConnectQueuePairs() { engine_->ConnectQueuePairs(); }
void Cluster::Connect() {
  Meet();
  CreateObjects();
  ConnectQueuePairs();
}
void Cluster::Leave() { engine_->Leave(); }

unsigned Cluster::self() const { return engine_->options().self; }
unsigned Cluster::nodes() const {
  return static_cast<unsigned>(engine_->options().addresses.size());
}
std::string Cluster::WhyGone(unsigned peer) { return engine_->WhyGone(peer); }
std::string Cluster::Name(unsigned node) const { return engine_->Name(node); }
void Cluster::Cut(unsigned peer, const std::string& why) { engine_->Cut(peer, why); }

Transfer Cluster::Send(unsigned peer, ClusterOperation operation, ConstBytes message,
                       uint32_t immediate) {
  return Transfer(engine_, engine_->Send(peer, operation, message, immediate));
}
Transfer Cluster::Receive(unsigned peer, Bytes buffer) {
  return Transfer(engine_, engine_->Receive(peer, buffer));
}
void Cluster::Poll() { engine_->Progress(); }
Registration Cluster::Register(Bytes memory) {
  return Registration(engine_, ConstBytes(memory.data(), memory.size()), true);
}
Registration Cluster::RegisterToSend(ConstBytes memory) {
  return Registration(engine_, memory, false);
}

}  // namespace vl
