// SPDX-License-Identifier: BSD-2-Clause
// Patterns among all nodes, of transfers between two.
//
// OneToMany begins with a header down a binomial tree, which brings a short message along. A longer
// one follows in chunks, down the tree that the header names. A node that gets no chunk hands down
// in its place that there is none, and who is to blame: so all queues stay in step, and nobody
// waits.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "engine.h"
#include "exrnic/cluster.hpp"

namespace vl {

namespace {

constexpr size_t kEagerBytes = 4096;  // of a message that its header brings along
constexpr size_t kChunkMin = 16 * 1024;
constexpr size_t kChunkMax = 256 * 1024;
// A message that many-to-many sends to one after the other, if all have a partner in each turn.
constexpr size_t kTurnsFrom = 64 * 1024;
// What a node adds to the way of a chunk, as bytes of a line: 25 Gb/s in 5 us.
constexpr size_t kHopBytes = 16 * 1024;

struct TreeHeader {
  uint64_t bytes;
  uint64_t chunk;
  uint32_t fan_out;
  uint32_t operation;
  uint32_t immediate;
  uint32_t zero;
};

bool HasImmediate(ClusterOperation operation) {
  return operation == ClusterOperation::kSendWithImm ||
         operation == ClusterOperation::kWriteWithImm;
}

// Parts of a pattern: all are waited for, whatever becomes of some.
class Parts {
 public:
  Parts(Cluster* cluster, std::chrono::milliseconds limit, const char* pattern)
      : cluster_(cluster),
        end_(exrnic::MeshClock::now() + limit),
        limit_(limit),
        pattern_(pattern) {}

  // Its end; of one that failed nothing, and it is noted.
  std::optional<Received> Await(Transfer transfer) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - exrnic::MeshClock::now());
    try {
      return transfer.Wait(std::max(left, std::chrono::milliseconds(0)));
    } catch (const ClusterError& error) {
      if (error.error() == ETIMEDOUT) {
        const std::string why =
            "it did not take part within " + std::to_string(limit_.count()) + " ms";
        cluster_->Cut(transfer.peer(), why);
        Note(cluster_->Name(transfer.peer()) + ": " + why, ETIMEDOUT, {transfer.peer()});
      } else {
        Note(error.what(), error.error(), error.peers());
      }
      return std::nullopt;
    }
  }
  void Note(const std::string& text, int error, const std::vector<unsigned>& peers) {
    if (errors_.insert(text).second) text_ += (text_.empty() ? "" : "; ") + text;
    if (error_ == 0) error_ = error;
    for (const unsigned peer : peers) peers_.insert(peer);
  }
  // The first of those who failed, or this node.
  unsigned blame() const { return peers_.empty() ? cluster_->self() : *peers_.begin(); }
  void ThrowIfFailed() const {
    if (error_ == 0) return;
    throw ClusterError(std::string(pattern_) + ": " + text_, error_,
                       std::vector<unsigned>(peers_.begin(), peers_.end()));
  }

 private:
  Cluster* const cluster_;
  const exrnic::MeshClock::time_point end_;
  const std::chrono::milliseconds limit_;
  const char* const pattern_;
  std::set<std::string> errors_;
  std::string text_;
  std::set<unsigned> peers_;
  int error_ = 0;
};

void CheckInto(const Cluster& cluster, const std::vector<Bytes>& into, const char* pattern) {
  if (into.size() == cluster.nodes()) return;
  throw ClusterError(std::string(pattern) + ": into has " + std::to_string(into.size()) +
                         " buffers: one for each of " + std::to_string(cluster.nodes()) + " nodes",
                     EINVAL);
}

void CheckPointer(const void* address, size_t bytes, const char* pattern) {
  if (address != nullptr || bytes == 0) return;
  throw ClusterError(
      std::string(pattern) + ": " + std::to_string(bytes) + " bytes at a null pointer", EINVAL);
}

// All other nodes. In each turn all are in pairs, but one if their number is odd: a line into a
// node is not shared then, and acknowledgements go with the data of the other direction.
std::vector<unsigned> PartnersInTurn(unsigned self, unsigned nodes) {
  const unsigned circle =
      nodes - 1 + nodes % 2;  // an odd number; the last of an even one is beside it
  std::vector<unsigned> partners;
  for (unsigned turn = 0; turn < circle; ++turn) {
    unsigned peer = (turn + circle - self % circle) % circle;
    if (self == circle) {
      peer = turn * ((circle + 1) / 2) % circle;  // half of it
    } else if (peer == self) {
      peer = circle;  // who is beside it, or nobody
    }
    if (peer < nodes) partners.push_back(peer);
  }
  return partners;
}

