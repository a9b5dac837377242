// Stage 0: stdlib/**/*.ouro → ANF → bytes (ir/pack.h) → one C++ file that defines the table of
// stdlib/embedded.h. It runs while the program is built and links no runtime.
//
//   ouro_stage0 ROOT LIST OUT
//
// LIST names the scripts, one a line; ROOT is the folder their module names start at.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/module.h"
#include "ir/pack.h"
#include "ir/verify.h"

namespace {

using namespace ouro;

struct Module {
  std::string name, path, text, packed;
  bool is_package = false;
};

// "nn/__init__.ouro" → "nn", "nn/linear.ouro" → "nn.linear".
void name_module(Module& m) {
  std::string stem = m.path.substr(0, m.path.size() - std::string(".ouro").size());
  const std::string init = "/__init__";
  if (stem.size() > init.size() && stem.ends_with(init)) {
    m.is_package = true;
    stem.resize(stem.size() - init.size());
  }
  std::replace(stem.begin(), stem.end(), '/', '.');
  m.name = stem;
}

// A string literal, in pieces of a line each: no delimiter that a script could contain.
// (Octal escapes take three digits at most, so a digit behind one is itself.)
void write_literal(std::ostream& out, const std::string& text) {
  out << "\"";
  for (unsigned char c : text) {
    if (c == '\n') {
      out << "\\n\"\n\"";
    } else if (c == '"' || c == '\\') {
      out << '\\' << c;
    } else if (c < 0x20 || c >= 0x7f) {
      char octal[5];
      std::snprintf(octal, sizeof octal, "\\%03o", c);
      out << octal;
    } else {
      out << c;
    }
  }
  out << "\"";
}

void write_table(std::ostream& out, const std::vector<Module>& modules) {
  out << "// Written by ouro_stage0. Do not edit.\n"
         "#include \"stdlib/embedded.h\"\n#include <algorithm>\n"
         "namespace ouro::stdlib {\n"
         "namespace {\nusing namespace std::string_view_literals;\n"
         "constexpr EmbeddedModule kModules[] = {\n";
  for (const Module& m : modules) {
    out << "{\"" << m.name << "\"sv, \"" << m.path << "\"sv,\n";
    write_literal(out, m.text);
    out << "sv,\n";
    write_literal(out, m.packed);
    out << "sv, " << (m.is_package ? "true" : "false") << "},\n";
  }
  out << "{}};\n}\n"  // an empty row at the end: the array is never of size 0
         "std::span<const EmbeddedModule> embedded_modules() {\n"
         "  return {kModules, std::size(kModules) - 1};\n}\n"
         "const EmbeddedModule* find_embedded(std::string_view name) {\n"
         "  auto all = embedded_modules();\n"
         "  auto it = std::lower_bound(all.begin(), all.end(), name,\n"
         "      [](const EmbeddedModule& m, std::string_view n) { return m.name < n; });\n"
         "  return it != all.end() && it->name == name ? &*it : nullptr;\n}\n"
         "}\n";
}

// Reads and compiles one script; false with a message if that fails.
bool make_module(const std::string& path, Module& m) {
  SourceManager sources;
  const SourceFile* file = sources.load(path);
  if (!file) {
    std::cerr << "ouro_stage0: cannot read " << path << "\n";
    return false;
  }
  Diagnostics diags;
  ir::FunctionRef code = frontend::compile_module(*file, diags);
  if (!code) {
    if (const Diagnostic* d = diags.first_error()) std::cerr << render(*d, sources);
    return false;
  }
  ir::check(*code);
  m.text = file->text();
  m.packed = ir::pack(*code);
  return true;
}

// Leaves a file alone that says the same already, so that nothing is compiled again.
bool write_if_changed(const std::string& path, const std::string& text) {
  std::string before;
  if (read_file(path, before) && before == text) return true;
  std::ofstream out(path, std::ios::binary);
  out << text;
  return static_cast<bool>(out.flush());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: ouro_stage0 ROOT LIST OUT\n";
    return 2;
  }
  const std::string root = std::string(argv[1]) + "/";
  std::ifstream list(argv[2]);
  std::vector<Module> modules;
  for (std::string line; std::getline(list, line);) {
    if (line.empty()) continue;
    Module m;
    m.path = line.starts_with(root) ? line.substr(root.size()) : line;
    name_module(m);
    if (!make_module(line, m)) return 1;
    modules.push_back(std::move(m));
  }
  std::sort(modules.begin(), modules.end(), [](const Module& a, const Module& b) { return a.name < b.name; });
  std::ostringstream out;
  write_table(out, modules);
  return write_if_changed(argv[3], out.str()) ? 0 : 1;
}
