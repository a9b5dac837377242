// The classes of None, NotImplemented and Ellipsis.
#include "runtime/object/ops.h"
#include "runtime/types/register.h"

namespace ouro::runtime {
namespace {

template <Tag tag>
Value singleton() {
  return tag == Tag::none ? Value::none() : tag == Tag::ellipsis ? Value::ellipsis() : Value::not_implemented();
}
template <Tag tag>
Value single_repr(Session& s, const Value&) {
  static const Symbol name = intern(tag == Tag::none ? "None" : tag == Tag::ellipsis ? "Ellipsis" : "NotImplemented");
  return s.str(name);
}
template <Tag tag>
Value single_construct(Session& s, Type* cls, const Args& a) {
  if (a.size() + a.keywords.size())
    return raise_type_error(s, "%s takes no arguments",
                            tag == Tag::ellipsis ? "EllipsisType" : std::string(cls->text()).c_str());
  return singleton<tag>();
}
int none_truth(Session&, const Value&) { return 0; }

constexpr TypeSlots kNone{
    .truth = none_truth, .repr = single_repr<Tag::none>, .construct = single_construct<Tag::none>};
constexpr TypeSlots kNotImplemented{.repr = single_repr<Tag::not_implemented>,
                                    .construct = single_construct<Tag::not_implemented>};
constexpr TypeSlots kEllipsis{.repr = single_repr<Tag::ellipsis>, .construct = single_construct<Tag::ellipsis>};
const TypeDef kDefs[] = {
    {.name = "NoneType", .kind = ObjectKind::none, .slots = &kNone, .subclassable = false},
    {.name = "NotImplementedType",
     .kind = ObjectKind::not_implemented,
     .slots = &kNotImplemented,
     .subclassable = false},
    {.name = "ellipsis", .kind = ObjectKind::ellipsis, .slots = &kEllipsis, .subclassable = false},
};

}  // namespace

void register_singleton_types(Session& s) {
  for (const TypeDef& d : kDefs)
    if (!s.type(d.kind)) define_type(s, d);
}

}  // namespace ouro::runtime
