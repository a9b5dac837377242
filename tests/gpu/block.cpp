#include "block.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <tuple>

namespace gpu {
namespace {

// Device addresses are none of the host's: code that mixes them up faults at once.
constexpr uint64_t kBase = uint64_t{1} << 60;
constexpr size_t kAlign = 256;
constexpr int kWarp = 32;

}  // namespace

uint64_t Memory::allocate(size_t bytes) {
  if (bytes > limit - used_) return 0;
  size_t size = (bytes + kAlign - 1) / kAlign * kAlign;
  auto* host = static_cast<char*>(std::aligned_alloc(kAlign, size));
  if (!host) return 0;
  std::memset(host, 0xcd, size);  // not zeros by chance
  uint64_t address = kBase + reinterpret_cast<uint64_t>(host);
  pieces_[address] = {host, bytes};
  used_ += bytes;
  return address;
}

bool Memory::release(uint64_t address) {
  auto it = pieces_.find(address);
  if (it == pieces_.end()) return false;
  used_ -= it->second.bytes;
  std::free(it->second.host);
  pieces_.erase(it);
  last_ = last_end_ = 0;
  return true;
}

char* Memory::at(uint64_t address, size_t bytes) {
  if (address < last_ || address + bytes > last_end_) {
    auto it = pieces_.upper_bound(address);
    if (it == pieces_.begin()) return nullptr;
    --it;
    if (address + bytes > it->first + it->second.bytes) return nullptr;
    last_ = it->first;
    last_end_ = it->first + it->second.bytes;
    last_host_ = it->second.host;
  }
  return last_host_ + (address - last_);
}

Block::Block(const Function& function, Memory& memory, const char* arguments, uint32_t blocks, uint32_t threads_of_it)
    : f(function),
      global(memory),
      parameters(arguments),
      threads(threads_of_it),
      registers(function.registers),
      shared(function.shared_bytes) {
  for (auto [r, value] : f.constants) slot(r).fill(value);
  if (f.ntid >= 0) slot(f.ntid).fill(threads);
  if (f.nctaid >= 0) slot(f.nctaid).fill(blocks);
  if (f.tid >= 0)
    for (size_t i = 0; i < kLanes; ++i) slot(f.tid)[i] = i;
}

char* Block::address(const Instruction& i, int lane, size_t bytes) {
  uint64_t at = slot(i.r[4])[static_cast<size_t>(lane)] + static_cast<uint64_t>(i.offset);
  char* p = nullptr;
  if (i.space == Space::global)
    p = global.at(at, bytes);
  else if (at + bytes <= shared.size() && at < shared.size())
    p = shared.data() + at;
  if (!p || at % bytes != 0)
    throw Fault("line " + std::to_string(i.line) + ": thread " + std::to_string(lane) +
                (p ? ": an address that is not aligned" : ": an address outside of all memory"));
  return p;
}

void Block::run(uint32_t number) {
  if (f.ctaid >= 0) slot(f.ctaid).fill(number);
  std::fill(shared.begin(), shared.end(), static_cast<char>(0xcd));
  groups_.clear();
  Mask all = threads == kLanes ? ~Mask{0} : (Mask{1} << threads) - 1;
  for (int warp = 0; warp * kWarp < kLanes; ++warp)
    if (Mask who = all & (((Mask{1} << kWarp) - 1) << (warp * kWarp))) groups_.push_back({0, who, warp, false});
  while (!groups_.empty()) step(next());
}

// The group to run, joined by those of its warp that stand where it does.
size_t Block::next() {
  auto before = [](const Group& a, const Group& b) {
    return std::tie(a.waits, a.warp, a.at) < std::tie(b.waits, b.warp, b.at);
  };
  auto first = std::ranges::min_element(groups_, before);
  if (first->waits) {  // all do
    for (Group& g : groups_) {
      if (g.at != first->at) throw Fault("threads of a block wait at different barriers");
      g.waits = false;
    }
    first = std::ranges::min_element(groups_, before);
  }
  size_t chosen = static_cast<size_t>(first - groups_.begin());
  for (size_t g = groups_.size(); g-- > chosen + 1;) {
    Group &a = groups_[chosen], &b = groups_[g];
    if (a.waits != b.waits || a.warp != b.warp || a.at != b.at) continue;
    a.who |= b.who;
    groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(g));
  }
  return chosen;
}

void Block::step(size_t group) {
  Group& g = groups_[group];
  const Instruction& i = f.code[g.at];
  Mask who = g.who;
  if (i.guard >= 0) {
    const Slot& p = slot(i.guard);
    Mask yes = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) yes |= (p[lane] & 1) << lane;
    who &= i.unless ? ~yes : yes;
  }
  ++g.at;
  switch (i.flow) {
    case Flow::next:
      if (who) i.step(*this, i, who);
      break;
    case Flow::branch:
      if (who == g.who) {
        g.at = i.target;
      } else if (who) {
        g.who &= ~who;
        groups_.push_back({i.target, who, g.warp, false});
      }
      break;
    case Flow::barrier:
      g.waits = true;
      break;
    case Flow::end:
      g.who &= ~who;
      if (!g.who) groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(group));
      break;
  }
}

}  // namespace gpu
