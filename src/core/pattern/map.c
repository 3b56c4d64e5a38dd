// SPDX-License-Identifier: Apache-2.0
/// @file map.c
/// Frozen index maps:
///
///     M x    out[j] = sum of x[i] over target[i] = j        one target at most for each input
///     M^T y  out[i] = y[target[i]], or 0 where it is -1
///
/// Where inputs share a target, `groups` lists the sources of each output in ascending order, so that a kernel can sum
/// them in one fixed order whatever the number of threads.

#include "core/pattern/structure.h"

static void map_free(lac_object *object) {
  lac_map *map = (lac_map *)object;
  lac_object_release(map->target);
  lac_object_release(map->g_offsets);
  lac_object_release(map->g_sources);
  lac_object_release(map->input_partition);
  lac_object_release(map->output_partition);
  pthread_mutex_destroy(&map->lock);
  lac_free(map);
}

const lac_kind lac_map_kind = {"map", map_free};

lac_index_type lac_map_type(int64_t inputs, int64_t outputs) {
  return inputs <= INT32_MAX && outputs <= INT32_MAX ? LAC_I32 : LAC_I64;
}

static bool map_target_is_identity(lac_context *ctx, const lac_buffer *target, int64_t outputs) {
  int threads = lac_structure_threads(ctx), same = target->count == outputs;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(& : same) if (target->count > 1 << 16)
  for (int64_t i = 0; i < target->count; ++i) {
    if (same) same = lac_buffer_get(target, i) == i;
  }
  return same;
}

/// Targets that ascend are distinct; most maps are of this kind and need no memory to prove it.
static bool map_target_ascends(const lac_buffer *target) {
  int64_t last = -1;
  for (int64_t i = 0; i < target->count; ++i) {
    int64_t to = lac_buffer_get(target, i);
    if (to < 0) continue;
    if (to <= last) return false;
    last = to;
  }
  return true;
}

static bool map_target_is_sorted(const lac_buffer *target) {
  for (int64_t i = 0, last = 0; i < target->count; ++i) {
    int64_t to = lac_buffer_get(target, i);
    if (to < last) return false;
    last = to;
  }
  return true;
}

/// One bit for each output.
static lac_status map_target_is_distinct(lac_context *ctx, const lac_buffer *target, int64_t outputs, bool *out) {
  lac_status status = LAC_OK;
  uint64_t *seen = NULL;
  bool distinct = true;

  LAC_ALLOC(seen, outputs / 64 + 1);
  for (int64_t i = 0; i < target->count && distinct; ++i) {
    int64_t to = lac_buffer_get(target, i);
    if (to < 0) continue;
    uint64_t bit = (uint64_t)1 << (to % 64);
    distinct = !(seen[to / 64] & bit);
    seen[to / 64] |= bit;
  }
  *out = distinct;
done:
  lac_free(seen);
  return status;
}

/// Whether it is the identity, and whether it is sorted, where the targets are.
static lac_status map_look(lac_context *ctx, lac_map *map, const lac_buffer *target) {
  lac_status status = LAC_OK;
  if (target->counts) {
    map->is_identity = map->inputs == map->outputs;
    map->is_sorted = true;
  } else if (!lac_buffer_is_host(target) && lac_structure_of(ctx)) {
    LAC_TRY(lac_structure_of(ctx)->ascends(ctx, target, &map->is_identity, &map->is_sorted));
    map->is_identity = map->is_identity && map->inputs == map->outputs;
  } else {
    LAC_TRY(lac_buffer_host(ctx, target));
    map->is_identity = map->is_injective && map_target_is_identity(ctx, target, map->outputs);
    map->is_sorted = map_target_is_sorted(target);
  }
done:
  return status;
}

static lac_status map_make(lac_context *ctx, int64_t outputs, bool injective, lac_buffer **target, lac_map **out) {
  lac_status status = LAC_OK;
  lac_map *map = NULL;

  LAC_ALLOC(map, 1);
  lac_object_init(&map->object, &lac_map_kind);
  pthread_mutex_init(&map->lock, NULL);
  map->inputs = (*target)->count;
  map->outputs = outputs;
  map->is_injective = injective;
  LAC_TRY(map_look(ctx, map, *target));
  map->target = *target, *target = NULL;
  *out = map, map = NULL;
done:
  lac_object_release(map);
  return status;
}

lac_status lac_map_adopt_injective(lac_context *ctx, int64_t outputs, lac_buffer **target, lac_map **out) {
  return map_make(ctx, outputs, true, target, out);
}