unsigned DepthOfTree(unsigned nodes, unsigned fan_out) {
  unsigned depth = 0;
  for (unsigned node = nodes - 1; node != 0; node = (node - 1) / fan_out) ++depth;
  return depth;
}

// One message of the root, at one node.
class TreeWalk {
 public:
  TreeWalk(Cluster* cluster, const std::shared_ptr<ClusterEngine>& engine, unsigned root,
           const char* pattern)
      : cluster_(cluster),
        engine_(engine),
        root_(root),
        nodes_(cluster->nodes()),
        place_((cluster->self() + nodes_ - root) % nodes_),
        parts_(cluster, engine->options().limit, pattern),
        eager_(sizeof(TreeHeader) + kEagerBytes) {}

  void Send(ClusterOperation operation, ConstBytes message, uint32_t immediate) {
    const ClusterTree tree = ChooseClusterTree(nodes_, message.size());
    header_ = {message.size(), tree.chunk, tree.fan_out, static_cast<uint32_t>(operation),
               immediate,      0};
    size_t bytes = sizeof(header_);
    memcpy(eager_.data(), &header_, sizeof(header_));
    if (message.size() != 0 && message.size() <= kEagerBytes) {
      memcpy(eager_.data() + bytes, message.data(), message.size());
      bytes += message.size();
    }
    // Before the header is on its way: this may fail.
    std::optional<Registration> registration;
    if (message.size() > kEagerBytes && !engine_->IsRegistered(message, false))
      registration.emplace(cluster_->RegisterToSend(message));
    SendHeader(bytes);
    if (message.size() > kEagerBytes) HandDown(const_cast<void*>(message.data()));
    Finish();
  }

  Received Receive(Bytes buffer) {
    const unsigned parent = place_ & (place_ - 1);
    const auto header = parts_.Await(cluster_->Receive(NodeAt(parent), eager_));
    if (!header || !TakeHeader(header->bytes)) {
      if (header) {
        parts_.Note(cluster_->Name(NodeAt(parent)) + " sends a header that is none", EPROTO,
                    {NodeAt(parent)});
      }
      for (const unsigned child : HeaderChildren()) Abort(child);
      Finish();
    }
    SendHeader(header->bytes);
    const bool fits = header_.bytes <= buffer.size();
    if (!fits) {
      parts_.Note("a message of " + std::to_string(header_.bytes) + " bytes of " +
                      cluster_->Name(root_) + " is longer than buffer, " +
                      std::to_string(buffer.size()),
                  EMSGSIZE, {root_});
    }
    received_.timestamp_ns = header->timestamp_ns;
    if (header_.bytes > kEagerBytes) {
      // Others are behind this node in the tree: it passes on what it has no room for.
      std::vector<uint8_t> passing(fits ? 0 : header_.bytes);
      PassOn(fits ? buffer.data() : passing.data());
      Finish();
    } else if (fits && header_.bytes != 0) {
      memcpy(buffer.data(), eager_.data() + sizeof(header_), header_.bytes);
    }
    Finish();
    received_.bytes = header_.bytes;
    if (HasImmediate(operation())) received_.immediate = header_.immediate;
    return received_;
  }

 private:
  // Is it one that a node of this cluster would send, in so many bytes?
  bool TakeHeader(size_t bytes) {
    if (bytes < sizeof(header_)) return false;
    memcpy(&header_, eager_.data(), sizeof(header_));
    if (header_.bytes > kClusterMessageMax ||
        header_.operation > static_cast<uint32_t>(ClusterOperation::kWriteWithImm)) {
      return false;
    }
    const ClusterTree tree = ChooseClusterTree(nodes_, header_.bytes);
    return header_.fan_out == tree.fan_out && header_.chunk == tree.chunk &&
           bytes == sizeof(header_) + (header_.bytes <= kEagerBytes ? header_.bytes : 0);
  }

  ClusterOperation operation() const { return static_cast<ClusterOperation>(header_.operation); }
  unsigned NodeAt(unsigned place) const { return (place + root_) % nodes_; }

  // Those that differ in one bit below the lowest that is set; the farthest first.
  std::vector<unsigned> HeaderChildren() const {
    std::vector<unsigned> children;
    for (unsigned bit = 1; bit < nodes_ && (place_ & bit) == 0; bit <<= 1)
      if (place_ + bit < nodes_) children.insert(children.begin(), NodeAt(place_ + bit));
    return children;
  }
  std::vector<unsigned> ChunkChildren() const {
    std::vector<unsigned> children;
    for (unsigned i = 1; i <= header_.fan_out; ++i) {
      const uint64_t child = uint64_t{place_} * header_.fan_out + i;
      if (child < nodes_) children.push_back(NodeAt(static_cast<unsigned>(child)));
    }
    return children;
  }
  size_t Chunks() const { return (header_.bytes + header_.chunk - 1) / header_.chunk; }
  Bytes Chunk(void* message, size_t index) const {
    const size_t from = index * header_.chunk;
    return Bytes(static_cast<uint8_t*>(message) + from,
                 std::min<size_t>(header_.chunk, header_.bytes - from));
  }

