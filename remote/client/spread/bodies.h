// What objects of a context over several servers are made of: a whole, which the program knows, and its
// parts, each an ordinary object of one server, which it never sees. Queues and events belong to one server
// and are ordinary objects below the context's part.
//
// A whole has no id. Its body is that of an ordinary object, filled in like its parts', so that what only
// looks into bodies need not know. A part is null where its server has gone, or has no device that the object
// is for.
//
// Thread-safe like the bodies that they begin with.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "remote/client/api.h"
#include "remote/client/bodies.h"
#include "remote/client/connection.h"
#include "remote/client/info.h"
#include "remote/client/state.h"

namespace cleave::remote::client::spread {

struct Contents;
class Ordering;

// What all objects of such contexts have in Object::driver, wholes and parts: children have their parent's.
inline constexpr std::uint16_t kMark = 0xffff;
inline bool is_spread(const Object& object) { return object.driver == kMark; }

inline void give_back(cl_context part) { client::clReleaseContext(part); }
inline void give_back(cl_mem part) { client::clReleaseMemObject(part); }
inline void give_back(cl_sampler part) { client::clReleaseSampler(part); }
inline void give_back(cl_program part) { client::clReleaseProgram(part); }
inline void give_back(cl_kernel part) { client::clReleaseKernel(part); }

template <typename B, typename TheHandle>
struct Whole : B {
  using B::B;
  using Base = B;
  using Handle = TheHandle;
  ~Whole() override {
    for (const Handle part : parts) {
      if (part != nullptr) give_back(part);
    }
  }
  std::vector<Handle> parts;  // one for each of the context's
};

struct WholeContext : Whole<ContextBody, cl_context> {
  using Whole::Whole;
  std::shared_ptr<Ordering> ordering;
};

struct WholeMemory : Whole<MemoryBody, cl_mem> {
  using Whole::Whole;
  ~WholeMemory() override;
  std::shared_ptr<Contents> contents;  // a sub-buffer's, or an image's on a buffer, are the buffer's
  cl_mem handle = nullptr;             // for what is called at its end
};

using WholeSampler = Whole<SamplerBody, cl_sampler>;
using WholeProgram = Whole<ProgramBody, cl_program>;

struct WholeKernel : Whole<KernelBody, cl_kernel> {
  using Whole::Whole;
  struct Argument {
    bool may_write = true;               // by what the kernel says of it
    cl_mem_flags flags = 0;              // of what it is set to
    std::shared_ptr<Contents> contents;  // null: no memory object
  };
  std::vector<Argument> arguments;
};

inline WholeContext& context_of(const Object& whole) { return body_of<WholeContext>(whole); }

// Which part of its context a queue belongs to.
inline std::size_t part_of(const QueueBody& queue) { return body_of<ContextBody>(*queue.context).part; }

// Which part a device belongs to; the number of parts if it is none of the context's.
std::size_t part_of(const WholeContext& context, const Object* device);

inline Connection& connection_of(const WholeContext& context, std::size_t part) {
  return *body_of<ContextBody>(*find(context.parts[part])).connection;
}

// Makes a whole below `parent`, whose parts make(part, error) gives. What a server that has gone cannot make
// is left out, unless all have gone. fill(body, part's body) fills in the rest from one of its parts.
template <typename W, typename Make, typename Fill>
typename W::Handle create(Object& context, Object& parent, cl_int* error_ret, Make make, Fill fill) {
  using Handle = typename W::Handle;
  const WholeContext& of = context_of(context);
  const auto made = prepare<W>(parent, *of.connection, 0);
  Object* const object = made.first;
  W* const body = made.second;
  if (object == nullptr) return fail<Handle>(error_ret, CL_OUT_OF_HOST_MEMORY);
  cl_int error = CL_SUCCESS;
  bool filled = false;
  for (std::size_t part = 0; part < of.parts.size(); ++part) {
    cl_int one = CL_SUCCESS;
    body->parts.push_back(make(part, one));
    if (body->parts.back() != nullptr && !filled) {
      fill(*body, body_of<typename W::Base>(*find(body->parts.back())));
      filled = true;
    }
    if (one != CL_SUCCESS && (error == CL_SUCCESS || error == kGone)) error = one;
    if (one != CL_SUCCESS && connection_of(of, part).alive()) break;
  }
  if (!filled || (error != CL_SUCCESS && error != kGone)) {
    delete body;
    client.objects.discard(*object);
    return fail<Handle>(error_ret, error == CL_SUCCESS ? CL_INVALID_VALUE : error);
  }
  if (error_ret != nullptr) *error_ret = CL_SUCCESS;
  return objects::handle_of<Handle>(&client.objects.publish(*object, static_cast<Body*>(body)));
}

}  // namespace cleave::remote::client::spread
