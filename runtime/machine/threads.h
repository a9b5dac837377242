// Threads for kernels: a pool that runs the parts of one job on several cores. Which thread runs which part is not
// determined, so a job must be split into parts that do not depend on the number of threads and do not see each other's
// results (docs/design/rules.md E24).
//
// Workers belong to the process, start when first needed and sleep while there is nothing to do; how many may help is
// an argument of each job (a session's demand), never a property of code. No OpenMP. A part must not start jobs of its
// own, and throw nothing but std::bad_alloc: the job ends early then and throws it where it was started. Memory for
// a part should be taken before the job starts (runtime/machine/part_memory.h): a worker serves no client that could
// count it.
#pragma once

#include <cstdint>

namespace ouro::runtime {

using PartFn = void (*)(void* context, int64_t part);

// Where the client may be stopped: calls fn for some of the parts only, and throws Interrupted, on the thread that
// serves it; for results that nobody sees then.
void run_parts_or_stop(int threads, int64_t parts, PartFn fn, void* context);

// In a part of run_parts_or_stop(): has it been asked to stop? What takes more than some milliseconds looks, and ends.
bool stop_asked();
// Is this thread at a part of a job? It can start none then.
bool in_part();

// Calls fn(context, p) for p in [0, parts) on at most `threads` threads, this one among them, and returns when all are
// done.
void run_parts(int threads, int64_t parts, PartFn fn, void* context);

template <class F>
void parallel_for(int threads, int64_t parts, F&& f) {
  if (threads <= 1 || parts <= 1) {
    for (int64_t p = 0; p < parts; ++p) f(p);
    return;
  }
  run_parts(
      threads, parts, [](void* c, int64_t p) { (*static_cast<F*>(c))(p); }, &f);
}

template <class F>
void parallel_for_or_stop(int threads, int64_t parts, F&& f) {
  run_parts_or_stop(
      threads, parts, [](void* c, int64_t p) { (*static_cast<F*>(c))(p); }, &f);
}

}  // namespace ouro::runtime
