// What the files about programs share.
#pragma once

#include <utility>
#include <vector>

#include "remote/client/bodies.h"

namespace cleave::remote::client {

// Not published yet, with a new id; nulls where there is no memory.
std::pair<Object*, ProgramBody*> prepare_program(Object& context);

// The ids of `devices`, each of which must be one of `known`; false where one is null or another.
bool device_ids(const std::vector<Object*>& known, const std::vector<Object*>& devices, std::vector<Id>& ids);

}  // namespace cleave::remote::client
