// Stage 0: turns stdlib/**/*.ouro into one C++ file that defines the table of stdlib/embedded.h.
//
//   ouro_stage0 ROOT LIST OUT
//
// LIST names the scripts, one a line; ROOT is the folder their module names start at.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

struct Module {
  std::string name, path, text;
  bool is_package = false;
};

bool read_file(const std::string& path, std::string& text) {
  std::ifstream in(path, std::ios::binary);
  text.assign(std::istreambuf_iterator<char>(in), {});
  return in.good() || in.eof();
}

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
    if (!read_file(line, m.text)) {
      std::cerr << "ouro_stage0: cannot read " << line << "\n";
      return 1;
    }
    modules.push_back(std::move(m));
  }
  std::sort(modules.begin(), modules.end(),
            [](const Module& a, const Module& b) { return a.name < b.name; });
  std::ofstream out(argv[3], std::ios::binary);
  write_table(out, modules);
  return out.flush() ? 0 : 1;
}
