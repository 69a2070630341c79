// SPDX-License-Identifier: BSD-2-Clause
#include "mesh.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "exrnic/cluster.hpp"

namespace exrnic {

namespace {

constexpr uint32_t kMeshMagic = 0x31'4c'43'45;  // of this version of the protocol
constexpr size_t kMeshBodyMax = 1024;
constexpr std::chrono::milliseconds kDialPause(20);
constexpr std::chrono::milliseconds kMeshLook(50);  // longest sleep between looks at the clock

struct MeshHead {
  uint32_t magic;
  MeshKind kind;
  uint32_t bytes;
};

using FoundAddresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// "HOST:PORT" or "[IPV6]:PORT"; numbers are taken without asking for names.
FoundAddresses FindAddress(const std::string& text, bool passive) {
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  std::string host = text.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const bool is_port = !port.empty() && port.size() <= 5 &&
                       port.find_first_not_of("0123456789") == std::string::npos &&
                       std::stoi(port) > 0 && std::stoi(port) <= UINT16_MAX;
  if (host.empty() || !is_port) {
    throw vl::ClusterError("addresses: \"" + text + "\" is no HOST:PORT with a port of 1 to 65535",
                           EINVAL);
  }
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST | (passive ? AI_PASSIVE : 0);
  int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    hints.ai_flags &= ~AI_NUMERICHOST;
    error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  }
  if (error != 0)
    throw vl::ClusterError("addresses: \"" + text + "\": " + gai_strerror(error), EINVAL);
  return FoundAddresses(found, freeaddrinfo);
}

int NewMeshSocket(const addrinfo& address) {
  return socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                address.ai_protocol);
}

// A connection to a port where nobody listens may meet itself (RFC 9293, 3.5).
bool IsItsOwnPeer(int fd) {
  sockaddr_storage own = {}, peer = {};
  socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
  return getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         own_size == peer_size && memcmp(&own, &peer, own_size) == 0;
}

void SendWithoutDelay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

template <typename T>
std::vector<uint8_t> AsBody(const T& value) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  return std::vector<uint8_t>(bytes, bytes + sizeof(value));
}

// FNV-1a, of all addresses with their ends.
uint64_t DigestOf(const std::vector<std::string>& addresses) {
  uint64_t digest = 0xcbf29ce484222325;
  for (const std::string& address : addresses) {
    for (size_t i = 0; i <= address.size(); ++i)  // with the byte of 0
      digest = (digest ^ static_cast<uint8_t>(address.c_str()[i])) * 0x100000001b3;
  }
  return digest;
}

