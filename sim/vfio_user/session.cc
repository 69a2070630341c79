// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/session.h"

#include <linux/vfio.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace exrnic::vfio_user {
namespace {

// Beyond these a client is not listened to until what it asked for is done.
constexpr size_t kMostLoadsInFlight = 64;
constexpr size_t kMostQueuedBytes = 256 * 1024;
// A client that asks for nonsense in a loop must not fill the log.
constexpr unsigned kMostRefusalsLogged = 16;

std::unique_ptr<PciFunction> make_function(const Session::Context& context, Msix& msix) {
  if (context.config == nullptr) {
    return std::make_unique<PassedOnFunction>(context.description, msix, context.device,
                                              context.log);
  }
  return std::make_unique<KeptFunction>(context.description, *context.config, msix, context.device);
}

// Calls use(value) if the request was well-formed.
template <typename Outcome, typename T, typename Use>
Outcome then(Parsed<T> parsed, Use use) {
  if (auto* fault = std::get_if<Fault>(&parsed)) return std::move(*fault);
  return use(std::get<T>(parsed));
}

template <typename Outcome>
Outcome done(std::optional<Fault> fault, Bytes reply = {}) {
  if (fault) return std::move(*fault);
  return reply;
}

}  // namespace

Session::Session(UniqueFd socket, const Context& context)
    : context_(context),
      connection_(std::move(socket), Connection::Peer::kClient),
      dma_(context.budget),
      msix_(context.description.msix.vectors),
      function_(make_function(context, msix_)) {
  if (context.answer_limit.count() > 0) connection_.talk_both_ways();
}

bool Session::wants_input() const {
  return loads_in_flight_ < kMostLoadsInFlight && connection_.queued_bytes() < kMostQueuedBytes;
}

short Session::poll_events() const {
  const int events = (wants_input() ? POLLIN : 0) | (connection_.queued_bytes() > 0 ? POLLOUT : 0);
  return static_cast<short>(events);
}

Connection::Status Session::next_message(Message* out) {
  if (postponed_.empty()) return connection_.receive(out);
  *out = std::move(postponed_.front());
  postponed_.pop_front();
  return Connection::Status::kMessage;
}

Session::State Session::service(size_t most, bool answered_alone) {
  if (!end_reason_.empty()) return State::kEnded;
  connection_.flush();  // a loss shows below, when the socket has nothing more to give
  State state = State::kIdle;
  extra_accesses_ = 0;
  for (size_t i = 0; i + extra_accesses_ < most && wants_input(); ++i) {
    Message message;
    switch (next_message(&message)) {
      case Connection::Status::kNothing:
        return state;
      case Connection::Status::kClosed:
        end_reason_ = "the client left";
        return State::kEnded;
      case Connection::Status::kMalformed:
        ++context_.counters.connections_malformed;
        end_reason_ = "closed the connection: " + connection_.failure();
        return State::kEnded;
      case Connection::Status::kMessage:
        break;
    }
    if (answered_alone && i > 0 && message.header.wants_reply()) {
      postponed_.push_front(std::move(message));
      return state;
    }
    state = State::kWorked;
    conclude(message.header, handle(message));
    if (!end_reason_.empty()) return State::kEnded;
  }
  return state;
}

void Session::conclude(const Header& request, Outcome outcome) {
  if (std::holds_alternative<Later>(outcome)) return;
  if (const auto* fault = std::get_if<Fault>(&outcome)) return refuse(request, *fault);
  if (!request.wants_reply()) return;
  connection_.send({request.id, request.command, 0, Header::kTypeReply, 0},
                   std::get<Bytes>(outcome));
}

void Session::refuse(const Header& request, const Fault& fault) {
  if (fault.malformed) {
    ++context_.counters.connections_malformed;
    end_reason_ = "closed the connection: " + fault.reason;
    return;
  }
  ++context_.counters.requests_refused;
  if (refusals_logged_ < kMostRefusalsLogged) {
    const bool last = ++refusals_logged_ == kMostRefusalsLogged;
    context_.log("refused: " + fault.reason + (last ? " (more of this client is not logged)" : ""));
  }
  if (!request.wants_reply()) {
    ++context_.counters.posted_writes_refused;
    return;
  }
  connection_.send({request.id, request.command, 0, Header::kTypeReply | Header::kError,
                    static_cast<uint32_t>(fault.error)},
                   {});
}

