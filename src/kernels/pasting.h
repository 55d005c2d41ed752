// Which names a program could form with the preprocessor's ## from what stands in its text.
//
// Source: C99 6.10.3.3 "The ## operator".
//
// Thread-safe. May throw std::bad_alloc.
#pragma once

#include <set>
#include <string_view>
#include <vector>

namespace cleave::kernels {

class Fragments {
 public:
  // Takes every name and number of the texts, which must outlive this.
  explicit Fragments(const std::vector<std::string_view>& texts);

  // Whether fragments put together give exactly `name`, also a single one.
  [[nodiscard]] bool can_form(std::string_view name) const;

  // Whether fragments put together give a name that holds `part`.
  [[nodiscard]] bool can_form_around(std::string_view part) const;

 private:
  enum class Ends { exact, open };
  [[nodiscard]] bool can_finish(std::string_view name, std::vector<bool> reached, Ends ends) const;

  std::set<std::string_view> list_;
};

}  // namespace cleave::kernels
