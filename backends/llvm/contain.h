// LLVM's fatal errors, contained: what its code generator cannot take ends the compilation, not the process.
//
// LLVM reports such an error through a handler that must not return, and its frames cannot be unwound. So the handler
// jumps to where the guarded work began (setjmp, as LLVM's own CrashRecoveryContext does). The frames between are not
// unwound, and what they own is not freed: the work must hold no lock and leave nothing behind that is used again. A
// context or module that was at work when it failed is therefore never destroyed: Discardable leaks it.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace ouro::backends {

/// Runs `work`, which calls LLVM. False, and the text in `error`, if LLVM called an error of it fatal.
bool contain_llvm(const std::function<void()>& work, std::string& error);

/// An object that is not destroyed after a contained error.
template <class T>
class Discardable {
 public:
  template <class... Args>
  explicit Discardable(Args&&... args) : object_(std::make_unique<T>(std::forward<Args>(args)...)) {}
  T& operator*() { return *object_; }
  T* operator->() { return object_.get(); }
  void leak() { (void)object_.release(); }

 private:
  std::unique_ptr<T> object_;
};

}  // namespace ouro::backends