lac_status lac_map_adopt_shared(lac_context *ctx, int64_t outputs, lac_buffer **target, lac_map **out) {
  return map_make(ctx, outputs, false, target, out);
}

lac_status lac_map_adopt(lac_context *ctx, int64_t outputs, lac_buffer **target, lac_map **out) {
  lac_status status = LAC_OK;
  bool injective = false;

  LAC_TRY(lac_buffer_host(ctx, *target));
  injective = map_target_ascends(*target);
  if (!injective) LAC_TRY(map_target_is_distinct(ctx, *target, outputs, &injective));
  LAC_TRY(map_make(ctx, outputs, injective, target, out));
done:
  return status;
}

lac_status lac_map_follow(lac_context *ctx, int64_t inputs, int count, const lac_map *const *steps, lac_map **out) {
  lac_status status = LAC_OK;
  lac_buffer *target = NULL;
  int64_t outputs = inputs;

  for (int s = 0; s < count; ++s) {
    if (!steps[s]) continue;
    LAC_TRY(lac_map_host(ctx, steps[s]));
    outputs = steps[s]->outputs;
  }
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(inputs, outputs), inputs, &target));
  for (int64_t i = 0; i < inputs; ++i) {
    int64_t to = i;
    for (int s = 0; s < count && to >= 0; ++s) to = steps[s] ? lac_buffer_get(steps[s]->target, to) : to;
    lac_buffer_set(target, i, to);
  }
  LAC_TRY(lac_map_adopt(ctx, outputs, &target, out));
done:
  lac_object_release(target);
  return status;
}

lac_status lac_map_create(lac_context *ctx, int64_t inputs, int64_t outputs, const int64_t *target, lac_map **out) {
  lac_status status = LAC_OK;
  lac_buffer *buffer = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_map_create: out is NULL");
  LAC_CHECK(inputs >= 0 && outputs >= 0, LAC_ERR_ARG, "lac_map_create: inputs = %lld, outputs = %lld; give 0 or more",
            (long long)inputs, (long long)outputs);
  LAC_CHECK(outputs <= LAC_MAX_COUNT, LAC_ERR_OVERFLOW,
            "lac_map_create: outputs = %lld is beyond what can be addressed (%lld)", (long long)outputs,
            (long long)LAC_MAX_COUNT);
  LAC_CHECK(target || inputs == 0, LAC_ERR_ARG, "lac_map_create: target is NULL with inputs = %lld", (long long)inputs);
  for (int64_t i = 0; i < inputs; ++i) {
    LAC_CHECK(target[i] >= -1 && target[i] < outputs, LAC_ERR_ARG,
              "lac_map_create: target[%lld] = %lld is outside -1..%lld (%lld outputs; -1 drops an entry)", (long long)i,
              (long long)target[i], (long long)outputs - 1, (long long)outputs);
  }
  LAC_TRY(lac_buffer_create(ctx, lac_map_type(inputs, outputs), inputs, &buffer));
  for (int64_t i = 0; i < inputs; ++i) lac_buffer_set(buffer, i, target[i]);
  LAC_TRY(lac_map_adopt(ctx, outputs, &buffer, out));
done:
  lac_object_release(buffer);
  return status;
}

lac_map *lac_map_retain(const lac_map *map) { return lac_object_retain(map); }

void lac_map_destroy(lac_map **map) {
  if (!map) return;
  lac_object_release(*map);
  *map = NULL;
}

int64_t lac_map_inputs(const lac_map *map) { return map ? map->inputs : 0; }
int64_t lac_map_outputs(const lac_map *map) { return map ? map->outputs : 0; }
int64_t lac_map_id(const lac_map *map) { return map ? map->object.id : 0; }
int lac_map_is_identity(const lac_map *map) { return map && map->is_identity; }

lac_status lac_map_host(lac_context *ctx, const lac_map *map) { return lac_buffer_host(ctx, map->target); }

lac_status lac_map_read(const lac_map *map, int64_t *target) {
  lac_context *ctx = NULL;
  lac_status status = LAC_OK;

  LAC_CHECK(map && target, LAC_ERR_ARG, "lac_map_read: map or target is NULL");
  LAC_TRY(lac_map_host(ctx, map));
  for (int64_t i = 0; i < map->inputs; ++i) target[i] = lac_buffer_get(map->target, i);
done:
  return status;
}

