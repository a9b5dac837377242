// The natives that the rules in Ouro use (module `_ad`).
#pragma once

namespace ouro::runtime {
class Session;
struct NativeDef;
bool is_of_reverse_mode(const NativeDef* def);  // one of module `_ad`
void register_autodiff_natives(Session& s);
void register_row_natives(Session& s);  // module `_ad_rows`
}  // namespace ouro::runtime
