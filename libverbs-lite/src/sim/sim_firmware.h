// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_FIRMWARE_H
#define EXRNIC_LIBVERBS_SIM_FIRMWARE_H

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "exrnic_hw.h"
#include "firmware/image/firmware_image.h"
#include "sim_link.h"

namespace exrnic {

// Firmware of the on-chip processor, which this process loads as the kernel module does, but only
// when something first needs it: to load it costs the simulator as much as opening the RNIC ten
// times. When it fails, or does not answer, it is started again, a few times.
//
// The image is the library's own, or what the environment variable VL_FIRMWARE says: the path of
// another one, or nothing for none. The device works without, except for what firmware does.
//
// Throws SimError. Any thread.
class SimFirmware {
 public:
  // Throws if VL_FIRMWARE names a file that cannot be read, or is no image: ENOENT, ..., EINVAL.
  explicit SimFirmware(SimLink* link);

  // There are a processor and an image for it.
  bool is_offered() const { return present_ && image_.has_value(); }

  // From here on it runs, if it did not before. EOPNOTSUPP: it cannot; the text says why.
  void Start();

  // Opens channel open->channel (below EXRNIC_FW_CHANNELS, and nobody has it), and again whenever
  // firmware starts. *open stays until the channel is closed. EOPNOTSUPP: as Start. EINVAL:
  // firmware found a value bad. EIO: it failed, and knows nothing of the channel.
  void OpenChannel(const exrnic_channel_open* open);
  // Behind this firmware knows nothing of it, or does not run.
  void CloseChannel(const exrnic_channel_open* open);

  // Behind EXRNIC_INT_CAUSE_FIRMWARE: if firmware has failed, it is started again.
  void Recover();

 private:
  [[noreturn]] void ThrowUnavailable() const;
  void StartLocked();
  void Run();
  void Restart(const std::string& failure);
  void Hold();
  void Load();
  std::string Failure();
  std::string NameAt(uint32_t address) const;
  void Command(exrnic_fw_op op, const void* in, size_t bytes);
  void TellChannel(const exrnic_channel_open& open);
  void TellChannels();
  void End(const exrnic_channel_open& open);

  SimLink* const link_;
  const bool present_;
  const std::optional<FirmwareImage> image_;

  std::mutex mutex_;  // guards what follows
  bool running_ = false;
  uint32_t restarts_ = 0;
  std::string why_stopped_;  // for good
  std::array<const exrnic_channel_open*, EXRNIC_FW_CHANNELS> channels_ = {};
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_FIRMWARE_H
