// SPDX-License-Identifier: Apache-2.0
/// @file status.h
/// Statuses: LAC_OK, or the kind of an error. The context has the sentence that goes with it (context.h).

#ifndef LACUNA_STATUS_H
#define LACUNA_STATUS_H

#if defined(_WIN32)
#define LAC_API __declspec(dllexport)
#else
#define LAC_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call. A call that fails hands out no object: the pointers for its results are unchanged.
typedef enum lac_status {
  LAC_OK = 0,
  LAC_ERR_ARG,          ///< an argument is missing or outside its range
  LAC_ERR_SHAPE,        ///< shapes do not fit together
  LAC_ERR_DTYPE,        ///< dtypes do not fit together
  LAC_ERR_DEVICE,       ///< memory lies on another device than the context's
  LAC_ERR_PATTERN,      ///< an invalid structure: the sentence names the position
  LAC_ERR_MEMORY,       ///< an allocation failed; nothing was changed
  LAC_ERR_OVERFLOW,     ///< a count does not fit the index type
  LAC_ERR_SINGULAR,     ///< a pivot is zero: the sentence names the column or row
  LAC_ERR_DEFINITE,     ///< not positive definite: the sentence names the row
  LAC_ERR_SYMMETRY,     ///< the method needs symmetric (Hermitian) values
  LAC_ERR_NONFINITE,    ///< NaN or infinity where a finite number is needed
  LAC_ERR_CONVERGENCE,  ///< a tolerance was not reached
  LAC_ERR_STALE,        ///< values changed after a factor or a recorded call was made of them
  LAC_ERR_ORDER,        ///< differentiated more often than the operator allows
  LAC_ERR_ABSENT,       ///< an absent variable where a present one is needed
  LAC_ERR_UNSUPPORTED,  ///< this backend, dtype or combination has no implementation
  LAC_ERR_BACKEND,      ///< the device's own library reported an error
  LAC_ERR_REMOTE,       ///< another rank failed: the sentence names it
  LAC_ERR_FILE,         ///< a file could not be opened, read or written
  LAC_ERR_FORMAT,       ///< a file violates its format: the sentence names the place
  LAC_ERR_INTERRUPTED   ///< the interrupt function or `progress` ended the call; arrays for results are undefined
} lac_status;

/// The name of a status, as in the enumeration ("LAC_ERR_SHAPE"). Never NULL.
LAC_API const char *lac_status_name(lac_status status);

#ifdef __cplusplus
}
#endif
#endif
