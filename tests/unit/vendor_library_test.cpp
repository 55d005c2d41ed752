// Every function of src/opencl/functions.def and src/opencl/extension_functions.def is called with handles of ours on top of
// a driver that only writes down what it gets: every handle in and out must be translated, and in those of
// functions.def a bad one must get the specified error before the driver sees it. Made from the lists, so
// that no function can be forgotten.

#include <array>
#include <cstdint>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "icd/vendor/loader_interface.h"
#include "icd/vendor/translations.h"

namespace cleave::vendor {
namespace {

using objects::Kind;

// What the driver was last asked: the function, its handles by value, and those in lists.
struct ReceivedCall {
  int calls = 0;
  std::vector<const void*> handles;
  std::vector<const void*> listed;
};
ReceivedCall received;
char made_by_driver[64];  // its new handles are addresses in here
std::size_t made = 0;

void* new_raw() { return &made_by_driver[made++ % sizeof made_by_driver]; }

template <typename T>
constexpr bool is_out_list = false;
template <OpenClHandle Handle>
constexpr bool is_out_list<Handle*> = true;

template <typename T, typename Before>
void record_argument(T value, Before before) {
  if constexpr (OpenClHandle<T>) {
    received.handles.push_back(value);
  } else if constexpr (HandleListTraits<T>::is) {
    if constexpr (std::is_same_v<Before, cl_uint>) {
      for (cl_uint i = 0; i < before; ++i) received.listed.push_back(value[i]);
    }
  } else if constexpr (std::is_same_v<T, cl_event*>) {
    if (value != nullptr) *value = static_cast<cl_event>(new_raw());
  } else if constexpr (is_out_list<T>) {
    for (int i = 0; value != nullptr && i < 2; ++i)
      value[i] = static_cast<std::remove_pointer_t<T>>(new_raw());
  } else if constexpr (std::is_same_v<T, cl_uint*>) {
    if (value != nullptr) *value = 2;
  } else if constexpr (std::is_same_v<T, cl_int*>) {
    if (value != nullptr) *value = CL_SUCCESS;
  }
}

template <typename Before>
void record_arguments(Before /*before*/) {}
template <typename Before, typename T, typename... Rest>
void record_arguments(Before before, T value, Rest... rest) {
  record_argument(value, before);
  record_arguments(value, rest...);
}

template <auto Entry, typename Function = FunctionAt<Entry>>
struct FakeEntry;
template <auto Entry, typename Result, typename... Parameters>
struct FakeEntry<Entry, Result(CL_API_CALL*)(Parameters...)> {
  static Result CL_API_CALL call(Parameters... parameters) {
    ++received.calls;
    record_arguments(0, parameters...);
    if constexpr (std::is_same_v<Result, cl_int>) {
      return CL_SUCCESS;
    } else if constexpr (std::is_pointer_v<Result>) {
      return static_cast<Result>(new_raw());
    }
  }
};

Table fake_table() {
  Table table{};
#define CL_FUNCTION(version, name, ...) table.name = FakeEntry<&Table::name>::call;
#include "opencl/functions.def"
#undef CL_FUNCTION
  return table;
}
const Table kFake = fake_table();

constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::callback);
std::array<char, kKinds> raws;

// One object of ours of each kind that never goes.
std::array<Object*, kKinds> living;

void set_up() {
  static const bool done = [] {
    const base::RecursiveMutexLock lock(vendor.mutex);
    vendor.initialized = true;
    vendor.dispatch_table = make_dispatch_table();
    vendor.next = &kFake;
    EXPECT_TRUE(vendor.objects.begin(vendor.dispatch_table));
    for (std::size_t i = 0; i < kKinds; ++i) {
      living[i] = vendor.objects.make_root(static_cast<Kind>(i), &raws[i], 0, nullptr);
    }
    vendor.platforms[0].platform = living[0];
    vendor.platform_count = 1;
#define CL_EXTENSION(extension, name, ...) \
  vendor.platforms[0].extensions.name = FakeEntry<&ExtensionFunctions::name>::call;
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
    return true;
  }();
  ASSERT_TRUE(done);
  received = {};
}

template <OpenClHandle Handle>
Handle vendor_handle() {
  return objects::handle_of<Handle>(living[static_cast<std::size_t>(KindOf<Handle>::kind)]);
}
template <OpenClHandle Handle>
const void* driver_handle() {
  return &raws[static_cast<std::size_t>(KindOf<Handle>::kind)];
}

// Places for what functions answer with.
struct ExpectedErrors {
  cl_event event = nullptr;
  cl_int error = 1;
  cl_uint count = 0;
  void* list[2] = {};
};
ExpectedErrors answers;

template <typename T, typename After>
T argument() {
  if constexpr (OpenClHandle<T>) {
    return vendor_handle<T>();
  } else if constexpr (HandleListTraits<T>::is) {
    using Element = typename HandleListTraits<T>::Element;
    static std::array<Element, 2> list;
    list = {vendor_handle<Element>(), vendor_handle<Element>()};
    return list.data();
  } else if constexpr (std::is_same_v<T, cl_uint>) {
    return HandleListTraits<After>::is || is_out_list<After> ? 2 : 0;
  } else if constexpr (std::is_same_v<T, cl_event*>) {
    return &answers.event;
  } else if constexpr (is_out_list<T>) {
    return reinterpret_cast<T>(answers.list);
  } else if constexpr (std::is_same_v<T, cl_int*>) {
    return &answers.error;
  } else if constexpr (std::is_same_v<T, cl_uint*>) {
    return &answers.count;
  } else {
    return T{};
  }
}

// Those for which a null device is the only one, or none in particular.
bool device_may_be_null(const std::string& name) {
  return std::set<std::string>{"clGetKernelWorkGroupInfo", "clGetKernelSubGroupInfo",
                               "clGetKernelSubGroupInfoKHR", "clSharedMemAllocINTEL"}
      .contains(name);
}
bool null_is_a_device = false;
bool null_is_for_the_driver = false;  // of a queue

// Null, freed, foreign, of another kind, inside one of ours, never used, and what no object can be at.
std::vector<void*> bad_handles(Kind kind) {
  static Object foreign;
  static constexpr std::array<std::uintptr_t, 5> kNowhere = {1, 8, 64, ~std::uintptr_t{0},
                                                             ~std::uintptr_t{63}};
  Object* const own = living[static_cast<std::size_t>(kind)];
  Object& gone = vendor.objects.publish(*vendor.objects.prepare(kind, *living[0]), new_raw());
  vendor.objects.release(gone);
  vendor.objects.reap(gone);
  Object* const other = living[(static_cast<std::size_t>(kind) + 1) % kKinds];
  std::vector<void*> handles = {
      nullptr, &gone, &foreign, other, reinterpret_cast<char*>(own) + 8, own + 1'000'000, own - 1'000'000};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): that is the point
  for (const std::uintptr_t number : kNowhere) handles.push_back(reinterpret_cast<void*>(number));
  std::mt19937_64 random(1);
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  for (int i = 0; i < 20; ++i) handles.push_back(reinterpret_cast<void*>(random()));
  return handles;
}

