// How the prompt shows the value of a statement: a picture (ouro.plot) as a picture, a long container shortened, all
// else by its repr.
#pragma once

namespace ouro::runtime {
class Session;
}

namespace ouro::tools {

/// Sets sys.displayhook. The text is made by the library's module ouro.prompt; sys.__displayhook__ stays what shows
/// every repr whole.
void show_results(runtime::Session& s);

}  // namespace ouro::tools
