// The vendor library's functions that are written by hand, on top of the simulated driver.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "icd/vendor/loader_interface.h"
#include "icd/vendor/offered_extensions.h"
#include "icd/vendor/translations.h"
#include "tests/sim/driver/driver.h"

namespace cleave::vendor {
namespace {

using objects::Kind;

// One simulated driver for the process, as it is with real ones; its functions are called without the
// interposer.
sim::Driver& driver() {
  static sim::Driver* const one = [] {
    sim::Driver::Options options;
    options.quiet = true;
    return new sim::Driver(options);
  }();
  return *one;
}

const Table& face() {
  static const bool done = [] {
    driver();
    cl_platform_id raw = nullptr;
    EXPECT_EQ(sim::Driver::table().clGetPlatformIDs(1, &raw, nullptr), CL_SUCCESS);
    vendor.initialized = true;
    vendor.dispatch_table = make_dispatch_table();
    vendor.next = &sim::Driver::table();
    EXPECT_TRUE(vendor.objects.begin(vendor.dispatch_table));
    vendor.platforms[0].driver = {raw, [](const char*) -> void* { return nullptr; }};
    vendor.platforms[0].platform = vendor.objects.make_root(Kind::platform, raw, 0, nullptr);
    vendor.platform_count = 1;
    return true;
  }();
  EXPECT_TRUE(done);
  return vendor.dispatch_table;
}

struct VendorTopics : testing::Test {
  void SetUp() override {
    ASSERT_EQ(vendor::clGetPlatformIDs(1, &platform, nullptr), CL_SUCCESS);
    ASSERT_EQ(cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), CL_SUCCESS);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                reinterpret_cast<cl_context_properties>(platform), 0};
    context = cl.clCreateContext(properties, 1, &device, nullptr, nullptr, &error);
    ASSERT_EQ(error, CL_SUCCESS);
    queue = cl.clCreateCommandQueue(context, device, 0, &error);
    ASSERT_EQ(error, CL_SUCCESS);
  }
  void TearDown() override {
    cl.clReleaseCommandQueue(queue);
    cl.clReleaseContext(context);
  }

  const Table& cl = face();
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_int error = CL_SUCCESS;
};

template <typename Handle, typename Ask, typename Object>
Handle asked(Ask ask, Object object, cl_uint name) {
  Handle answer = nullptr;
  size_t size = 0;
  EXPECT_EQ(ask(object, name, sizeof answer, &answer, &size), CL_SUCCESS);
  EXPECT_EQ(size, sizeof answer);
  return answer;
}

TEST_F(VendorTopics, QueriesAnswerWithTheSameHandles) {
  EXPECT_EQ(asked<cl_platform_id>(cl.clGetDeviceInfo, device, CL_DEVICE_PLATFORM), platform);
  EXPECT_EQ(asked<cl_device_id>(cl.clGetContextInfo, context, CL_CONTEXT_DEVICES), device);
  EXPECT_EQ(asked<cl_context>(cl.clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT), context);
  EXPECT_EQ(asked<cl_device_id>(cl.clGetCommandQueueInfo, queue, CL_QUEUE_DEVICE), device);
  cl_mem const buffer = cl.clCreateBuffer(context, 0, 4096, nullptr, &error);
  EXPECT_EQ(asked<cl_context>(cl.clGetMemObjectInfo, buffer, CL_MEM_CONTEXT), context);
  EXPECT_EQ(asked<cl_mem>(cl.clGetMemObjectInfo, buffer, CL_MEM_ASSOCIATED_MEMOBJECT), nullptr);
  const cl_buffer_region region = {0, 1024};
  cl_mem const part = cl.clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl.clReleaseMemObject(buffer);
  EXPECT_EQ(asked<cl_mem>(cl.clGetMemObjectInfo, part, CL_MEM_ASSOCIATED_MEMOBJECT), buffer)
      << "still the same";
  cl.clReleaseMemObject(part);
  EXPECT_EQ(cl.clRetainMemObject(buffer), CL_INVALID_MEM_OBJECT);
}

