#include "jit/cache/build_id.h"
#include "support/forever.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace ouro::jit {
namespace {

constexpr size_t rounded(size_t n) { return (n + 3) & ~size_t{3}; }

std::string find_note(std::string_view notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    const size_t name = rounded(head.n_namesz), value = rounded(head.n_descsz);
    if (name > notes.size() || value > notes.size() - name) break;
    if (head.n_type == NT_GNU_BUILD_ID && notes.starts_with(std::string_view("GNU", 4)))
      return std::string(notes.substr(name, head.n_descsz));
    notes.remove_prefix(name + value);
  }
  return {};
}

// Is this the object that holds build_id() itself? Then its note, and 1 to end the search.
int visit(dl_phdr_info* object, size_t, void* found) {
  const auto self = reinterpret_cast<uintptr_t>(&build_id);
  bool mine = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = object->dlpi_phdr[i];
    mine = mine || (p.p_type == PT_LOAD && self - (object->dlpi_addr + p.p_vaddr) < p.p_memsz);
  }
  if (!mine) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = object->dlpi_phdr[i];
    if (p.p_type != PT_NOTE) continue;
    std::string id = find_note({reinterpret_cast<const char*>(object->dlpi_addr + p.p_vaddr), p.p_memsz});
    if (!id.empty()) *static_cast<std::string*>(found) = std::move(id);
  }
  return 1;
}

}  // namespace

const std::string& build_id() {
  static const std::string& id = support::forever([] {
    std::string found;
    dl_iterate_phdr(visit, &found);
    return found;
  }());
  return id;
}

}  // namespace ouro::jit
