// SPDX-License-Identifier: Apache-2.0
/// @file test_hooks.h
/// What the library has for its tests alone: faults that cannot be had otherwise. None of it is exported; each function
/// is defined in the file whose behaviour it changes, for the whole process.

#ifndef LACUNA_CORE_TEST_HOOKS_H
#define LACUNA_CORE_TEST_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

/// Let the n-th allocation of host or device memory from now on fail (1 is the next); 0 switches it off. Returns how
/// many allocations were asked for since the last call.
int64_t lac_memory_fail_at(int64_t n);

/// Seconds from one question of an interrupt function to the next: 0.1 unless a test has set it; 0: at every look.
void lac_stop_set_pause(double seconds);

/// Loops over a grid are cut into so many parts; 0: into as many as threads are worth.
void lac_grid_set_parts(int64_t parts);

/// METIS, or every plug-in (engines, and backends that are not built in), is not found while this is true.
void lac_metis_hide(bool is_hidden);
void lac_plugin_hide(bool is_hidden);

/// Structures with more entries than this get 64-bit indices in engines: INT32_MAX unless a test has set it.
void lac_engine_set_narrow(int64_t narrow);

#endif
