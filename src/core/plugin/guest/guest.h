// SPDX-License-Identifier: Apache-2.0
/// @file guest.h
/// The core as a plug-in sees it: guest.c is linked into every plug-in, and into nothing else.

#ifndef LACUNA_CORE_PLUGIN_GUEST_GUEST_H
#define LACUNA_CORE_PLUGIN_GUEST_GUEST_H

#include "core/plugin/plugin.h"

/// Take the functions of the core, before any of them is called. False: the host is of another build.
bool lac_guest_start(const lac_host *host);

#endif
