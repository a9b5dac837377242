// Records of loops (jit/specialise/states/records.cpp): what the turns of a loop of the program leave for its reverse.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "jit/specialise/abstract/heap.h"
#include "jit/specialise/abstract/value.h"

namespace ouro::jit {

// The records of every turn of one loop of the program, as one turn has them. In the seqs that the loop pushes to, one
// record stands for those of all its turns: its last item is AKind::rolled.
struct Rolled {
  struct Leaf {  // a name that a turn gives its own value
    ir::Atom atom;
    const ir::Type* type = nullptr;
    bool optional = false;
  };
  bool known = false;                                        // the loop is done
  std::map<HeapId, std::vector<AVal>> items;                 // by seq
  std::vector<Leaf> leaves;                                  // what the program keeps of a turn
  std::map<uint32_t, size_t> leaf_of;                        // by name
  std::map<HeapId, std::shared_ptr<const AObject>> objects;  // that a turn makes, as it leaves them
  uint64_t born = 0;                                         // functions with this identity and later ones are a turn's
};

// One turn that the reverse of the loop goes through, by the chain that has it at its end.
struct Turn {
  HeapId unpacked = kNoHeap;         // AObject::Kind::turn: the chain before it, and its leaves
  std::map<HeapId, HeapId> objects;  // of Rolled::objects
  std::map<uint64_t, uint64_t> identities;
};

}  // namespace ouro::jit
