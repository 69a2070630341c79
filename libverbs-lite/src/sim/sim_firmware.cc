// SPDX-License-Identifier: BSD-2-Clause
#include "sim_firmware.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "own_firmware.h"
#include "sim_error.h"
#include "sim_names.h"

namespace exrnic {

namespace {

constexpr char kFirmwareVariable[] = "VL_FIRMWARE";
constexpr uint32_t kRestarts = 3;
constexpr size_t kWordsPerMessage = 256;
constexpr size_t kWordBytes = sizeof(uint32_t);

std::optional<FirmwareImage> ChosenImage() {
  const char* path = secure_getenv(kFirmwareVariable);
  if (path == nullptr) return OwnFirmware();
  if (path[0] == 0) return std::nullopt;
  const std::string variable = kFirmwareVariable;
  try {
    return read_firmware_image(path);
  } catch (const std::system_error& error) {
    throw SimError(error.code().value(), variable + ": " + error.what());
  } catch (const std::runtime_error& error) {
    throw SimError(EINVAL, variable + ": " + error.what());
  }
}

}  // namespace

SimFirmware::SimFirmware(SimLink* link)
    : link_(link),
      present_(link->Read(EXRNIC_REG_FW_MEMORY) == EXRNIC_FW_MEMORY_BYTES),
      image_(ChosenImage()) {}

void SimFirmware::ThrowUnavailable() const {
  const char* why = !present_ ? "the device has no on-chip processor"
                    : !image_ ? "VL_FIRMWARE is empty, which stands for none"
                              : why_stopped_.c_str();
  throw SimError(EOPNOTSUPP, "no firmware runs: " + std::string(why));
}

void SimFirmware::Start() {
  std::lock_guard<std::mutex> guard(mutex_);
  StartLocked();
}

void SimFirmware::StartLocked() {
  if (running_) return;
  if (is_offered() && why_stopped_.empty()) Run();
  if (!running_) ThrowUnavailable();
}

// Leaves it running, or says why not.
void SimFirmware::Run() {
  Hold();
  Load();
  link_->Write({{EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN}});
  const uint32_t state = link_->AwaitChange(EXRNIC_REG_FW_STATE, EXRNIC_FW_STATE_STARTING);
  if (state != EXRNIC_FW_STATE_READY) {
    why_stopped_ = state == EXRNIC_FW_STATE_FAILED
                       ? Failure()
                       : "it is not ready after " + std::to_string(link_->patience().count()) +
                             " ms: FW_STATE reads " + std::to_string(state);
    return Hold();
  }
  running_ = true;
  TellChannels();
}

// It forgets what it was told, but for the channels that are open.
void SimFirmware::Restart(const std::string& failure) {
  Hold();
  if (restarts_ == kRestarts) {
    why_stopped_ = failure + ", for the " + std::to_string(kRestarts + 1) + "th time";
    return;
  }
  ++restarts_;
  Run();
}

void SimFirmware::Hold() {
  link_->Write({{EXRNIC_REG_FW_CONTROL, 0}});
  running_ = false;
}

void SimFirmware::Load() {
  link_->Write({{EXRNIC_REG_FW_ADDRESS, 0}});
  const std::vector<uint32_t>& words = image_->payload;
  for (size_t at = 0; at < words.size(); at += kWordsPerMessage) {
    std::vector<SimLink::RegisterWrite> writes;
    for (size_t i = at; i < std::min(at + kWordsPerMessage, words.size()); ++i)
      writes.push_back({EXRNIC_REG_FW_DATA, words[i]});
    link_->Write(writes);
  }
}

// An assertion's file name is a string somewhere in the image, if firmware says the truth.
std::string SimFirmware::NameAt(uint32_t address) const {
  constexpr size_t kLongest = 32;
  const auto* bytes = reinterpret_cast<const char*>(image_->payload.data());
  const size_t size = image_->payload.size() * kWordBytes;
  const size_t place = address & (EXRNIC_FW_MEMORY_BYTES - 1);
  if (place >= size) return "?";
  std::string name(bytes + place, strnlen(bytes + place, std::min(size - place, kLongest)));
  for (char& letter : name) letter = letter > ' ' && letter <= '~' ? letter : '?';
  return name;
}

// As its registers tell it.
std::string SimFirmware::Failure() {
  const uint32_t fault = link_->Read(EXRNIC_REG_FW_FAULT);
  const std::string low = std::to_string(fault & 0xffff);
  const std::string where = " at " + vfio_user::hex(link_->Read(EXRNIC_REG_FW_FAULT_PC));
  switch (fault >> 16) {
    case EXRNIC_FW_FAULT_ASSERTION:
      return "it has failed: assertion in " + NameAt(link_->Read(EXRNIC_REG_FW_FAULT_FILE)) + ":" +
             low + where;
    case EXRNIC_FW_FAULT_EXCEPTION:
      return "it has failed: exception " + low + where;
    case EXRNIC_FW_FAULT_WATCHDOG:
      return "it has failed: the watch-dog found it" + where;
    default:
      return "it has failed: fault " + vfio_user::hex(fault) + where;
  }
}

void SimFirmware::Command(exrnic_fw_op op, const void* in, size_t bytes) {
  auto writes = SimLink::WordsAt(EXRNIC_REG_FW_WORDS, in, bytes);
  writes.push_back({EXRNIC_REG_FW_COMMAND, static_cast<uint32_t>(op)});
  link_->Write(writes);
  const uint32_t status = link_->AwaitChange(EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
  if (status == EXRNIC_FW_STATUS_OK) return;
  if (status == EXRNIC_FW_STATUS_BUSY) {
    // It may still do what it was told, when nobody expects it any more.
    const std::string silence = "no answer to command " + NameOf(kFirmwareCommands, op) + " in " +
                                std::to_string(link_->patience().count()) + " ms";
    Restart("it has failed: " + silence);
    throw SimError(EIO, "firmware has failed: " + silence);
  }
  throw SimError(status == EXRNIC_FW_STATUS_BAD_PARAMETER ? EINVAL : EIO,
                 "firmware ended command " + NameOf(kFirmwareCommands, op) + " with " +
                     StatusText(kFirmwareStatuses, status));
}

void SimFirmware::TellChannel(const exrnic_channel_open& open) {
  static_assert(sizeof(open) <= EXRNIC_FW_COMMAND_WORDS * kWordBytes);
  Command(EXRNIC_FW_OP_CHANNEL_OPEN, &open, sizeof(open));
}

// One that firmware refuses now, as its process filled its memory with nonsense, keeps no other
// from being told. Where firmware is started again meanwhile, all have been told.
void SimFirmware::TellChannels() {
  const uint32_t start = restarts_;
  for (const exrnic_channel_open* open : channels_) {
    if (open == nullptr) continue;
    try {
      TellChannel(*open);
    } catch (const SimError&) {
      if (restarts_ != start || !running_) return;
    }
  }
}

// Where that fails, firmware is kept from the channel's memory by the end of its STag.
void SimFirmware::End(const exrnic_channel_open& open) {
  if (!running_) return;
  try {
    Command(EXRNIC_FW_OP_CHANNEL_CLOSE, &open.channel, sizeof(open.channel));
  } catch (const SimError&) {
  }
}

void SimFirmware::OpenChannel(const exrnic_channel_open* open) {
  std::lock_guard<std::mutex> guard(mutex_);
  StartLocked();
  TellChannel(*open);
  channels_[open->channel] = open;
}

void SimFirmware::CloseChannel(const exrnic_channel_open* open) {
  std::lock_guard<std::mutex> guard(mutex_);
  channels_[open->channel] = nullptr;
  End(*open);
}

void SimFirmware::Recover() {
  std::lock_guard<std::mutex> guard(mutex_);
  if (!running_ || link_->Read(EXRNIC_REG_FW_STATE) != EXRNIC_FW_STATE_FAILED) return;
  try {
    Restart(Failure());
  } catch (const SimError&) {
    // It has failed again, which interrupts again; or the simulator is gone.
  }
}

}  // namespace exrnic