TEST_F(VendorTopics, AContextsPropertiesNameOurPlatform) {
  std::array<cl_context_properties, 3> properties{};
  ASSERT_EQ(
      cl.clGetContextInfo(context, CL_CONTEXT_PROPERTIES, sizeof properties, properties.data(), nullptr),
      CL_SUCCESS);
  EXPECT_EQ(properties[1], reinterpret_cast<cl_context_properties>(platform));
  const cl_context_properties wrong[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(&error),
                                         0};
  EXPECT_EQ(cl.clCreateContext(wrong, 1, &device, nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PLATFORM);
}

TEST_F(VendorTopics, CountsAreTheDrivers) {
  const auto count = [&] {
    cl_uint references = 0;
    EXPECT_EQ(
        cl.clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT, sizeof references, &references, nullptr),
        CL_SUCCESS);
    return references;
  };
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(cl.clRetainCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(count(), 2U);
  EXPECT_EQ(cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(count(), 1U);
}

TEST_F(VendorTopics, ADefaultQueueThatIsNullIsTheDriversToRefuse) {
  const Table* const before = vendor.next;
  static Table refusing;
  refusing = *before;
  refusing.clSetDefaultDeviceCommandQueue = [](cl_context, cl_device_id, cl_command_queue given) {
    return given == nullptr ? CL_INVALID_OPERATION : CL_SUCCESS;
  };
  vendor.next = &refusing;
  EXPECT_EQ(cl.clSetDefaultDeviceCommandQueue(context, device, nullptr), CL_INVALID_OPERATION);
  EXPECT_EQ(cl.clSetDefaultDeviceCommandQueue(context, device, queue), CL_SUCCESS);
  EXPECT_EQ(cl.clSetDefaultDeviceCommandQueue(context, nullptr, queue), CL_INVALID_DEVICE);
  EXPECT_EQ(cl.clSetDefaultDeviceCommandQueue(nullptr, device, queue), CL_INVALID_CONTEXT);
  vendor.next = before;
}

TEST_F(VendorTopics, AnEventsCallbackGetsOurEvent) {
  cl_event const event = cl.clCreateUserEvent(context, &error);
  struct Seen {
    cl_event event = nullptr;
    cl_int status = 1;
  } seen;
  EXPECT_EQ(cl.clSetEventCallback(
                event, CL_COMPLETE,
                [](cl_event given, cl_int status, void* data) {
                  *static_cast<Seen*>(data) = {given, status};
                },
                &seen),
            CL_SUCCESS);
  EXPECT_EQ(cl.clSetUserEventStatus(event, CL_COMPLETE), CL_SUCCESS);
  EXPECT_EQ(seen.event, event);
  EXPECT_EQ(seen.status, CL_COMPLETE);
  EXPECT_EQ(cl.clReleaseEvent(event), CL_SUCCESS);
  EXPECT_EQ(cl.clRetainEvent(event), CL_INVALID_EVENT) << "the callback holds it no longer";
}

TEST_F(VendorTopics, ADestructorCallbackGetsOurHandleWhileItIsStillOne) {
  static cl_mem told = nullptr;
  static bool alive = false;
  cl_mem const buffer = cl.clCreateBuffer(context, 0, 64, nullptr, &error);
  EXPECT_EQ(cl.clSetMemObjectDestructorCallback(
                buffer,
                [](cl_mem given, void*) {
                  told = given;
                  alive = vendor.objects.find(given) != nullptr;
                },
                nullptr),
            CL_SUCCESS);
  EXPECT_EQ(cl.clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(told, buffer);
  EXPECT_TRUE(alive);
  EXPECT_EQ(vendor.objects.find(buffer), nullptr);
}

TEST_F(VendorTopics, ACallbackThatTheDriverRefusesIsForgotten) {
  cl_event const event = cl.clCreateUserEvent(context, &error);
  const auto never = [](cl_event, cl_int, void*) { FAIL(); };
  EXPECT_EQ(cl.clSetEventCallback(event, 1000, never, nullptr), CL_INVALID_VALUE);
  cl.clSetUserEventStatus(event, CL_COMPLETE);
  EXPECT_EQ(cl.clReleaseEvent(event), CL_SUCCESS);
  EXPECT_EQ(vendor.objects.find(event), nullptr);
}

TEST_F(VendorTopics, AFreedArgumentIsAnError) {
  const char* source = "kernel void k(global int* a, ulong b) { a[get_global_id(0)] = b; }";
  cl_program const program = cl.clCreateProgramWithSource(context, 1, &source, nullptr, &error);
  ASSERT_EQ(cl.clBuildProgram(program, 0, nullptr, "-cl-kernel-arg-info", nullptr, nullptr), CL_SUCCESS);
  cl_kernel const kernel = cl.clCreateKernel(program, "k", &error);
  ASSERT_EQ(error, CL_SUCCESS);
  cl_mem const buffer = cl.clCreateBuffer(context, 0, 64, nullptr, &error);
  EXPECT_EQ(cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_SUCCESS);
  EXPECT_EQ(cl.clSetKernelArg(kernel, 1, sizeof buffer, &buffer), CL_SUCCESS)
      << "a number that looks like a handle";
  EXPECT_EQ(cl.clSetKernelArg(kernel, 0, sizeof context, &context), CL_INVALID_MEM_OBJECT) << "no argument";
  cl.clReleaseMemObject(buffer);
  EXPECT_EQ(cl.clSetKernelArg(kernel, 0, sizeof buffer, &buffer), CL_INVALID_MEM_OBJECT);
  cl.clReleaseKernel(kernel);
  cl.clReleaseProgram(program);
}

TEST_F(VendorTopics, LongWaitListsAreTranslated) {
  std::vector<cl_event> events;
  for (int i = 0; i < 40; ++i) events.push_back(cl.clCreateUserEvent(context, &error));
  cl_event marker = nullptr;
  EXPECT_EQ(cl.clEnqueueMarkerWithWaitList(queue, 40, events.data(), &marker), CL_SUCCESS);
  for (cl_event const event : events) cl.clSetUserEventStatus(event, CL_COMPLETE);
  EXPECT_EQ(cl.clWaitForEvents(1, &marker), CL_SUCCESS);
  cl.clReleaseEvent(marker);
  for (cl_event const event : events) cl.clReleaseEvent(event);
  events[20] = nullptr;
  EXPECT_EQ(cl.clEnqueueMarkerWithWaitList(queue, 40, events.data(), nullptr), CL_INVALID_EVENT_WAIT_LIST);
}

TEST_F(VendorTopics, PlatformsAreNamed) {
  char name[256] = {};
  ASSERT_EQ(cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name, name, nullptr), CL_SUCCESS);
  EXPECT_TRUE(std::string(name).ends_with(" (Cleave)")) << name;
  ASSERT_EQ(cl.clGetPlatformInfo(platform, CL_PLATFORM_ICD_SUFFIX_KHR, sizeof name, name, nullptr),
            CL_SUCCESS);
  EXPECT_STREQ(name, "CLEAVE");
}

TEST(VendorText, ExtensionsWithoutTheirFunctionsAreTakenOut) {
  EXPECT_EQ(offered_extensions("cl_khr_icd  cl_khr_command_buffer cl_khr_fp64 cl_unknown_thing "),
            "cl_khr_icd cl_khr_fp64");
  EXPECT_EQ(offered_extensions("cl_img_generate_mipmap cl_khr_il_program"),
            "cl_img_generate_mipmap cl_khr_il_program")
      << "extensions of functions that are translated";
  EXPECT_EQ(offered_extensions(""), "");
}

TEST(VendorDoors, UnknownFunctionsAreNotOffered) {
  face();
  EXPECT_NE(clGetExtensionFunctionAddress("clIcdGetPlatformIDsKHR"), nullptr);
  EXPECT_NE(clGetExtensionFunctionAddress("clGetPlatformInfo"), nullptr);
  EXPECT_EQ(clGetExtensionFunctionAddress("clCreateCommandBufferKHR"), nullptr);
  EXPECT_EQ(clGetExtensionFunctionAddress("clTerminateContextKHR"), nullptr) << "the driver does not have it";
  EXPECT_EQ(clGetExtensionFunctionAddress(nullptr), nullptr);
}

}  // namespace
}  // namespace cleave::vendor
