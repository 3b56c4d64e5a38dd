// SPDX-License-Identifier: Apache-2.0
/// @file shared.cuh
/// Kernels that take more shared memory than every launch may have.

#ifndef LACUNA_BACKENDS_CUDA_SHARED_CUH
#define LACUNA_BACKENDS_CUDA_SHARED_CUH

#include <cuda_runtime_api.h>

namespace lac_cuda {

/// Let a kernel take all that a block of this device may have. The permit belongs to the kernel on its device, not to a
/// launch: one for the bytes of this launch would take from another thread what it has just asked for.
template <class... Parameters>
cudaError_t let_share(void (*kernel)(Parameters...)) {
  cudaFuncAttributes own;
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&own, kernel);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(own.sharedSizeBytes));
}

}  // namespace lac_cuda

#endif