/// Where the sources of each output begin: count, then add up.
static lac_status map_make_offsets(lac_context *ctx, lac_map *map) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL;
  int64_t sum = 0;

  LAC_TRY(lac_buffer_create(ctx, map->target->type, map->outputs + 1, &offsets));
  for (int64_t j = 0; j <= map->outputs; ++j) lac_buffer_set(offsets, j, 0);
  for (int64_t i = 0; i < map->inputs; ++i) {
    int64_t to = lac_buffer_get(map->target, i);
    if (to >= 0) lac_buffer_set(offsets, to, lac_buffer_get(offsets, to) + 1);
  }
  for (int64_t j = 0; j <= map->outputs; ++j) {
    int64_t count = lac_buffer_get(offsets, j);
    lac_buffer_set(offsets, j, sum);
    sum += count;
  }
  map->g_offsets = offsets;
done:
  return status;
}

/// Distribute the inputs to the places of their outputs. Going over the inputs in order keeps sources ascending.
static lac_status map_make_sources(lac_context *ctx, lac_map *map) {
  lac_status status = LAC_OK;
  lac_buffer *sources = NULL;
  int64_t *place = NULL;

  LAC_ALLOC(place, map->outputs + 1);
  for (int64_t j = 0; j <= map->outputs; ++j) place[j] = lac_buffer_get(map->g_offsets, j);
  LAC_TRY(lac_buffer_create(ctx, map->target->type, place[map->outputs], &sources));
  for (int64_t i = 0; i < map->inputs; ++i) {
    int64_t to = lac_buffer_get(map->target, i);
    if (to >= 0) lac_buffer_set(sources, place[to]++, i);
  }
  map->g_sources = sources;
done:
  lac_free(place);
  return status;
}

/// What is missing of the groups, by the backend or on the host.
static lac_status map_make_groups(lac_context *ctx, lac_map *map, bool with_sources) {
  lac_status status = LAC_OK;
  lac_buffer *offsets = NULL, *sources = NULL;

  if (lac_structure_of(ctx)) {
    LAC_TRY(lac_structure_of(ctx)->group(ctx, map->target, map->outputs, map->target->type, &offsets, &sources));
    if (!map->g_offsets) map->g_offsets = lac_object_retain(offsets);
    if (!map->g_sources) map->g_sources = lac_object_retain(sources);
    goto done;
  }
  LAC_TRY(lac_map_host(ctx, map));
  if (!map->g_offsets) LAC_TRY(map_make_offsets(ctx, map));
  LAC_TRY(lac_buffer_host(ctx, map->g_offsets));
  if (with_sources && !map->g_sources) LAC_TRY(map_make_sources(ctx, map));
done:
  lac_object_release(offsets);
  lac_object_release(sources);
  return status;
}

/// The groups, with their sources or without; what others may have borrowed already stays.
static lac_status map_groups(lac_context *ctx, const lac_map *map, bool with_sources, const lac_buffer **offsets,
                             const lac_buffer **sources) {
  lac_status status = LAC_OK;
  lac_map *self = (lac_map *)map;  // only the groups change, under the lock

  pthread_mutex_lock(&self->lock);
  if (!self->g_offsets || (with_sources && !self->g_sources)) LAC_TRY(map_make_groups(ctx, self, with_sources));
  if (!lac_structure_of(ctx)) LAC_TRY(lac_buffer_host(ctx, self->g_offsets));
  if (!lac_structure_of(ctx) && with_sources) LAC_TRY(lac_buffer_host(ctx, self->g_sources));
  *offsets = self->g_offsets;
  *sources = with_sources ? self->g_sources : NULL;
done:
  pthread_mutex_unlock(&self->lock);
  return status;
}

lac_status lac_map_groups(lac_context *ctx, const lac_map *map, const lac_buffer **offsets,
                          const lac_buffer **sources) {
  return map_groups(ctx, map, true, offsets, sources);
}

lac_status lac_map_runs(lac_context *ctx, const lac_map *map, const lac_buffer **offsets, const lac_buffer **sources) {
  return map_groups(ctx, map, !map->is_sorted, offsets, sources);
}

lac_status lac_map_longest(lac_context *ctx, const lac_map *map, int64_t *output, int64_t *count) {
  lac_status status = LAC_OK;
  const lac_buffer *offsets = NULL, *sources = NULL;
  lac_longest longest;

  LAC_TRY(map_groups(ctx, map, false, &offsets, &sources));
  LAC_TRY(lac_buffer_longest(ctx, offsets, &longest));
  *output = longest.line;
  *count = longest.count;
done:
  return status;
}
