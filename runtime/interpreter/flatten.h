// ANF → register code.
#pragma once

#include "runtime/interpreter/code.h"
#include "runtime/object/ops.h"