// The checks do not depend on the function's type: instantiated for each, they would take most of a build's time.
void expect_success(cl_int result) { EXPECT_EQ(result, CL_SUCCESS); }

template <OpenClHandle Handle>
void expect_new_object(Handle result) {
  Object* const object = vendor.objects.find(result);
  ASSERT_NE(object, nullptr) << "the result is not translated";
  EXPECT_EQ(objects::raw_of(*object), &made_by_driver[(made - 1) % sizeof made_by_driver]);
}

template <OpenClHandle Handle>
void expect_vendor_handle(Handle handle, const char* what) {
  EXPECT_NE(vendor.objects.find(handle), nullptr) << what << " is not translated";
}

void expect_received(const std::vector<const void*>& received_handles, std::size_t index,
                     const void* expected) {
  ASSERT_LT(index, received_handles.size());
  EXPECT_EQ(received_handles[index], expected);
}

void expect_one_call(std::size_t handles, std::size_t listed) {
  EXPECT_EQ(received.calls, 1) << "the driver was asked once";
  EXPECT_EQ(handles, received.handles.size());
  EXPECT_EQ(listed, received.listed.size());
}

void expect_refusal() {
  EXPECT_EQ(received.calls, 0) << "the driver has seen it";
  EXPECT_EQ(answers.event, nullptr);
}
void expect_refusal(cl_int result, cl_int expected) {
  EXPECT_EQ(result, expected);
  expect_refusal();
}
void expect_refusal(const void* result, cl_int expected) {
  EXPECT_EQ(result, nullptr);
  EXPECT_TRUE(answers.error == expected || answers.error == 1) << answers.error;  // 1: it has no place for it
  expect_refusal();
}

