#include "interpose/drivers/known_drivers.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/driver_platform.h"
#include "base/text/digest.h"
#include "interpose/drivers/probe_cache.h"

namespace cleave::interpose {
namespace {

struct Texts {
  std::string platform_name;
  std::string platform_version;
  std::string driver_version;
  std::string device_version;
  cl_device_type type = 0;
};

Texts pocl() {
  return {
      "Portable Computing Language",
      "OpenCL 3.0 PoCL 3.1+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 15.0.6, SLEEF, DISTRO, POCL_DEBUG",
      "3.1+debian", "OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-haswell", CL_DEVICE_TYPE_CPU};
}

Texts oclgrind() {
  return {"Oclgrind", "OpenCL 1.2 (Oclgrind 21.10)", "Oclgrind 21.10", "OpenCL 1.2 (Oclgrind 21.10)",
          CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_DEFAULT};
}

cl_int give(std::string_view bytes, std::size_t size, void* value, std::size_t* size_ret) {
  if (value != nullptr && size < bytes.size()) return CL_INVALID_VALUE;
  if (value != nullptr) std::memcpy(value, bytes.data(), bytes.size());
  if (size_ret != nullptr) *size_ret = bytes.size();
  return CL_SUCCESS;
}
std::string_view whole(const std::string& text) { return {text.c_str(), text.size() + 1}; }
template <typename T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A driver that only answers queries: a build on it calls a null pointer. A face may be above it, which
// shows the platform by other texts.
class KnownDrivers : public testing::Test {
 protected:
  KnownDrivers() {
    std::vector<std::string> names;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view text(*entry);
      if (text.starts_with("POCL_") || text.starts_with("OCLGRIND_"))
        names.emplace_back(text.substr(0, text.find('=')));
    }
    for (const std::string& name : names) unsetenv(name.c_str());
    table_.clGetPlatformInfo = shown_platform_info;
    table_.clGetDeviceInfo = device_info;
    table_.clGetExtensionFunctionAddress = [](const char*) -> void* { return nullptr; };
    table_.clGetExtensionFunctionAddressForPlatform = find;
  }

  void SetUp() override {
#if !defined(__x86_64__) || !defined(__LP64__)
    GTEST_SKIP() << "the table has no row for this architecture";
#endif
  }

  bool knows(const Texts& driver) {
    driver_ = shown_ = driver;
    return known_facts(table_, kDevice).has_value();
  }
  bool knows_below_a_face(const Texts& driver, const Texts& shown, bool remote = false) {
    driver_ = driver;
    shown_ = shown;
    has_face_ = true;
    remote_ = remote;
    const bool known = known_facts(table_, kDevice).has_value();
    has_face_ = false;
    return known;
  }

  Table table_{};
  static inline const auto kDevice = reinterpret_cast<cl_device_id>(0x1000);

 private:
  static cl_int platform_info(const Texts& texts, cl_platform_info what, std::size_t size, void* value,
                              std::size_t* size_ret) {
    if (what == CL_PLATFORM_NAME) return give(whole(texts.platform_name), size, value, size_ret);
    if (what == CL_PLATFORM_VERSION) return give(whole(texts.platform_version), size, value, size_ret);
    return CL_INVALID_VALUE;
  }
  static cl_int CL_API_CALL shown_platform_info(cl_platform_id, cl_platform_info what, std::size_t size,
                                                void* value, std::size_t* size_ret) {
    return platform_info(shown_, what, size, value, size_ret);
  }
  static cl_int CL_API_CALL driver_platform_info(cl_platform_id, cl_platform_info what, std::size_t size,
                                                 void* value, std::size_t* size_ret) {
    const cl_bool remote = remote_ ? CL_TRUE : CL_FALSE;
    if (what == base::kPlatformIsRemote) return give(bytes_of(remote), size, value, size_ret);
    return platform_info(driver_, what, size, value, size_ret);
  }
  static void* CL_API_CALL find(cl_platform_id, const char* name) {
    return has_face_ && std::string_view(name) == base::kGetDriverPlatformInfo
               ? reinterpret_cast<void*>(driver_platform_info)
               : nullptr;
  }
  static cl_int CL_API_CALL device_info(cl_device_id, cl_device_info what, std::size_t size, void* value,
                                        std::size_t* size_ret) {
    const auto platform = reinterpret_cast<cl_platform_id>(0x2000);
    if (what == CL_DEVICE_PLATFORM) return give(bytes_of(platform), size, value, size_ret);
    if (what == CL_DEVICE_TYPE) return give(bytes_of(driver_.type), size, value, size_ret);
    if (what == CL_DRIVER_VERSION) return give(whole(driver_.driver_version), size, value, size_ret);
    if (what == CL_DEVICE_VERSION) return give(whole(driver_.device_version), size, value, size_ret);
    return CL_INVALID_VALUE;
  }

