// One kernel of the loop IR becomes one LLVM function of vector instructions.
//
//   uint32_t kernel(void** buffers, const int64_t* sizes, const ScalarArg* scalars, int64_t begin, int64_t end,
//                   const uint32_t* poll)
//
// [begin, end) is the part of the first parallel loop that this call does (1 iteration if there is no such loop). Where
// one of kStopBits (runtime/machine/backend.h) turns up in *poll the kernel ends and gives 1, else 0. A loop with loops
// inside looks there before each further iteration. An innermost one is cut into strips (strip mining) and looks
// between them: nothing is added to what it does per element, and a strip takes well under 20 ms.
//
// Which loop becomes vectors: the innermost independent loop of each path, or a `fold` reduction, whose 64 virtual
// lanes are kept in memory (as few registers for every vector width). A node that does not depend on the vector loop's
// variable stays a scalar and is splat. Of an access, the stride along that variable decides: 0 is a scalar load, 1 is
// a *stream* (vector loads and stores at a moving pointer), anything else a gather or scatter.
//
// The rest of a loop whose extent is no multiple of the width runs through the same code once more: its streams then
// point to scratch memory on the stack that masked moves fill before and empty after. So a kernel's body exists once.
//
// Bits: only what the nodes say, in the order they say it; no fast-math flag is ever set.
#pragma once

#include <functional>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "backends/host/jit.h"
#include "backends/host/leaf_emitter.h"
#include "ir/loops/loop_ir.h"
#include "ir/loops/placement.h"

namespace ouro::backends {

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const ir::loops::Kernel& kernel, const HostTarget& target);
  /// Adds the function; call once.
  llvm::Function* run(const std::string& name);

 private:
  using Kernel = ir::loops::Kernel;
  using Node = ir::loops::Node;
  using NodeId = ir::loops::NodeId;
  using Stmt = ir::loops::Stmt;
  using Scope = ir::loops::Placement::Scope;
  using Value = llvm::Value;

  // A contiguous access of the vector loop.
  struct Stream {
    uint32_t buffer;
    NodeId at;
    bool read = false, write = false;
    Value* base = nullptr;     // pointer to the element of iteration 0, or into scratch
    Value* scratch = nullptr;  // stack memory of one vector
  };
  struct VectorLoop {
    bool active = false;
    uint32_t var = 0;
    Value* i = nullptr;      // first lane's iteration
    Value* last = nullptr;   // last iteration of the loop
    Value* end = nullptr;    // one past it
    Value* lanes = nullptr;  // iterations by lane, clamped to `last`; made when first asked for
    Value* mask = nullptr;   // lanes that exist; made when first asked for
    Scope scope;             // outside of the loop
    llvm::BasicBlock* preheader = nullptr;
    llvm::BasicBlock* head = nullptr;
    std::vector<Stream> streams;
  };

  // Values (emit_kernel.cpp)
  Value* value(NodeId n);   // scalar or vector
  Value* scalar(NodeId n);  // must not depend on the lanes
  Value* vector(NodeId n);  // splat if scalar
  Value* as_vector(Value* v);
  bool made_before_loop(Value* v) const;
  Value* at_zero(NodeId index);  // an index with the vector variable 0, as a scalar
  Value* compute(NodeId id, const Node& n);
  Value* index_op(ir::Leaf op, Value* a, Value* b);
  Value* load(NodeId id, const Node& n);
  Value* load_stream(const Stream& s);
  Value* gather(const Node& n, Value* mask, Value* otherwise);
  void store(const Stmt& s);
  bool lane_dependent(NodeId n) const;
  bool contiguous(NodeId at) const;
  Stream* find_stream(uint32_t buffer, NodeId at);
  Value* lanes();
  Value* mask();
  void set(NodeId n, Value* v);
  void undo_to(size_t mark);

  // Memory forms of element types
  llvm::Type* memory_type(DType t);
  llvm::Type* register_type(DType t);
  Value* from_memory(Value* v, DType t);
  Value* to_memory(Value* v, DType t);
  Value* element(uint32_t buffer, Value* at);

  // Statements (emit_loops.cpp)
  void find_reach();
  void prologue(const std::string& name);
  void body(const std::vector<Stmt>& stmts, Scope scope);
  void place(const std::vector<NodeId>& nodes);
  void loop(const Stmt& s, const Scope& inner, Value* begin, Value* end);
  void scalar_loop(Value* begin, Value* end, Value* step, const std::function<void(Value*)>& fn);
  enum class Length : uint8_t { any, one_block };  // of a vector loop: one that is surely short has no strips
  void vector_loop(uint32_t var, const Scope& inner, const std::vector<const Stmt*>& uses, Value* begin, Value* end,
                   Length length, const std::function<void()>& fn);
  Value* stop_asked();
  /// Ends a loop's iteration: to `head` if `again`, to `exit` if not. The block that `head` is entered from.
  enum class Look : uint8_t { no, yes };
  llvm::BasicBlock* back_edge(Value* again, llvm::BasicBlock* head, llvm::BasicBlock* exit, Look look);
  bool starts_outside(NodeId at) const;
  void collect_streams(const Stmt& s);
  void collect_streams(NodeId n, std::vector<bool>& seen);
  Value* tail_mask(Value* count);
  void move_tail(const Stream& s, Value* real, bool fill, Value* count);

  // Reductions (emit_reduce.cpp)
  using Values = llvm::SmallVector<Value*, 4>;
  void reduce_fold(const Stmt& s, const Scope& inner);
  void reduce_blocks(const Stmt& s, const Scope& inner);
  void reduce_serial(const Stmt& s, const Scope& inner);
  Values serial_level(const Stmt& s, const Scope& inner, size_t level, Values acc);
  Values reduce_step(const Stmt& s, const Scope& inner, Values acc);
  Value* combine(ir::Leaf op, DType t, Value* a, Value* b);
  Values identities(const Stmt& s, const Scope& inner);
  DType value_type(const Stmt& s, size_t k) const { return k_.node(s.values[k]).type; }
  void fold_block(const Stmt& s, const Scope& inner, const Values& lanes_memory, Value* begin, Value* end);
  Value* fold_lanes(Value* memory, ir::Leaf op, DType t);
  /// A loop that carries values: fn(i, values) gives the next ones.
  Values carry_loop(Value* begin, Value* end, Value* step, Look look, Values init,
                    const std::function<Values(Value*, const Values&)>& fn);

  Value* alloca_in_entry(llvm::Type* t, unsigned count);
  llvm::Constant* i64(int64_t v) { return b_.getInt64(static_cast<uint64_t>(v)); }

  llvm::Module& module_;
  const Kernel& k_;
  const HostTarget& target_;
  llvm::IRBuilder<> b_;
  LeafEmitter leaf_;
  ir::loops::Placement placement_;
  unsigned width_;
  llvm::Function* fn_ = nullptr;
  llvm::BasicBlock *entry_ = nullptr, *stopped_ = nullptr;
  Value *begin_ = nullptr, *end_ = nullptr, *poll_ = nullptr;
  std::vector<Value*> buffers_, sizes_, scalars_;
  std::vector<Value*> values_, vars_, results_;
  std::vector<uint64_t> reach_;  // by node: the variables it depends on, through results of reductions, too (bits)
  std::vector<NodeId> undo_;
  VectorLoop vec_;
  bool at_parallel_root_ = true;
};

}  // namespace ouro::backends
