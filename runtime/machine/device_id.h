// The kinds of devices there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ouro::runtime {

enum class DeviceId : uint8_t { cpu, opencl, cuda };
inline constexpr size_t kDeviceKinds = 3;
inline constexpr std::string_view kDeviceNames[kDeviceKinds] = {"cpu", "opencl", "cuda"};

constexpr std::string_view device_name(DeviceId id) { return kDeviceNames[static_cast<size_t>(id)]; }
constexpr std::optional<DeviceId> find_device(std::string_view name) {
  for (size_t i = 0; i < kDeviceKinds; ++i)
    if (kDeviceNames[i] == name) return static_cast<DeviceId>(i);
  return {};
}

/// Tensor::place: 0 follows the plan, else the device that it was placed on.
constexpr uint8_t place_on(DeviceId id) { return static_cast<uint8_t>(static_cast<uint8_t>(id) + 1); }
constexpr DeviceId placed_device(uint8_t place) { return static_cast<DeviceId>(place - 1); }

}  // namespace ouro::runtime