template <auto Entry, typename Function = FunctionAt<Entry>>
struct CallChecker;
template <auto Entry, typename Result, typename... Parameters>
struct CallChecker<Entry, Result(CL_API_CALL*)(Parameters...)> {
  using W = ParameterTranslators<kNone, Parameters...>;
  using Arguments = std::tuple<Parameters...>;
  static constexpr auto kEach = std::index_sequence_for<Parameters...>();

  static void good(const char* name) {
    SCOPED_TRACE(name);
    received = {};
    answers = {};
    Arguments arguments = make(kEach);
    if constexpr (std::is_void_v<Result>) {
      std::apply(translated<Entry>(), arguments);
    } else {
      const Result result = std::apply(translated<Entry>(), arguments);
      if constexpr (std::is_same_v<Result, cl_int>) {
        expect_success(result);
      } else if constexpr (OpenClHandle<Result>) {
        expect_new_object(result);
      }
    }
    std::size_t handles = 0;
    std::size_t listed = 0;
    check(kEach, handles, listed);
    expect_one_call(handles, listed);
  }

  // Each handle in turn is none.
  static void bad(const char* name) {
    SCOPED_TRACE(name);
    null_is_a_device = device_may_be_null(name);
    null_is_for_the_driver = name == std::string_view("clSetDefaultDeviceCommandQueue");
    each_bad(kEach);
  }

 private:
  template <std::size_t... I>
  static Arguments make(std::index_sequence<I...>) {
    return {argument<Parameters, typename W::template At<I + 2>>()...};
  }

  template <std::size_t... I>
  static void check(std::index_sequence<I...>, std::size_t& handles, std::size_t& listed) {
    (check_one<Parameters>(handles, listed), ...);
  }

  template <typename T>
  static void check_one(std::size_t& handles, std::size_t& listed) {
    if constexpr (OpenClHandle<T>) {
      expect_received(received.handles, handles++, driver_handle<T>());
    } else if constexpr (HandleListTraits<T>::is) {
      for (int i = 0; i < 2; ++i) {
        expect_received(received.listed, listed++, driver_handle<typename HandleListTraits<T>::Element>());
      }
    } else if constexpr (std::is_same_v<T, cl_event*>) {
      expect_vendor_handle(answers.event, "the event");
    } else if constexpr (is_out_list<T>) {
      for (void* const out : answers.list) {
        expect_vendor_handle(static_cast<std::remove_pointer_t<T>>(out), "a list's element");
      }
    }
  }

  template <std::size_t... I>
  static void each_bad(std::index_sequence<I...>) {
    (bad_one<I>(), ...);
  }

  template <std::size_t I>
  static void bad_one() {
    using T = std::tuple_element_t<I, Arguments>;
    if constexpr (OpenClHandle<T>) {
      for (void* const bad : bad_handles(KindOf<T>::kind)) {
        T const none = static_cast<T>(bad);
        if (std::is_same_v<T, cl_device_id> && none == nullptr && null_is_a_device) continue;
        if (std::is_same_v<T, cl_command_queue> && none == nullptr && null_is_for_the_driver) continue;
        Arguments arguments = make(kEach);
        std::get<I>(arguments) = none;
        refused(arguments, KindOf<T>::invalid);
      }
    } else if constexpr (HandleListTraits<T>::is) {
      using Element = typename HandleListTraits<T>::Element;
      constexpr bool kWaits =
          std::is_same_v<Element, cl_event> && std::is_same_v<typename W::template At<I + 2>, cl_event*>;
      for (void* const bad : bad_handles(KindOf<Element>::kind)) {
        if (bad == nullptr) continue;
        Arguments arguments = make(kEach);
        const std::array<Element, 2> list = {vendor_handle<Element>(), static_cast<Element>(bad)};
        std::get<I>(arguments) = list.data();
        refused(arguments, kWaits ? CL_INVALID_EVENT_WAIT_LIST : KindOf<Element>::invalid);
      }
    }
  }