  void SendHeader(size_t bytes) {
    for (const unsigned child : HeaderChildren())
      sends_.push_back(
          cluster_->Send(child, ClusterOperation::kSend, ConstBytes(eager_.data(), bytes)));
  }
  void SendChunk(unsigned child, void* message, size_t index) {
    const Bytes chunk = Chunk(message, index);
    sends_.push_back(cluster_->Send(child, operation(), ConstBytes(chunk.data(), chunk.size()),
                                    header_.immediate));
  }
  void Abort(unsigned child) {
    sends_.push_back(Transfer(engine_, engine_->SendAbort(child, parts_.blame())));
  }

  void HandDown(void* message) {
    for (size_t i = 0; i < Chunks(); ++i)
      for (const unsigned child : ChunkChildren()) SendChunk(child, message, i);
    AwaitSends();
  }
  // Whether the chunks can come to this memory. If not, it is noted, and the parent hears of it.
  bool Register(void* message, std::optional<Registration>* registration) {
    const Bytes bytes(message, header_.bytes);
    if (engine_->IsRegistered(ConstBytes(message, header_.bytes), true)) return true;
    try {
      registration->emplace(cluster_->Register(bytes));
      return true;
    } catch (const VerbsError& error) {
      const unsigned parent = NodeAt((place_ - 1) / header_.fan_out);
      parts_.Note(std::string("a buffer of ") + std::to_string(header_.bytes) +
                      " bytes cannot be registered: " + error.what(),
                  error.error(), {cluster_->self()});
      cluster_->Cut(parent, "its message has no place here");
      return false;
    }
  }
  void PassOn(void* message) {
    const unsigned parent = NodeAt((place_ - 1) / header_.fan_out);
    const std::vector<unsigned> children = ChunkChildren();
    std::optional<Registration> registration;
    if (!Register(message, &registration)) {
      for (size_t i = 0; i < Chunks(); ++i)
        for (const unsigned child : children) Abort(child);
      return AwaitSends();
    }
    std::vector<Transfer> chunks;
    for (size_t i = 0; i < Chunks(); ++i)
      chunks.push_back(cluster_->Receive(parent, Chunk(message, i)));
    for (size_t i = 0; i < chunks.size(); ++i) {
      auto chunk = parts_.Await(chunks[i]);
      if (chunk && chunk->bytes != Chunk(message, i).size()) {
        parts_.Note(cluster_->Name(parent) + " sends " + std::to_string(chunk->bytes) + " of " +
                        std::to_string(Chunk(message, i).size()) + " bytes",
                    EPROTO, {parent});
        chunk.reset();
      }
      if (chunk) received_.timestamp_ns = chunk->timestamp_ns;
      for (const unsigned child : children) {
        if (chunk) {
          SendChunk(child, message, i);
        } else {
          Abort(child);
        }
      }
    }
    AwaitSends();
    received_.bytes = header_.bytes;
    if (HasImmediate(operation())) received_.immediate = header_.immediate;
  }
  void AwaitSends() {
    for (const Transfer& send : sends_) parts_.Await(send);
    sends_.clear();
  }
  void Finish() {
    AwaitSends();
    parts_.ThrowIfFailed();
  }

  Cluster* const cluster_;
  const std::shared_ptr<ClusterEngine> engine_;
  const unsigned root_;
  const unsigned nodes_;
  const unsigned place_;  // counted from the root
  Parts parts_;
  std::vector<uint8_t> eager_;
  TreeHeader header_ = {};
  Received received_;
  std::vector<Transfer> sends_;
};

}  // namespace

ClusterTree ChooseClusterTree(unsigned nodes, size_t bytes) {
  ClusterTree best = {1, kChunkMin};
  uint64_t least = UINT64_MAX;
  // A longer chunk is less work, a shorter one is sooner at the end of the tree.
  const size_t chunk = std::clamp(bytes / 64 / kChunkMin * kChunkMin, kChunkMin, kChunkMax);
  for (unsigned fan_out = 1; fan_out < std::max(nodes, 2u); ++fan_out) {
    const uint64_t hops = DepthOfTree(nodes, fan_out);
    const uint64_t first = std::min<uint64_t>(chunk, bytes) * fan_out + kHopBytes;
    const uint64_t cost = uint64_t{bytes} * fan_out + (hops - 1) * first + kHopBytes;
    if (cost >= least) continue;
    least = cost;
    best = {fan_out, chunk};
  }
  return best;
}

