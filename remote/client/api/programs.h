// What the files about programs share.
#pragma once

#include <utility>
#include <vector>

#include "remote/client/objects/object_state.h"

namespace cleave::remote::client {

// Not published yet, with a new id; nulls where there is no memory.
std::pair<Object*, ProgramState*> prepare_program(Object& context);

// The ids of `devices`, each of which must be one of `known`; false where one is null or another.
bool device_ids(const std::vector<Object*>& known, const std::vector<Object*>& devices, std::vector<Id>& ids);

}  // namespace cleave::remote::client
