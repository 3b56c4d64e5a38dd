// SPDX-License-Identifier: Apache-2.0
/// @file status.c
/// The names of the statuses.

#include "lacuna/status.h"

const char *lac_status_name(lac_status status) {
  switch (status) {
#define NAME(code) \
  case code:       \
    return #code
    NAME(LAC_OK);
    NAME(LAC_ERR_ARG);
    NAME(LAC_ERR_SHAPE);
    NAME(LAC_ERR_DTYPE);
    NAME(LAC_ERR_DEVICE);
    NAME(LAC_ERR_PATTERN);
    NAME(LAC_ERR_MEMORY);
    NAME(LAC_ERR_OVERFLOW);
    NAME(LAC_ERR_SINGULAR);
    NAME(LAC_ERR_DEFINITE);
    NAME(LAC_ERR_SYMMETRY);
    NAME(LAC_ERR_NONFINITE);
    NAME(LAC_ERR_CONVERGENCE);
    NAME(LAC_ERR_STALE);
    NAME(LAC_ERR_ORDER);
    NAME(LAC_ERR_ABSENT);
    NAME(LAC_ERR_UNSUPPORTED);
    NAME(LAC_ERR_BACKEND);
    NAME(LAC_ERR_REMOTE);
    NAME(LAC_ERR_FILE);
    NAME(LAC_ERR_FORMAT);
    NAME(LAC_ERR_INTERRUPTED);
#undef NAME
  }
  return "unknown status";
}