  inline static Texts driver_;
  inline static Texts shown_;
  inline static bool has_face_ = false;
  inline static bool remote_ = false;
};

// If it fails, the rows may be wrong: known_drivers.h says what to do.
TEST_F(KnownDrivers, AreThoseOfThisProbe) { EXPECT_EQ(base::to_text(probe_digest()), kVerifiedProbe); }

TEST_F(KnownDrivers, OnlyTheProcessorMayDiffer) {
  for (const char* processor : {"", "znver3", "pentium4-prescott"}) {
    Texts texts = pocl();
    texts.device_version = std::string("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-") + processor;
    EXPECT_TRUE(knows(texts)) << processor;
  }
  for (const char* version :
       {"OpenCL 3.0 PoCL HSTR: basic-x86_64-pc-linux-gnu-haswell", "OpenCL 3.0 PoCL HSTR: pthread-x86_64-",
        "OpenCL 3.0 PoCL HSTR: pthread-aarch64-unknown-linux-gnu-generic", ""}) {
    Texts texts = pocl();
    texts.device_version = version;
    EXPECT_FALSE(knows(texts)) << version;
  }
}

TEST_F(KnownDrivers, EachTextMustBeExact) {
  for (const Texts& known : {pocl(), oclgrind()}) {
    ASSERT_TRUE(knows(known));
    for (std::string Texts::*const text :
         {&Texts::platform_name, &Texts::platform_version, &Texts::driver_version, &Texts::device_version}) {
      Texts changed = known;
      changed.*text = "x" + known.*text;
      EXPECT_FALSE(knows(changed)) << changed.*text;
      if (text == &Texts::device_version && known.platform_name != "Oclgrind") continue;  // the processor
      for (const std::string& longer : {known.*text + "x", known.*text + std::string(300, 'x')}) {
        changed.*text = longer;
        EXPECT_FALSE(knows(changed)) << longer;
      }
      changed.*text = (known.*text).substr(0, (known.*text).size() - 1);
      EXPECT_FALSE(knows(changed)) << changed.*text;
    }
    Texts changed = known;
    changed.type = CL_DEVICE_TYPE_ACCELERATOR;
    EXPECT_FALSE(knows(changed));
  }
}

TEST_F(KnownDrivers, MixedTextsMakeNone) {
  Texts mixed = pocl();
  mixed.driver_version = oclgrind().driver_version;
  mixed.device_version = oclgrind().device_version;
  EXPECT_FALSE(knows(mixed));
}

TEST_F(KnownDrivers, AFacesNamesCountForNothing) {
  Texts another = pocl();
  another.platform_name = "Shown to programs";
  another.platform_version = "OpenCL 3.0 PoCL 5.0";
  EXPECT_TRUE(knows_below_a_face(pocl(), another));
  EXPECT_FALSE(knows_below_a_face(another, pocl()));
}

TEST_F(KnownDrivers, DevicesOfServersAreNone) { EXPECT_FALSE(knows_below_a_face(pocl(), pocl(), true)); }

TEST_F(KnownDrivers, AreUnknownWithSettingsThatChangeThem) {
  setenv("OCLGRIND_QUICK", "1", 1);
  EXPECT_FALSE(knows(oclgrind()));
  EXPECT_TRUE(knows(pocl()));
  unsetenv("OCLGRIND_QUICK");
  for (const char* name : {"POCL_WORK_GROUP_METHOD", "POCL_EXTRA_BUILD_FLAGS", "POCL_CACHE_DIRECTORY"}) {
    setenv(name, "", 1);
    EXPECT_FALSE(knows(pocl())) << name;
    unsetenv(name);
  }
  setenv("POCL_CACHE_DIR", "/nowhere", 1);
  setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
  EXPECT_TRUE(knows(pocl()));
}

TEST_F(KnownDrivers, AreNotProbed) {
  ASSERT_TRUE(knows(pocl()));
  base::ForkLocks forks;
  ObjectRecords records(forks);
  const base::Settings settings;
  Devices devices(forks, table_, settings, records);
  ProbeCache cache(forks, table_, base::Clock::system(), devices, "");
  EXPECT_EQ(cache.known(kDevice), std::nullopt);
  const auto facts = cache.facts(kDevice);
  EXPECT_EQ(facts, known_facts(table_, kDevice));
  EXPECT_EQ(cache.known(kDevice), facts);
}

}  // namespace
}  // namespace cleave::interpose
