// The vendor library's functions that are written by hand, on top of the simulated driver.

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/driver_platform.h"
#include "icd/vendor/offered_extensions.h"
#include "interpose/drivers/quirks.h"
#include "tests/sim/vendor_fixture.h"

namespace cleave::vendor {
namespace {

struct VendorLibrary : VendorFixture {
  cl_int error = CL_SUCCESS;
};

TEST_F(VendorLibrary, QueriesReturnTheSameHandles) {
  EXPECT_EQ(cl.info<cl_platform_id>(device, CL_DEVICE_PLATFORM), platform);
  EXPECT_EQ(cl.info<cl_device_id>(context, CL_CONTEXT_DEVICES), device);
  EXPECT_EQ(cl.info<cl_context>(queue, CL_QUEUE_CONTEXT), context);
  EXPECT_EQ(cl.info<cl_device_id>(queue, CL_QUEUE_DEVICE), device);
  cl_mem const buffer = cl.clCreateBuffer(context, 0, 4096, nullptr, &error);
  EXPECT_EQ(cl.info<cl_context>(buffer, CL_MEM_CONTEXT), context);
  EXPECT_EQ(cl.info<cl_mem>(buffer, CL_MEM_ASSOCIATED_MEMOBJECT), nullptr);
  kit::Buffer part = cl.sub_buffer(buffer, 0, 1024);
  cl.clReleaseMemObject(buffer);
  EXPECT_EQ(cl.info<cl_mem>(part, CL_MEM_ASSOCIATED_MEMOBJECT), buffer) << "still the same";
  part.reset();
  EXPECT_EQ(cl.clRetainMemObject(buffer), CL_INVALID_MEM_OBJECT);
}

TEST_F(VendorLibrary, ContextPropertiesNameOurPlatform) {
  const auto properties = cl.info_list<cl_context_properties>(context, CL_CONTEXT_PROPERTIES);
  ASSERT_EQ(properties.size(), 3U);
  EXPECT_EQ(properties[1], reinterpret_cast<cl_context_properties>(platform));
  const cl_context_properties wrong[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(&error),
                                         0};
  EXPECT_EQ(cl.clCreateContext(wrong, 1, &device, nullptr, nullptr, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_PLATFORM);
}

TEST_F(VendorLibrary, ReferenceCountsAreTheDrivers) {
  const auto count = [&] { return cl.info<cl_uint>(queue, CL_QUEUE_REFERENCE_COUNT); };
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(cl.clRetainCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(count(), 2U);
  EXPECT_EQ(cl.clReleaseCommandQueue(queue), CL_SUCCESS);
  EXPECT_EQ(count(), 1U);
}

TEST_F(VendorLibrary, NullDefaultQueueIsForwarded) {
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

TEST_F(VendorLibrary, EventCallbackReceivesOurEvent) {
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

TEST_F(VendorLibrary, DestructorCallbackReceivesAValidHandle) {
  static cl_mem destroyed = nullptr;
  static bool alive = false;
  cl_mem const buffer = cl.clCreateBuffer(context, 0, 64, nullptr, &error);
  EXPECT_EQ(cl.clSetMemObjectDestructorCallback(
                buffer,
                [](cl_mem given, void*) {
                  destroyed = given;
                  alive = vendor.objects.find(given) != nullptr;
                },
                nullptr),
            CL_SUCCESS);
  EXPECT_EQ(cl.clReleaseMemObject(buffer), CL_SUCCESS);
  EXPECT_EQ(destroyed, buffer);
  EXPECT_TRUE(alive);
  EXPECT_EQ(vendor.objects.find(buffer), nullptr);
}

TEST_F(VendorLibrary, RejectedCallbackIsDropped) {
  cl_event const event = cl.clCreateUserEvent(context, &error);
  const auto never = [](cl_event, cl_int, void*) { FAIL(); };
  EXPECT_EQ(cl.clSetEventCallback(event, 1000, never, nullptr), CL_INVALID_VALUE);
  cl.clSetUserEventStatus(event, CL_COMPLETE);
  EXPECT_EQ(cl.clReleaseEvent(event), CL_SUCCESS);
  EXPECT_EQ(vendor.objects.find(event), nullptr);
}

TEST_F(VendorLibrary, FreedArgumentIsAnError) {
  const kit::Program program = cl.build(
      context, "kernel void k(global int* a, ulong b) { a[get_global_id(0)] = b; }", "-cl-kernel-arg-info");
  const kit::Kernel kernel = cl.kernel(program, "k");
  cl_mem const buffer = cl.clCreateBuffer(context, 0, 64, nullptr, &error);
  EXPECT_EQ(cl.set_argument(kernel, 0, buffer), CL_SUCCESS);
  EXPECT_EQ(cl.set_argument(kernel, 1, buffer), CL_SUCCESS) << "a number that looks like a handle";
  EXPECT_EQ(cl.set_argument(kernel, 0, context), CL_INVALID_MEM_OBJECT) << "no argument";
  cl.clReleaseMemObject(buffer);
  EXPECT_EQ(cl.set_argument(kernel, 0, buffer), CL_INVALID_MEM_OBJECT);
}

TEST_F(VendorLibrary, LongWaitListsAreTranslated) {
  std::vector<cl_event> events;
  for (int i = 0; i < 40; ++i) events.push_back(cl.clCreateUserEvent(context, &error));
  kit::Event marker = cl.event();
  EXPECT_EQ(cl.marker(queue, events, marker.out()), CL_SUCCESS);
  for (cl_event const event : events) cl.clSetUserEventStatus(event, CL_COMPLETE);
  EXPECT_EQ(cl.wait({marker}), CL_SUCCESS);
  for (cl_event const event : events) cl.clReleaseEvent(event);
  events[20] = nullptr;
  EXPECT_EQ(cl.marker(queue, events), CL_INVALID_EVENT_WAIT_LIST);
}

TEST_F(VendorLibrary, PlatformNamesAreTheDriversUnlessMarked) {
  const std::string name = simulated_driver().options().platform_name;
  EXPECT_EQ(cl.text(platform, CL_PLATFORM_NAME), name);
  vendor.original_name = false;
  EXPECT_EQ(cl.text(platform, CL_PLATFORM_NAME), name + " (Cleave)");
  vendor.original_name = true;
  EXPECT_EQ(cl.text(platform, CL_PLATFORM_ICD_SUFFIX_KHR), "CLEAVE");
}

TEST_F(VendorLibrary, DriverIsKnownByItsOwnNameWhateverIsShown) {
  const Table* const before = vendor.next;
  const bool original_before = vendor.original_name;
  static Table pocl;
  pocl = *before;
  pocl.clGetPlatformInfo = [](cl_platform_id raw, cl_platform_info what, size_t size, void* value,
                              size_t* size_ret) {
    if (what != CL_PLATFORM_NAME)
      return simulated_driver().table().clGetPlatformInfo(raw, what, size, value, size_ret);
    constexpr std::string_view name("Portable Computing Language\0", 28);
    if (value != nullptr && size < name.size()) return CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, name.data(), name.size());
    if (size_ret != nullptr) *size_ret = name.size();
    return CL_SUCCESS;
  };
  for (const bool original : {false, true}) {
    vendor.original_name = original;
    vendor.next = before;
    EXPECT_FALSE(interpose::quirks_of(vendor_table(), device).crashes_on_several_queues) << original;
    vendor.next = &pocl;
    EXPECT_TRUE(interpose::quirks_of(vendor_table(), device).crashes_on_several_queues) << original;
    EXPECT_EQ(cl.text(platform, CL_PLATFORM_NAME).ends_with(" (Cleave)"), !original);
    EXPECT_FALSE(base::is_remote_platform(vendor_table(), platform));
  }
  vendor.next = before;
  vendor.original_name = original_before;
}

TEST(VendorExtensions, WithoutTheirFunctionsAreRemoved) {
  EXPECT_EQ(offered_extensions("cl_khr_icd  cl_khr_command_buffer cl_khr_fp64 cl_unknown_thing "),
            "cl_khr_icd cl_khr_fp64");
  EXPECT_EQ(offered_extensions("cl_img_generate_mipmap cl_khr_il_program"),
            "cl_img_generate_mipmap cl_khr_il_program")
      << "extensions of functions that are translated";
  EXPECT_EQ(offered_extensions(""), "");
  EXPECT_EQ(offered_extensions("cl_khr_fp64   cl_khr_icd "), "cl_khr_fp64   cl_khr_icd ")
      << "the driver's own text if nothing is removed";
}

TEST(VendorEntryPoints, UnknownFunctionsAreNotOffered) {
  vendor_table();
  EXPECT_NE(clGetExtensionFunctionAddress("clIcdGetPlatformIDsKHR"), nullptr);
  EXPECT_NE(clGetExtensionFunctionAddress("clGetPlatformInfo"), nullptr);
  EXPECT_EQ(clGetExtensionFunctionAddress("clCreateCommandBufferKHR"), nullptr);
  EXPECT_EQ(clGetExtensionFunctionAddress("clTerminateContextKHR"), nullptr) << "the driver does not have it";
  EXPECT_EQ(clGetExtensionFunctionAddress(nullptr), nullptr);
}

}  // namespace
}  // namespace cleave::vendor
