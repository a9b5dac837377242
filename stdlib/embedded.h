// The library that is written in Ouro, as it stands inside the program.
//
// tools/stage0.cpp turns stdlib/**/*.ouro into one generated table at build time: parsed, lowered
// and packed (ir/pack.h), so an import unpacks and parses nothing. The text is for tracebacks.
#pragma once

#include <span>
#include <string_view>

namespace ouro::stdlib {

struct EmbeddedModule {
  std::string_view name;    // dotted: "nn" for nn/__init__.ouro or nn.ouro, "nn.linear", "prelude"
  std::string_view path;    // below stdlib/, as tracebacks show it
  std::string_view text;    // the source, decoded: what its spans refer to
  std::string_view packed;  // its code
  bool is_package;          // an __init__.ouro
};

// All modules, sorted by name. Static storage, free of side effects.
std::span<const EmbeddedModule> embedded_modules();

// The module of that name, or null.
const EmbeddedModule* find_embedded(std::string_view name);

}  // namespace ouro::stdlib
