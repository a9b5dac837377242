// Stage 0: stdlib/**/*.ouro → ANF → bytes (ir/pack.h) → one C++ file that defines the table of
// stdlib/embedded.h. It runs while the program is built and links no runtime.
//
//   ouro_stage0 ROOT LIST OUT ROWS
//
// LIST names the scripts, one a line; ROOT is the folder their module names start at. What the files of ROOT/ops say of
// their operations goes into a second C++ file, ROWS (rows.h).
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "frontend/build_ast.h"
#include "frontend/lower.h"
#include "frontend/resolve.h"
#include "ir/pack.h"
#include "ir/verify.h"
#include "tools/stage0/rows.h"

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

void write_table(std::ostream& out, const std::vector<Module>& modules) {
  out << "// Written by ouro_stage0. Do not edit.\n"
         "#include \"stdlib/embedded.h\"\n#include <algorithm>\n"
         "namespace ouro::stdlib {\n"
         "namespace {\nusing namespace std::string_view_literals;\n"
         "constexpr EmbeddedModule kModules[] = {\n";
  for (const Module& m : modules) {
    out << "{\"" << m.name << "\"sv, \"" << m.path << "\"sv,\n"
        << stage0::literal(m.text) << "sv,\n"
        << stage0::literal(m.packed) << "sv, " << (m.is_package ? "true" : "false") << "},\n";
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

// A script as ANF, null on error. The operations of a file of ops/ are added to `rows`.
ir::FunctionRef compile(const SourceFile& file, const std::string& name, std::vector<stage0::Row>& rows,
                        Diagnostics& diags) {
  const std::string ops = "ops.";
  Arena arena;
  ast::Module* tree = frontend::parse_module(file, arena, diags);
  if (tree && name.starts_with(ops)) stage0::take_rows(*tree, arena, name.substr(ops.size()), rows, diags);
  if (diags.has_errors()) return nullptr;
  std::unique_ptr<frontend::Resolution> names = frontend::resolve(*tree, diags);
  return names ? frontend::lower(*tree, *names, false) : nullptr;
}

// Reads and compiles one script; false with a message if that fails.
bool make_module(const std::string& path, Module& m, std::vector<stage0::Row>& rows) {
  SourceManager sources;
  const SourceFile* file = sources.load(path);
  if (!file) {
    std::cerr << "ouro_stage0: cannot read " << path << "\n";
    return false;
  }
  Diagnostics diags;
  ir::FunctionRef code = compile(*file, m.name, rows, diags);
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
  if (argc != 5) {
    std::cerr << "usage: ouro_stage0 ROOT LIST OUT ROWS\n";
    return 2;
  }
  const std::string root = std::string(argv[1]) + "/";
  std::ifstream list(argv[2]);
  std::vector<Module> modules;
  std::vector<stage0::Row> rows;
  for (std::string line; std::getline(list, line);) {
    if (line.empty()) continue;
    Module m;
    m.path = line.starts_with(root) ? line.substr(root.size()) : line;
    name_module(m);
    if (!make_module(line, m, rows)) return 1;
    modules.push_back(std::move(m));
  }
  std::sort(modules.begin(), modules.end(), [](const Module& a, const Module& b) { return a.name < b.name; });
  std::ostringstream table, ops;
  write_table(table, modules);
  stage0::write_rows(ops, rows);
  return write_if_changed(argv[3], table.str()) && write_if_changed(argv[4], ops.str()) ? 0 : 1;
}
