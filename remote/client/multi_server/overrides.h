// Which of two functions a call is for: the one for objects of one server, or the one for those of several.
#pragma once

#include "base/opencl.h"

namespace cleave::remote::client::multi_server {

// Each function as a program is to find it, by the column `remote` of opencl/functions.def. Where composite objects need
// another function, this one looks at the object first.
Table make_functions();

}  // namespace cleave::remote::client::multi_server