std::vector<Received> Cluster::ManyToMany(ClusterOperation operation, ConstBytes message,
                                          const std::vector<Bytes>& into, uint32_t immediate) {
  CheckInto(*this, into, "ManyToMany");
  CheckPointer(message.data(), message.size(), "ManyToMany");
  std::optional<Registration> registration;
  if (message.size() != 0 && !engine_->IsRegistered(message, false))
    registration.emplace(RegisterToSend(message));
  // What is wrong is thrown before anything is under way: the next pattern would meet the rest.
  std::vector<std::shared_ptr<ClusterTransfer>> coming, going;
  for (const unsigned peer : PartnersInTurn(self(), nodes())) {
    coming.push_back(engine_->PrepareReceive(peer, into[peer]));
    going.push_back(engine_->PrepareSend(peer, operation, message, immediate));
  }
  Parts parts(this, engine_->options().limit, "ManyToMany");
  std::vector<Transfer> receives, sends;
  for (const auto& transfer : coming) {
    engine_->Start(transfer);
    receives.emplace_back(engine_, transfer);
  }
  for (size_t turn = 0; turn < going.size(); ++turn) {
    engine_->Start(going[turn]);
    sends.emplace_back(engine_, going[turn]);
    if (message.size() < kTurnsFrom || nodes() % 2 == 1) continue;
    parts.Await(sends[turn]);
    parts.Await(receives[turn]);
  }
  std::vector<Received> all(nodes());
  for (const Transfer& receive : receives)
    all[receive.peer()] = parts.Await(receive).value_or(Received());
  for (const Transfer& send : sends) parts.Await(send);
  parts.ThrowIfFailed();
  return all;
}

void Cluster::OneToManySend(ClusterOperation operation, ConstBytes message, uint32_t immediate) {
  if (message.size() > kClusterMessageMax) {
    throw ClusterError("OneToManySend: " + std::to_string(message.size()) + " bytes: at most " +
                           std::to_string(kClusterMessageMax),
                       EMSGSIZE);
  }
  CheckPointer(message.data(), message.size(), "OneToManySend");
  TreeWalk(this, engine_, self(), "OneToManySend").Send(operation, message, immediate);
}

Received Cluster::OneToManyReceive(unsigned root, Bytes buffer) {
  if (root >= nodes() || root == self()) {
    throw ClusterError("OneToManyReceive: root is " + std::to_string(root) + ": below " +
                           std::to_string(nodes()) + ", and not this node",
                       EINVAL);
  }
  CheckPointer(buffer.data(), buffer.size(), "OneToManyReceive");
  return TreeWalk(this, engine_, root, "OneToManyReceive").Receive(buffer);
}

void Cluster::ManyToOneSend(unsigned root, ClusterOperation operation, ConstBytes message,
                            uint32_t immediate) {
  Parts parts(this, engine_->options().limit, "ManyToOneSend");
  parts.Await(Send(root, operation, message, immediate));
  parts.ThrowIfFailed();
}

std::vector<Received> Cluster::ManyToOneReceive(const std::vector<Bytes>& into) {
  CheckInto(*this, into, "ManyToOneReceive");
  std::vector<std::shared_ptr<ClusterTransfer>> prepared;  // as in ManyToMany
  for (unsigned node = 0; node < nodes(); ++node)
    if (node != self()) prepared.push_back(engine_->PrepareReceive(node, into[node]));
  Parts parts(this, engine_->options().limit, "ManyToOneReceive");
  std::vector<Transfer> receives;
  for (const auto& transfer : prepared) {
    engine_->Start(transfer);
    receives.emplace_back(engine_, transfer);
  }
  std::vector<Received> all(nodes());
  for (const Transfer& receive : receives)
    all[receive.peer()] = parts.Await(receive).value_or(Received());
  parts.ThrowIfFailed();
  return all;
}

// In round n each node tells the one 2^n farther on: behind the last, all have heard of all.
void Cluster::Barrier() {
  Parts parts(this, engine_->options().limit, "Barrier");
  for (unsigned distance = 1; distance < nodes(); distance *= 2) {
    const Transfer receive = Receive((self() + nodes() - distance) % nodes(), Bytes());
    const Transfer send =
        Send((self() + distance) % nodes(), ClusterOperation::kSend, ConstBytes());
    parts.Await(receive);
    parts.Await(send);
  }
  parts.ThrowIfFailed();
}

}  // namespace vl
