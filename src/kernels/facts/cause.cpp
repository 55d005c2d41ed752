#include "kernels/facts/cause.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave::kernels {
namespace {

using Finding = Cause::Finding;
using Way = Cause::Way;

constexpr std::array<std::pair<Finding, bool Scan::*>, 10> kFindings = {{
    {Finding::opaque, &Scan::opaque},
    {Finding::breaks_prelude, &Scan::breaks_prelude},
    {Finding::reads_ndrange, &Scan::reads_ndrange},
    {Finding::communicates, &Scan::communicates},
    {Finding::keeps_state, &Scan::keeps_state},
    {Finding::pastes_tokens, &Scan::pastes_tokens},
    {Finding::adds_to_global, &Scan::adds_to_global},
    {Finding::fences_global, &Scan::fences_global},
    {Finding::shares_stores, &Scan::shares_stores},
    {Finding::assembly, &Scan::assembly},
}};

// Calls add(finding) for the findings of the scan that are not in the list.
template <typename Add>
void for_each_new(const Scan& scan, const std::vector<Cause>& list, Add add) {
  for (const auto& [finding, member] : kFindings) {
    const auto same = [wanted = finding](const Cause& cause) { return cause.finding == wanted; };
    if (scan.*member && std::none_of(list.begin(), list.end(), same)) add(finding);
  }
}

std::string place_of(const Cause& cause) {
  std::string place = cause.line == 0 ? "in the build's options" : "in line " + std::to_string(cause.line);
  if (!cause.file.empty()) place.append(" of ").append(cause.file);
  return place;
}

}  // namespace

Cause cause_of(const MissingInclude& missing) {
  return {.way = missing.named_by_macro ? Way::named_by_macro : Way::not_found,
          .construct = missing.name,
          .file = missing.file,
          .line = missing.line};
}

std::string sentence(const Cause& cause) {
  const std::string what = "`" + cause.construct + "` ";
  const std::string place = place_of(cause);
  switch (cause.way) {
    case Way::uses:
      return what + "is used " + place;
    case Way::stores_to:
      return what + "is stored to " + place + ", where another work-group may store or read";
    case Way::changes:
      return what + "is declared, redefined, tested or passed on " + place;
    case Way::makes_text:
      return what + "in a macro " + place + " may concern a built-in function's name";
    case Way::pastes:
      return what + "could be put together by the `##` " + place;
    case Way::directive:
      return what + place + " is not a directive that Cleave knows";
    case Way::not_found:
      return what + "is included " + place + " and was not found";
    case Way::named_by_macro:
      return what + place + " names an included file by a macro";
    case Way::unreadable:
      return what + place + " can be read in more than one way";
    case Way::declares:
      return what + place + " may declare a variable that keeps its value";
    case Way::option:
      return what + "among the build's options is not known, or changes names that Cleave needs";
    case Way::unsure_of_folders:
      return what + "may change where included files are searched";
    case Way::in_module:
      return what + "is used in its SPIR-V module";
  }
  return {};
}

void Causes::note(const Scan& scan, Way way, std::string_view construct, const JoinedText& text,
                  std::string_view place) {
  for_each_new(scan, list_, [&](Finding finding) {
    list_.push_back({finding, way, std::string(construct), text.file(), text.line_of(place)});
  });
}

void Causes::note(const Scan& scan, const Cause& like, std::string_view construct) {
  for_each_new(scan, list_, [&](Finding finding) {
    list_.push_back({finding, like.way, std::string(construct), like.file, like.line});
  });
}

void Causes::note(const Scan& scan, Way way, std::string_view construct) {
  note(scan, Cause{.way = way, .construct = {}, .file = {}}, construct);
}

void Causes::add(const std::vector<Cause>& causes) {
  for (const Cause& cause : causes) {
    if (of(cause.finding) == nullptr) list_.push_back(cause);
  }
}

const Cause* Causes::of(Finding finding) const {
  const auto found =
      std::find_if(list_.begin(), list_.end(), [&](const Cause& cause) { return cause.finding == finding; });
  return found != list_.end() ? &*found : nullptr;
}

}  // namespace cleave::kernels
