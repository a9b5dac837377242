// What the compiler did, in words: which functions are compiled whole and what part of the time they take, what stays
// with the interpreter and why, versions and why they were made.
#pragma once

#include <string>

#include "runtime/object/session.h"

namespace ouro::jit {

/// Before the script runs. What is called twice is compiled, however short the script, and everything is timed: so that
/// there is something to tell.
void prepare_report(runtime::Session& s);

/// Interpreted calls of functions that may be compiled are timed, and each operation of compiled ones. Before it runs.
void time_everything(runtime::Session& s);

/// The report of `ouro explain`, lines ending in \n. The mode eager says so.
std::string explain(runtime::Session& s);
/// The part of it that tells of one function and of its gradients, with what is to be written instead of each hole.
/// Waits for versions that are being compiled.
std::string explain_function(runtime::Session& s, const runtime::Function& f);
/// The same as one JSON object (docs/explain.md tells what is in it).
std::string explain_json(runtime::Session& s);
/// A line for each operation or function that stays with the interpreter; empty: there is none. For `--strict`.
std::string holes_left(runtime::Session& s);

}  // namespace ouro::jit