bool SendWhole(int fd, const MeshMessage& message) {
  const MeshHead head = {kMeshMagic, message.kind, static_cast<uint32_t>(message.body.size())};
  std::vector<uint8_t> bytes = AsBody(head);
  bytes.insert(bytes.end(), message.body.begin(), message.body.end());
  ssize_t count;
  do {
    count = send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  return count == static_cast<ssize_t>(bytes.size());
}

// Whole messages of `in` to `waiting`. False: what is there is no message.
bool TakeMeshMessages(std::vector<uint8_t>* in, std::deque<MeshMessage>* waiting) {
  size_t done = 0;
  MeshHead head;
  while (in->size() - done >= sizeof(head)) {
    memcpy(&head, in->data() + done, sizeof(head));
    if (head.magic != kMeshMagic || head.bytes > kMeshBodyMax) return false;
    if (in->size() - done - sizeof(head) < head.bytes) break;
    const auto body = in->begin() + static_cast<ptrdiff_t>(done + sizeof(head));
    waiting->push_back({head.kind, {body, body + head.bytes}});
    done += sizeof(head) + head.bytes;
  }
  in->erase(in->begin(), in->begin() + static_cast<ptrdiff_t>(done));
  return true;
}

// What is there, of who floods a part. False: the connection has ended, or says what is no message,
// or more than anybody has to say at once.
bool ReadMessages(int fd, std::vector<uint8_t>* in, std::deque<MeshMessage>* waiting) {
  constexpr int kReadsAtOnce = 32;
  constexpr size_t kWaitingMost = 64;
  for (int reads = 0; reads < kReadsAtOnce; ++reads) {
    uint8_t bytes[2048];
    const ssize_t count = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count > 0) {
      in->insert(in->end(), bytes, bytes + count);
      if (!TakeMeshMessages(in, waiting) || waiting->size() > kWaitingMost) return false;
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
  return true;
}

}  // namespace

MeshSocket::~MeshSocket() {
  if (fd_ >= 0) close(fd_);
}
MeshSocket::MeshSocket(MeshSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
MeshSocket& MeshSocket::operator=(MeshSocket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Mesh::Mesh(std::vector<std::string> addresses, unsigned self)
    : addresses_(std::move(addresses)), self_(self) {
  const size_t count = addresses_.size();
  if (count < 2 || count > vl::kClusterNodesMax) {
    throw vl::ClusterError("addresses: " + std::to_string(count) + " nodes: 2 to " +
                               std::to_string(vl::kClusterNodesMax),
                           EINVAL);
  }
  if (self >= count) {
    throw vl::ClusterError(
        "self is " + std::to_string(self) + ": below the number of nodes, " + std::to_string(count),
        EINVAL);
  }
  std::map<std::string, size_t> seen;
  for (size_t node = 0; node < count; ++node) {
    const FoundAddresses found = FindAddress(addresses_[node], false);
    // What a name stands for, so that two names of one address are found, too.
    const std::string key(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen);
    const auto [at, fresh] = seen.emplace(key, node);
    if (!fresh) {
      throw vl::ClusterError("addresses: node " + std::to_string(at->second) + " (" +
                                 addresses_[at->second] + ") and node " + std::to_string(node) +
                                 " (" + addresses_[node] + ") have the same one",
                             EINVAL);
    }
  }
  digest_ = DigestOf(addresses_);
  lines_.resize(count);
}

std::string Mesh::Name(unsigned node) const {
  return "node " + std::to_string(node) + " (" + addresses_[node] + ")";
}

std::string Mesh::Names(const std::vector<unsigned>& nodes) const {
  std::string text;
  for (const unsigned node : nodes) text += (text.empty() ? "" : ", ") + Name(node);
  return text;
}

void Mesh::Listen() {
  const FoundAddresses address = FindAddress(addresses_[self_], true);
  MeshSocket listener(NewMeshSocket(*address));
  const int on = 1;
  setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (listener.fd() < 0 || bind(listener.fd(), address->ai_addr, address->ai_addrlen) != 0 ||
      listen(listener.fd(), SOMAXCONN) != 0) {
    const int error = errno;
    throw vl::ClusterError("self is " + std::to_string(self_) + ": cannot listen on " +
                               addresses_[self_] + ": " + strerror(error),
                           error);
  }
  listener_ = std::move(listener);
}

void Mesh::Dial(unsigned node) {
  Line* const line = &lines_[node];
  const FoundAddresses address = FindAddress(addresses_[node], false);
  line->socket = MeshSocket(NewMeshSocket(*address));
  line->connecting = true;
  if (connect(line->socket.fd(), address->ai_addr, address->ai_addrlen) != 0 &&
      errno != EINPROGRESS) {
    line->socket = MeshSocket();
    line->connecting = false;
    line->again = MeshClock::now() + kDialPause;
  }
}

void Mesh::DialEnded(unsigned node) {
  Line* const line = &lines_[node];
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(line->socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  line->connecting = false;
  if (error != 0 || IsItsOwnPeer(line->socket.fd())) {
    line->socket = MeshSocket();
    line->again = MeshClock::now() + kDialPause;
    return;
  }
  SendWithoutDelay(line->socket.fd());
  SayHello(line);
}

void Mesh::SayHello(Line* line) {
  SendWhole(line->socket.fd(), {MeshKind::kHello, AsBody(Hello{self_, nodes(), digest_})});
}

void Mesh::Accept() {
  constexpr size_t kStrangersMost = 512;
  while (strangers_.size() < kStrangersMost) {
    Line stranger;
    stranger.socket =
        MeshSocket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (stranger.socket.fd() < 0) return;
    SendWithoutDelay(stranger.socket.fd());
    strangers_.push_back(std::move(stranger));
  }
}

Mesh::Hello Mesh::ReadHello(const MeshMessage& message, const std::string& from) {
  Hello hello;
  if (message.kind != MeshKind::kHello || message.body.size() != sizeof(hello))
    GiveUp(from + " did not begin with a hello: it is of another version", EPROTO, {});
  memcpy(&hello, message.body.data(), sizeof(hello));
  const std::string who = "node " + std::to_string(hello.node);
  std::vector<unsigned> blamed;
  if (hello.node < nodes()) blamed.push_back(hello.node);
  if (hello.nodes != nodes()) {
    GiveUp(who + " is of a cluster of " + std::to_string(hello.nodes) + " nodes, and node " +
               std::to_string(self_) + " of one of " + std::to_string(nodes()),
           EPROTO, blamed);
  }
  if (hello.list != digest_ || hello.node >= nodes()) {
    GiveUp(who + " has another list of addresses than node " + std::to_string(self_), EPROTO,
           blamed);
  }
  return hello;
}

void Mesh::HearCalled(unsigned node) {
  Line* const line = &lines_[node];
  const bool there = ReadMessages(line->socket.fd(), &line->in, &line->waiting);
  if (line->waiting.empty()) {
    if (there) return;
    // Who was there went before it said who it is; another one may come.
    *line = Line();
    line->again = MeshClock::now() + kDialPause;
    return;
  }
  const MeshMessage message = std::move(line->waiting.front());
  line->waiting.pop_front();
  if (message.kind == MeshKind::kGaveUp) {
    line->waiting.push_front(message);
    HearMet(node);
  }
  const Hello hello = ReadHello(message, Name(node));
  if (hello.node != node) {
    GiveUp(Name(node) + " says that it is node " + std::to_string(hello.node), EPROTO, {node});
  }
  line->met = true;
}

bool Mesh::HearStranger(Line* stranger) {
  const bool there = ReadMessages(stranger->socket.fd(), &stranger->in, &stranger->waiting);
  if (stranger->waiting.empty()) return there;  // none of the cluster's begins with anything else
  SayHello(stranger);
  const MeshMessage message = std::move(stranger->waiting.front());
  stranger->waiting.pop_front();
  const Hello hello = ReadHello(message, "one who connected");
  Line* const line = &lines_[hello.node];
  if (hello.node <= self_ || line->met) {
    GiveUp("two processes say that they are node " + std::to_string(hello.node), EPROTO,
           {hello.node});
  }
  *line = std::move(*stranger);
  line->met = true;
  return false;
}

void Mesh::FailEnded(unsigned node) {
  GiveUp(Name(node) + " has ended while the cluster was being made", ECONNRESET, {node});
}

void Mesh::HearMet(unsigned node) {
  Line* const line = &lines_[node];
  const bool there = ReadMessages(line->socket.fd(), &line->in, &line->waiting);
  for (const MeshMessage& message : line->waiting) {
    if (message.kind != MeshKind::kGaveUp) continue;
    const std::string text(message.body.begin(), message.body.end());
    GiveUp(Name(node) + " has given up: " + text, ECONNRESET, {node});
  }
  if (!there && line->waiting.empty()) FailEnded(node);
}

std::vector<unsigned> Mesh::Missing() const {
  std::vector<unsigned> missing;
  for (unsigned node = 0; node < nodes(); ++node)
    if (node != self_ && !lines_[node].met) missing.push_back(node);
  return missing;
}

void Mesh::Meet(MeshClock::time_point deadline) {
  Listen();
  while (!Missing().empty()) {
    if (MeshClock::now() > deadline) {
      GiveUp("in time came nothing of " + Names(Missing()), ETIMEDOUT, Missing());
    }
    MeetSome(deadline);
  }
  listener_ = MeshSocket();
  strangers_.clear();
}

void Mesh::MeetSome(MeshClock::time_point deadline) {
  const auto now = MeshClock::now();
  for (unsigned node = 0; node < self_; ++node)
    if (lines_[node].socket.fd() < 0 && now >= lines_[node].again) Dial(node);

  std::vector<pollfd> fds = {{listener_.fd(), POLLIN, 0}};
  std::vector<unsigned> of;  // whose the next of them are
  for (unsigned node = 0; node < nodes(); ++node) {
    if (lines_[node].socket.fd() < 0) continue;
    of.push_back(node);
    const short events = lines_[node].connecting ? POLLOUT : POLLIN;
    fds.push_back({lines_[node].socket.fd(), events, 0});
  }
  for (const Line& stranger : strangers_) fds.push_back({stranger.socket.fd(), POLLIN, 0});
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  const auto sleep = std::min({left, kMeshLook, kDialPause});
  if (poll(fds.data(), fds.size(), std::max(0, static_cast<int>(sleep.count()))) <= 0) return;

  for (size_t i = 0; i < of.size(); ++i) {
    if (fds[i + 1].revents == 0) continue;
    Line* const line = &lines_[of[i]];
    if (line->connecting) {
      DialEnded(of[i]);
    } else if (line->met) {
      HearMet(of[i]);
    } else {
      HearCalled(of[i]);
    }
  }
  std::vector<Line> stay;
  for (size_t i = 0; i < strangers_.size(); ++i) {
    if (fds[1 + of.size() + i].revents == 0 || HearStranger(&strangers_[i]))
      stay.push_back(std::move(strangers_[i]));
  }
  strangers_ = std::move(stay);
  Accept();
}

bool Mesh::TakeFrom(unsigned node, MeshKind kind, std::vector<uint8_t>* body) {
  Line* const line = &lines_[node];
  HearMet(node);
  if (line->waiting.empty()) return false;
  if (line->waiting.front().kind != kind)
    GiveUp(Name(node) + " said something else than was due", EPROTO, {node});
  *body = std::move(line->waiting.front().body);
  line->waiting.pop_front();
  return true;
}

std::vector<std::vector<uint8_t>> Mesh::Exchange(
    MeshKind kind, const std::function<std::vector<uint8_t>(unsigned)>& body,
    MeshClock::time_point deadline) {
  std::vector<std::vector<uint8_t>> theirs(nodes());
  std::vector<unsigned> due;
  for (unsigned node = 0; node < nodes(); ++node) {
    if (node == self_) continue;
    // Not sent: the connection has ended, which is told below, with what was said last.
    Tell(node, {kind, body(node)});
    due.push_back(node);
  }
  for (;;) {
    std::vector<unsigned> late;
    for (const unsigned node : due)
      if (!TakeFrom(node, kind, &theirs[node])) late.push_back(node);
    if (late.empty()) return theirs;
    due = late;
    if (MeshClock::now() > deadline)
      GiveUp("in time came no answer of " + Names(due), ETIMEDOUT, due);
    std::vector<pollfd> fds;
    for (const unsigned node : due) fds.push_back({lines_[node].socket.fd(), POLLIN, 0});
    poll(fds.data(), fds.size(), static_cast<int>(kMeshLook.count()));
  }
}

void Mesh::Watch(const std::function<void(unsigned, const MeshMessage&)>& said,
                 const std::function<void(unsigned)>& ended) {
  std::vector<pollfd> fds;
  std::vector<unsigned> of;
  for (unsigned node = 0; node < nodes(); ++node) {
    if (lines_[node].socket.fd() < 0) continue;
    fds.push_back({lines_[node].socket.fd(), POLLIN, 0});
    of.push_back(node);
  }
  if (fds.empty() || poll(fds.data(), fds.size(), 0) <= 0) return;
  for (size_t i = 0; i < of.size(); ++i) {
    if (fds[i].revents == 0) continue;
    Line* const line = &lines_[of[i]];
    const bool there = ReadMessages(line->socket.fd(), &line->in, &line->waiting);
    const std::deque<MeshMessage> messages = std::exchange(line->waiting, {});
    if (!there) Close(of[i]);
    for (const MeshMessage& message : messages) said(of[i], message);
    if (!there) ended(of[i]);
  }
}

bool Mesh::Tell(unsigned node, const MeshMessage& message) {
  return lines_[node].socket.fd() >= 0 && SendWhole(lines_[node].socket.fd(), message);
}

void Mesh::Close(unsigned node) { lines_[node].socket = MeshSocket(); }

void Mesh::GiveUp(const std::string& text, int error, std::vector<unsigned> peers) {
  const std::string told = text.substr(0, kMeshBodyMax);
  for (unsigned node = 0; node < nodes(); ++node) {
    if (node == self_ || lines_[node].connecting) continue;
    Tell(node, {MeshKind::kGaveUp, std::vector<uint8_t>(told.begin(), told.end())});
  }
  throw vl::ClusterError(text, error, std::move(peers));
}

}  // namespace exrnic
