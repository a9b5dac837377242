// Tensors over the host's memory.
#include "include/source/core.h"

#include <cstring>

namespace ouro {
inline namespace v0 {

namespace {

using Owner = std::shared_ptr<const void>;

// How many bytes a tensor of that shape has; -1 with the exception set.
int64_t checked_bytes(runtime::Session& s, DType dtype, std::span<const int64_t> shape, const void* data) {
  auto fail = [&](const std::string& text) {
    runtime::raise_text(s, runtime::ExcKind::ValueError, text);
    return int64_t{-1};
  };
  if (static_cast<int>(dtype) >= kDTypeCount) return fail("there is no such dtype");
  if (shape.size() > runtime::kMaxRank)
    return fail("a tensor has at most " + std::to_string(runtime::kMaxRank) + " dimensions");
  for (int64_t d : shape)
    if (d < 0) return fail("a dimension cannot be " + std::to_string(d));
  int64_t n = runtime::element_count(shape);
  const auto size = static_cast<int64_t>(size_of(dtype));
  constexpr int64_t kMost = int64_t{1} << 47;  // bytes: an address has no more bits
  if (n < 0 || n > kMost / size) return fail("a tensor of shape " + runtime::shape_text(shape) + " is too large");
  if (n && !data) return fail("no memory for a tensor of shape " + runtime::shape_text(shape));
  return n * size;
}

}  // namespace

Result<Value> Session::tensor(DType dtype, std::span<const int64_t> shape, const void* data, Owner owner) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  int64_t bytes = checked_bytes(core_->session, dtype, shape, data);
  if (bytes < 0) return Access::take_error(*core_);
  if (reinterpret_cast<uintptr_t>(data) % size_of(dtype))
    return Error("ValueError", "the memory is not aligned for its elements");
  auto* b = new runtime::Buffer;
  b->bytes = static_cast<size_t>(bytes);
  b->data = const_cast<void*>(data);  // read_only: nobody writes
  b->read_only = true;
  b->owner = new Owner(std::move(owner));
  b->release = [](runtime::Buffer* gone) {
    delete static_cast<Owner*>(gone->owner);
    delete gone;
  };
  runtime::Value t = runtime::wrap_buffer(static_cast<runtime::ElementType>(dtype), shape, b);
  runtime::release_buffer(b);
  return Access::wrap(*core_, std::move(t));
}

Result<Value> Session::tensor_copy(DType dtype, std::span<const int64_t> shape, const void* data) {
  Entry in(*this);
  if (!in.ok()) return in.refusal();
  int64_t bytes = checked_bytes(core_->session, dtype, shape, data);
  if (bytes < 0) return Access::take_error(*core_);
  runtime::Value t = runtime::make_tensor(core_->session, static_cast<runtime::ElementType>(dtype), shape);
  if (!t.is_error() && bytes) std::memcpy(t.as<runtime::Tensor>()->data(), data, static_cast<size_t>(bytes));
  return Access::result(*core_, std::move(t));
}

}  // namespace v0
}  // namespace ouro