  static void refused(Arguments& arguments, cl_int expected) {
    received = {};
    answers = {};
    if constexpr (std::is_void_v<Result>) {
      std::apply(translated<Entry>(), arguments);
      expect_refusal();
    } else {
      expect_refusal(std::apply(translated<Entry>(), arguments), expected);
    }
  }
};

// Those that answer without the driver.
bool needs_no_driver(const std::string& name) {
  return std::set<std::string>{"clGetPlatformIDs", "clGetExtensionFunctionAddress",
                               "clGetExtensionFunctionAddressForPlatform"}
      .contains(name);
}

TEST(VendorLibrary, TranslatesEachHandleOfEachFunction) {
  set_up();
#define CL_FUNCTION(version, name, ...) \
  if (!needs_no_driver(#name)) CallChecker<&Table::name>::good(#name);
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, ...) \
  if (is_offered<&ExtensionFunctions::name>()) CallChecker<&ExtensionFunctions::name>::good(#name);
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
}

TEST(VendorLibrary, ForwardsANullDeviceWhereAllowed) {
  set_up();
  EXPECT_EQ(translated<&Table::clGetKernelWorkGroupInfo>()(vendor_handle<cl_kernel>(), nullptr, 0, 0, nullptr,
                                                           nullptr),
            CL_SUCCESS);
  EXPECT_EQ(received.handles, (std::vector<const void*>{driver_handle<cl_kernel>(), nullptr}));
}

TEST(VendorLibrary, RejectsEachInvalidHandleOfEachFunction) {
  set_up();
#define CL_FUNCTION(version, name, ...) \
  if (!needs_no_driver(#name)) CallChecker<&Table::name>::bad(#name);
#include "opencl/functions.def"
#undef CL_FUNCTION
#define CL_EXTENSION(extension, name, ...) \
  if (is_offered<&ExtensionFunctions::name>()) CallChecker<&ExtensionFunctions::name>::bad(#name);
#include "opencl/extension_functions.def"
#undef CL_EXTENSION
}

// Of the whole process, in pages.
long resident() {
  long total = 0;
  long pages = 0;
  std::ifstream("/proc/self/statm") >> total >> pages;
  return pages;
}

TEST(VendorLibrary, MemoryIsConstantOverMillionsOfCalls) {
  set_up();
#ifdef NDEBUG
  constexpr int kRounds = 1'000'000;  // ten million calls
#else
  constexpr int kRounds = 20'000;
#endif
  const auto round = [] {
    received.handles.clear();
    const Table& cl = vendor.dispatch_table;
    cl_int error = CL_SUCCESS;
    cl_mem const buffer = cl.clCreateBuffer(vendor_handle<cl_context>(), 0, 64, nullptr, &error);
    cl_command_queue const queue =
        cl.clCreateCommandQueue(vendor_handle<cl_context>(), vendor_handle<cl_device_id>(), 0, &error);
    cl_event event = nullptr;
    cl.clEnqueueMarkerWithWaitList(queue, 0, nullptr, &event);
    cl.clRetainEvent(event);
    cl.clReleaseEvent(event);
    cl.clReleaseEvent(event);
    cl.clReleaseMemObject(buffer);
    cl.clReleaseCommandQueue(queue);
    return cl.clRetainCommandQueue(queue);
  };
  for (int i = 0; i < kRounds / 10; ++i) round();  // until freed slots are used again
  const long before = resident();
  for (int i = 0; i < kRounds; ++i) ASSERT_EQ(round(), CL_INVALID_COMMAND_QUEUE);
#ifdef NDEBUG  // sanitizers keep what is freed
  EXPECT_LE(resident() - before, 64) << "pages";
#else
  static_cast<void>(before);
#endif
}

TEST(VendorLibrary, ProvidesTheIcd2Table) {
  set_up();
  EXPECT_TRUE(drivers::is_icd2_table(vendor.dispatch_table));
  for (Object* const object : living) EXPECT_EQ(object->dispatch, &vendor.dispatch_table);
}

}  // namespace
}  // namespace cleave::vendor
