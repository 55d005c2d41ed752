// A copy of settings or options with some members changed, in one expression:
//
//   kit::with(default_settings(), &Settings::vms, 1U, &Settings::min_items, 0U)
#pragma once

#include <type_traits>
#include <utility>

namespace kit {

template <class All, class Base, class Value, class... More>
All with(All all, Value Base::*member, std::type_identity_t<Value> value, More... more) {
  all.*member = std::move(value);
  if constexpr (sizeof...(More) > 0) {
    return with(std::move(all), more...);
  } else {
    return all;
  }
}

}  // namespace kit
