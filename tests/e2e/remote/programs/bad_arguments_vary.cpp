// What parameters are replaced by, and the calls with them.
#include <cstdio>
#include <sstream>

#include "bad_arguments.h"

namespace bad {
namespace {

struct Value {
  Word value;
  const char* name;
  bool in_pairs = false;  // replaces it together with another parameter
};
using Values = std::vector<Value>;

Value null() { return {0, "null", true}; }
template <typename T>
Value value(T of, const char* name) {
  return {to_word(of), name};
}

Values numbers(std::initializer_list<const char*> texts) {
  Values all;
  for (const char* text : texts) all.push_back({std::stoull(text), text, all.empty()});
  return all;
}

Values sizes() {
  Values all =
      numbers({"0",  "1",  "2",  "3",   "4",   "5",   "6",   "8",   "9",    "10",   "16",   "24",  "32",
               "33", "40", "64", "128", "256", "384", "512", "640", "1024", "2048", "4096", "4097"});
  all.push_back(value(std::size_t{1} << 20U, "1M"));
  all.push_back(value(SIZE_MAX / 2, "half of all"));
  all.push_back(value(SIZE_MAX, "all"));
  return all;
}

Values lists_of_sizes() {
  static constexpr std::size_t kMost = SIZE_MAX;
  static const std::size_t zeros[3] = {0, 0, 0}, ones[3] = {1, 1, 1}, flat[3] = {4, 0, 1},
                           thin[3] = {0, 4, 1}, thick[3] = {4, 4, 0}, large[3] = {kSize + 1, 1, 1},
                           most[3] = {kMost, kMost, kMost};
  return {null(),
          value(zeros, "zeros"),
          value(ones, "ones"),
          value(flat, "no rows"),
          value(thin, "no columns"),
          value(thick, "no slices"),
          value(large, "large"),
          value(most, "most")};
}

Values lists_of_events(const Rig& rig) {
  static const cl_event none[8] = {};
  static cl_event ended[8], foreign[8];
  ended[0] = rig.ended;
  foreign[0] = rig.other_ended;
  return {null(), value(none, "null events"), value(ended, "ended"), value(foreign, "other")};
}

Values values_of(Type type, const Rig& rig) {
  switch (type) {
    case Type::context:
      return {null(), value(rig.other_context, "other")};
    case Type::queue:
      return {null(), value(rig.other_queue, "other")};
    case Type::memory:
      return {null(),
              value(rig.other_buffer, "other"),
              value(rig.image, "image"),
              value(rig.buffer, "buffer"),
              value(rig.sub_buffer, "sub-buffer"),
              value(rig.write_only, "host-write-only"),
              value(rig.read_only, "host-read-only"),
              value(rig.no_access, "host-no-access")};
    case Type::program:
      return {null(), value(rig.unbuilt, "unbuilt"), value(rig.other_program, "other")};
    case Type::kernel:
      return {null(), value(rig.unset, "unset"), value(rig.other_kernel, "other")};
    case Type::event:
      return {null(), value(rig.other_ended, "other"), value(rig.user, "user")};
    case Type::size:
      return sizes();
    case Type::number:
      return numbers({"0", "1", "2", "3", "4", "7"});
    case Type::code: {
      Values all = numbers({"0", "1", "2", "3"});
      all.push_back(value(cl_int{-1}, "-1"));
      return all;
    }
    case Type::sizes:
      return lists_of_sizes();
    case Type::events:
      return lists_of_events(rig);
    case Type::pointer:
      return {null()};
    case Type::sampler:
    case Type::other:
      break;
  }
  return {};
}

// One call that is varied.
class Variation {
 public:
  Variation(Rig& rig, const Call& call, const std::function<void(Word)>& after)
      : rig_(rig), call_(call), after_(after) {
    std::istringstream words(call.parameters);
    for (std::string word; words >> word;) names_.push_back(" " + word + "=");
  }
  [[nodiscard]] bool is_complete() const { return names_.size() == call_.types.size(); }

  void run() {
    if (!rig_.released.empty()) return give_released();
    run(call_.name, call_.arguments);
    for (std::size_t i = 0; i < names_.size(); ++i) replace(i);
  }

 private:
  void give_released() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto released = rig_.released.find(call_.types[i]);
      if (released == rig_.released.end()) continue;
      std::vector<Word> changed = call_.arguments;
      changed[i] = released->second.first;
      if (call_.types[i] == Type::events) changed[i - 1] = 1;
      run(call_.name + names_[i] + "released (" + std::to_string(released->second.second) + ")", changed);
    }
  }

  // The parameter's other values, alone and some in pairs with those of parameters behind it.
  void replace(std::size_t i) {
    for (const Value& one : others(i)) {
      std::vector<Word> changed = call_.arguments;
      changed[i] = one.value;
      const std::string name = call_.name + names_[i] + one.name;
      run(name, changed);
      for (std::size_t j = i + 1; one.in_pairs && j < names_.size(); ++j) {
        for (const Value& other : others(j)) {
          if (!other.in_pairs) continue;
          std::vector<Word> both = changed;
          both[j] = other.value;
          run(name + names_[j] + other.name, both);
        }
      }
    }
  }

  Values others(std::size_t i) const {
    Values values = values_of(call_.types[i], rig_);
    std::erase_if(values, [&](const Value& one) { return one.value == call_.arguments[i]; });
    return values;
  }

  void run(const std::string& name, const std::vector<Word>& arguments) {
    run_case(name, [&] {
      rig_.outputs();
      const Word result = call_.invoke(call_.function, arguments.data());
      const std::string outputs = rig_.outputs();
      if (after_) after_(result);
      std::string text = call_.end(result) + outputs;
      if (name.starts_with("clEnqueue")) clFinish(rig_.queue);
      return text;
    });
  }

  Rig& rig_;
  const Call& call_;
  const std::function<void(Word)>& after_;
  std::vector<std::string> names_;
};

}  // namespace

void vary(Rig& rig, const Call& call, const std::function<void(Word)>& after) {
  Variation variation(rig, call, after);
  if (variation.is_complete()) {
    variation.run();
  } else {
    std::printf("%s has not so many parameters\n", call.name.c_str());
  }
}

}  // namespace bad
