/* Queries that a program can make to the Cleave between it and the driver.
 *
 * There is nothing to link against: a program (or the `cleave` command) gets the function below through OpenCL, or NULL if
 * Cleave is not there:
 *
 *   clGetCleaveInfo_fn info = (clGetCleaveInfo_fn)clGetExtensionFunctionAddress(CL_CLEAVE_GET_INFO_NAME);
 *
 * If several faces of Cleave are active in a process, the one that splits the launches answers.
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

/* char[]: which face answers: "drop-in", "layer" or "vendor library". */
#define CL_CLEAVE_FACE 0x4C01

/* char[]: the library that calls are forwarded to: the path of the real loader, or "the loader" for the layer; empty if
 * none was found. */
#define CL_CLEAVE_NEXT 0x4C02

/* char[]: the settings in force, one line for each: key, value, origin of the value, and the environment variable that sets
 * it (may be empty), separated by tabs. The origin is "default", the variable's name, FILE:LINE, or "a mistake in the
 * settings" for values that an error has reset. */
#define CL_CLEAVE_SETTINGS 0x4C03

/* char[]: the errors in the configuration, one line each, as printed on standard error. */
#define CL_CLEAVE_PROBLEMS 0x4C04

/* cl_uint: the number of virtual machines on the host, including this one, that the next launch will use. Starts to poll
 * the sources of that number, as the first launch does. */
#define CL_CLEAVE_VMS 0x4C05

/* char[]: the counters so far, as the JSON that CLEAVE_STATS writes at exit. */
#define CL_CLEAVE_STATISTICS 0x4C06

/* cl_ulong, needs `device`: Cleave's estimate of the device's cores; launches of fewer work-items are not split. */
#define CL_CLEAVE_DEVICE_CORES 0x4C07

/* char[]: the sources of the number of virtual machines, one line for each: its name, its address, its state, the state of
 * its number ("known", "stale" or "none"), the number, and the milliseconds since its last confirmation (both empty if
 * there was none), separated by tabs. Empty if the settings give the number. Starts to poll the sources, as the first
 * launch does; they may take a moment to answer. */
#define CL_CLEAVE_NEIGHBOURS 0x4C08

/* char[], needs `device`: the name of the file, in the registry's folder, through which processes take turns on the device, and
 * separated by a tab what it is for them: "device", "processor" (turns only if the settings say so), or "remote" (its server
 * takes them). */
#define CL_CLEAVE_DEVICE_TURNS 0x4C09

/* Like OpenCL's clGet...Info functions. `device` is NULL unless the name needs one. `param_value`, of `param_value_size`
 * bytes, receives the value, `param_value_size_ret` its size in bytes, including the final NUL of texts; either may be NULL.
 * Texts that change while the program runs may be longer in the next call: leave room. Returns CL_SUCCESS,
 * CL_INVALID_DEVICE for a device that the driver does not know, or CL_INVALID_VALUE for an unknown name or a size that is
 * too small. */
typedef cl_int(CL_API_CALL* clGetCleaveInfo_fn)(cl_device_id device, cl_cleave_info param_name,
                                                size_t param_value_size, void* param_value,
                                                size_t* param_value_size_ret);

#ifdef __cplusplus
}
#endif

#endif /* CLEAVE_CLEAVE_H_ */
