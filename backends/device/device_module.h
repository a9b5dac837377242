// A module of a device: its distinct kernels, each with what a driver calls its function, and which of them stands for
// each kernel that was given.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "backends/device/kernel_walk.h"
#include "runtime/machine/backend.h"

namespace ouro::backends::device {

template <class Function>
class DeviceModule : public runtime::KernelModule {
 public:
  struct Entry {
    Function function;
    ir::loops::Kernel ir;
    Grid grid;  // into `ir`
  };
  DeviceModule(std::vector<uint32_t> where, size_t text_bytes) : where_(std::move(where)), text_bytes_(text_bytes) {}
  size_t count() const override { return where_.size(); }
  size_t bytes() const override { return text_bytes_; }

  void add(const ir::loops::Kernel& kernel, Function function) {
    auto e = std::make_unique<Entry>(Entry{function, kernel, {}});
    e->grid = grid_of(e->ir);
    entries_.push_back(std::move(e));
  }
  const Entry& kernel(size_t index) const { return *entries_[where_[index]]; }
  const std::vector<std::unique_ptr<Entry>>& entries() const { return entries_; }

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<uint32_t> where_;
  size_t text_bytes_;
};

}  // namespace ouro::backends::device
