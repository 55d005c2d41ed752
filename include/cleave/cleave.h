/* What a program may ask of the Cleave under it.
 *
 * There is nothing to link against. A program (or the `cleave` command) asks OpenCL's own door for the one
 * function below, and gets NULL where Cleave is not between it and the driver:
 *
 *   clGetCleaveInfo_fn info = (clGetCleaveInfo_fn)clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME);
 *
 * Where several faces of Cleave are active in one process, the answer is that of the one that splits the
 * launches.
 *
 * Thread-safe: may be called from any thread at any time. */
#ifndef CLEAVE_CLEAVE_H_
#define CLEAVE_CLEAVE_H_

#include <CL/cl.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CL_CLEAVE_GET_INFO_NAME "clGetCleaveInfo"

typedef cl_uint cl_cleave_info;

/* char[]: the version of the library, such as "0.1.0". */
#define CL_CLEAVE_VERSION 0x4C00

/* char[]: which face answers: "drop-in" or "layer". */
#define CL_CLEAVE_FACE 0x4C01

/* char[]: the library that calls are handed to: the path of the real loader, or "the loader" for the layer;
 * empty where none was found. */
#define CL_CLEAVE_NEXT 0x4C02

/* char[]: what is in force, one line a setting: key, value, where the value came from, and the environment
 * variable that sets it (empty where none does), separated by tabs. The origin is "default", the variable's
 * name, FILE:LINE, or "a mistake in the settings" where one has switched splitting off. */
#define CL_CLEAVE_SETTINGS 0x4C03

/* char[]: what was wrong with the configuration, one line each, as it was printed on standard error. */
#define CL_CLEAVE_PROBLEMS 0x4C04

/* cl_uint: the number of virtual machines (this one included) that the next launch will reckon with. Asks the
 * sources of that number, as the first launch does. */
#define CL_CLEAVE_VMS 0x4C05

/* char[]: the counters so far, as the JSON that CLEAVE_STATS writes at exit. */
#define CL_CLEAVE_STATISTICS 0x4C06

/* cl_ulong, needs `device`: Cleave's reckoning of the device's cores; launches of fewer work-items stay
 * whole. */
#define CL_CLEAVE_DEVICE_CORES 0x4C07

/* char[]: who is asked for that number, one line a source: its name, its address, its state in a word, what
 * it says of the number ("known", "stale" or "nothing"), the number, and milliseconds since that was last
 * confirmed (both empty where it has never said one), separated by tabs. Empty where the settings give the
 * number. Asks the sources, as the first launch does; they may take a moment to answer. */
#define CL_CLEAVE_NEIGHBOURS 0x4C08

/* As OpenCL's own clGet...Info functions. `device` is NULL except where the name above says that it needs
 * one. `param_value` (owned by the caller, at least `param_value_size` bytes) gets the value,
 * `param_value_size_ret` its size in bytes with the final NUL of texts; either may be NULL. Texts that change
 * while the program runs may be longer in the next call: leave room. Returns
 * CL_SUCCESS, CL_INVALID_DEVICE where a device is needed and the driver does not know it, or CL_INVALID_VALUE
 * for an unknown name or too small a size. */
typedef cl_int(CL_API_CALL* clGetCleaveInfo_fn)(cl_device_id device, cl_cleave_info param_name,
                                                size_t param_value_size, void* param_value,
                                                size_t* param_value_size_ret);

#ifdef __cplusplus
}
#endif

#endif /* CLEAVE_CLEAVE_H_ */
