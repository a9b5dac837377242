// Tensors: immutable-looking values over counted buffers.
//
// A Tensor is contiguous, row-major, and owns (a share of) one Buffer. Tensors are values: nobody can tell whether two
// of them share a buffer, because a buffer is written only when its count is 1 and that of its tensor too (functional
// but in place; Reinking et al. 2021). reshape shares, everything else makes its own. Counts are not atomic (one
// session, one thread); kernel threads see raw memory only. The elements may stand on a device
// (runtime/tensor/coherence.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ir/ops/registry.h"
#include "runtime/machine/buffer.h"
#include "runtime/object/object.h"
#include "support/dtype.h"

namespace ouro::runtime {

constexpr int kMaxRank = 64;
void fetch(Buffer* b);  // runtime/tensor/coherence.h

struct Tensor : Object {
  DType dtype = DType::f32;
  uint8_t place = 0;  // 0: follows the plan; else runtime/machine/device_id.h
  uint8_t rank = 0;
  Buffer* buffer = nullptr;
  int64_t size = 0;  // elements
  int64_t* dims() { return reinterpret_cast<int64_t*>(this + 1); }
  const int64_t* dims() const { return reinterpret_cast<const int64_t*>(this + 1); }
  std::span<const int64_t> shape() const { return {dims(), rank}; }
  int64_t dim(int i) const { return dims()[i]; }
  template <class T = void>
  T* data() const {
    if (!buffer->data) [[unlikely]]
      fetch(buffer);
    return static_cast<T*>(buffer->data);
  }
  char* bytes() const { return data<char>(); }
  size_t nbytes() const { return static_cast<size_t>(size) * size_of(dtype); }
  // May the host write the elements in place?
  bool unshared() const { return refs == 1 && buffer->refs == 1 && !buffer->read_only && !buffer->device; }
  static constexpr ObjectKind kKind = ObjectKind::tensor;
};

struct DTypeObject : Object {
  DType dtype = DType::f32;
  static constexpr ObjectKind kKind = ObjectKind::dtype;
};

// Counters of a session's tensors, for tests: allocations of buffers, and full copies made because a write met a shared
// tensor.
struct TensorCounters {
  uint64_t allocations = 0, copies = 0;
};
TensorCounters& tensor_counters(Session& s);

// Memory for a result: while this lives, the first make_tensor() of the offered tensor's dtype and shape gives that
// tensor, which nobody else may hold. A compiled step offers its rows what they made in an earlier run.
class ResultOffer {
 public:
  ResultOffer(Session& s, Value tensor);
  ~ResultOffer();
  ResultOffer(const ResultOffer&) = delete;
  ResultOffer& operator=(const ResultOffer&) = delete;

 private:
  Session& session_;
};

// A tensor with undefined elements; error (MemoryError) when there is not enough memory, ValueError for a rank over
// kMaxRank.
Value make_tensor(Session& s, DType dtype, std::span<const int64_t> shape);
// The same elements in another shape (of the same size); shares the buffer.
Value share_tensor(const Tensor* t, std::span<const int64_t> shape);
// A tensor over a buffer, which is counted up.
Value wrap_buffer(DType dtype, std::span<const int64_t> shape, Buffer* buffer);
Value make_filled(Session& s, DType dtype, std::span<const int64_t> shape, double value);
// A tensor of a Python number, bool, nested list or tuple, or tensor; dtype nullopt: what torch.tensor takes.
Value tensor_from(Session& s, const Value& data, std::optional<DType> dtype);
// Lists what is iterated: such data becomes a tensor without a script.
[[nodiscard]] bool settle_data(Session& s, Value& data);
Value cast_tensor(Session& s, const Value& tensor, DType to);
// A tensor that only this value holds: itself if so, else a copy (counted).
[[nodiscard]] bool make_unique(Session& s, Value& tensor);
Value tensor_item(Session& s, const Tensor* t, int64_t at);  // one element as a Python number
bool store_number(DType t, void* at, const Value& number);   // false: no number
Value make_dtype(Session& s, DType t);
// A dtype, its name, or Python's float (f64), int (i64), bool; false with TypeError.
[[nodiscard]] bool to_dtype(Session& s, const Value& v, DType& out);

std::string shape_text(std::span<const int64_t> shape);
int64_t element_count(std::span<const int64_t> shape);  // -1: more than 2^62
int session_threads(Session& s);

// ---- operations
// Runs a row on values in the order of its parameters (`unbound`: the default). Arguments are borrowed, but a tensor
// that only `args` holds may be overwritten. A row in Ouro runs its text.
Value run_operation(Session& s, const ir::OpInfo& op, std::span<Value> args);
Value run_operation(Session& s, std::string_view name, std::initializer_list<Value> args);
// Binds a Python call to the row's parameters (dim for axis, ...) and runs it.
Value call_operation(Session& s, const ir::OpInfo& op, const Args& args);
// Binds a Python call to the row's parameters, defaults filled in; `at`: for each argument (positional, then keywords)
// its parameter, and the place in it when that is variadic (else -1). False with TypeError.
[[nodiscard]] bool bind_operation(Session& s, const ir::OpInfo& op, const Args& args, std::vector<Value>& params,
                                  std::vector<std::pair<int, int>>* at);
// Are the arguments of a call what the row states? False with the exception pending. For those who run the text of a
// row in Ouro themselves.
[[nodiscard]] bool check_operation(Session& s, const ir::OpInfo& op, const Args& args);
// What parameter i of the row is when it is left out.
Value default_argument(Session& s, const ir::OpInfo& op, size_t i);
// The row's name of a keyword ("dim" for `axis`).
std::string operation_keyword(const ir::OpInfo& op, std::string_view name);
// The native that is the row's function (also of rows that scripts cannot name).
Value operation_function(Session& s, const ir::OpInfo& op);
// The row that a native stands for, or null.
const ir::OpInfo* operation_of(const NativeDef* def);
// The module that stdlib/ops and the texts of rules (vjp, jvp) know as `ouro`: every row by name.
Value operation_namespace(Session& s);
// The module whose globals those texts see: Ouro's built-in names and `ouro`.
Value operation_globals(Session& s);
// The script function that a row in Ouro (stdlib/ops) is; it takes the row's parameters by position.
Value operation_source(Session& s, const ir::OpInfo& op);
// The function that a text is, in that module: a lambda's text (vjp, jvp), cached per session. Needs the frontend.
Value operation_text(Session& s, std::string_view text);

}  // namespace ouro::runtime
