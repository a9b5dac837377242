// Static tables that are never destroyed: a session may end after the static destructors of these files, as a global
// one of the host's does, and threads may still run then.
#pragma once

#include <utility>

namespace ouro {
inline namespace support {

/// `static const std::vector<Row>& rows = forever(make_rows());`
template <class T>
T& forever(T value) {
  return *new T(std::move(value));
}

}  // namespace support
}  // namespace ouro