Session::Outcome Session::handle(Message& message) {
  if (message.header.is_reply()) return malformed("a reply to what nobody has asked");
  const auto command = static_cast<Command>(message.header.command);
  const std::string name = "command " + std::to_string(message.header.command);
  if (greeted_ != (command != Command::kVersion)) {
    return malformed(greeted_ ? "a second VERSION" : name + " before VERSION");
  }
  const size_t most_fds = command == Command::kDmaMap          ? 1
                          : command == Command::kDeviceSetIrqs ? kMaxMessageFds
                                                               : 0;
  if (message.fds.size() > most_fds) {
    return malformed(std::to_string(message.fds.size()) + " file descriptors with " + name);
  }
  switch (command) {
    case Command::kVersion:
      return handle_version(message);
    case Command::kDmaMap:
      return handle_dma_map(message);
    case Command::kDmaUnmap:
      return handle_dma_unmap(message);
    case Command::kDeviceGetInfo:
      return handle_get_info(message);
    case Command::kDeviceGetRegionInfo:
      return handle_get_region_info(message);
    case Command::kDeviceGetIrqInfo:
      return handle_get_irq_info(message);
    case Command::kDeviceSetIrqs:
      return handle_set_irqs(message);
    case Command::kRegionRead:
      return handle_region_read(message);
    case Command::kRegionWrite:
      return handle_region_write(message);
    case Command::kRegionWriteMulti:
      return handle_region_write_multi(message);
    case Command::kDeviceReset:
      return handle_reset(message);
    case Command::kDeviceGetRegionIoFds:
    case Command::kDmaRead:
    case Command::kDmaWrite:
    case Command::kDeviceFeature:
    case Command::kMigrationDataRead:
    case Command::kMigrationDataWrite:
      break;
  }
  return refused(ENOTSUP, name + " is not supported");
}

Session::Outcome Session::handle_version(const Message& message) {
  return then<Outcome>(decode_version(message.payload), [&](const Version& asked) -> Outcome {
    greeted_ = true;
    Version answer;
    answer.major = kMajorVersion;
    answer.minor = std::min(asked.minor, kMinorVersion);
    answer.capabilities = {kMaxMessageFds, kMaxDataTransfer, asked.capabilities.write_multiple};
    return encode_version(answer);
  });
}

Session::Outcome Session::handle_dma_map(Message& message) {
  return then<Outcome>(decode_dma_map(message.payload), [&](const DmaMapRequest& request) {
    UniqueFd file = message.fds.empty() ? UniqueFd() : std::move(message.fds[0]);
    return done<Outcome>(dma_.map(request, std::move(file)));
  });
}

Session::Outcome Session::handle_dma_unmap(const Message& message) {
  return then<Outcome>(decode_dma_unmap(message.payload), [&](const DmaUnmapRequest& request) {
    return done<Outcome>(dma_.unmap(request), message.payload);
  });
}

Session::Outcome Session::handle_get_info(const Message& message) {
  return then<Outcome>(decode_get_info(message.payload), [](std::monostate) -> Outcome {
    return encode_device_info(VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI, VFIO_PCI_NUM_REGIONS,
                              VFIO_PCI_NUM_IRQS);
  });
}

// No region can be mapped by the client, so that QEMU posts its writes.
Session::Outcome Session::handle_get_region_info(const Message& message) {
  return then<Outcome>(decode_get_region_info(message.payload), [&](uint32_t index) -> Outcome {
    const uint64_t size = region_size(index);
    const uint32_t flags = size > 0 ? VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE : 0;
    return encode_region_info(flags, index, size);
  });
}

Session::Outcome Session::handle_get_irq_info(const Message& message) {
  return then<Outcome>(decode_get_irq_info(message.payload), [&](uint32_t index) -> Outcome {
    if (index != VFIO_PCI_MSIX_IRQ_INDEX) return encode_irq_info(0, index, 0);
    return encode_irq_info(VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_MASKABLE, index,
                           context_.description.msix.vectors);
  });
}

Session::Outcome Session::handle_set_irqs(Message& message) {
  return then<Outcome>(
      decode_set_irqs(message.payload), [&](const SetIrqsRequest& request) -> Outcome {
        if (request.data != IrqData::kEventfd && !message.fds.empty()) {
          return malformed("file descriptors with a SET_IRQS that takes none");
        }
        if (request.index == VFIO_PCI_MSIX_IRQ_INDEX) {
          return set_msix(request, std::move(message.fds));
        }
        if (request.count == 0) return Bytes();  // disabling what is not there is no mistake
        return refused(EINVAL, "SET_IRQS of interrupt " + std::to_string(request.index) +
                                   ", which this device does not have");
      });
}

Session::Outcome Session::set_msix(const SetIrqsRequest& request, std::vector<UniqueFd> fds) {
  const bool set_up = !fds.empty();
  if (auto fault = msix_.set_irqs(request, std::move(fds))) return std::move(*fault);
  if (set_up) function_->interrupts_set_up(request);
  if (request.count == 0) function_->interrupts_released();
  return Bytes();
}

Session::Outcome Session::handle_reset(const Message& message) {
  if (!message.payload.empty()) return malformed("DEVICE_RESET with a payload");
  function_->reset();
  return Bytes();
}

}  // namespace exrnic::vfio_user
