// SPDX-License-Identifier: Apache-2.0
/// @file pair_plan.c
/// Plans for pairs of patterns, kept for the process: tables that find them, and a list by last use.
///
/// The budget is in bytes; what was used longest ago goes first. Ids are never used again, so a plan cannot be taken
/// for that of another pair; plans hold neither a nor b, and go when one of them goes. Plans are made, and let go,
/// without the lock.

#include <string.h>

#include "core/pattern/pattern_impl.h"

enum { TABLE_BITS = 12, TABLE_SIZE = 1 << TABLE_BITS };
enum { BY_PAIR, BY_A, BY_B, TABLES };  // what a plan is looked up by: to use it, and when a or b goes

typedef struct plan_entry {
  lac_pair_plan plan;
  const char *purpose;
  int64_t a, b, bytes;
  struct {
    struct plan_entry *next, **from;  // from: what points here
  } link[TABLES];
  struct plan_entry *newer, *older;  // by last use
  struct plan_entry *queued;         // when it is let go
} plan_entry;

static struct {
  pthread_mutex_t lock;
  plan_entry *tables[TABLES][TABLE_SIZE];
  plan_entry *newest, *oldest;
  int64_t bytes, budget;
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER, .budget = (int64_t)256 << 20};

static void plan_free(lac_object *object) {
  lac_pair_plan *plan = (lac_pair_plan *)object;
  lac_pattern_destroy(&plan->pattern);
  lac_map_destroy(&plan->from_a);
  lac_map_destroy(&plan->from_b);
  lac_free(plan);
}

static const lac_kind plan_kind = {"pair_plan", plan_free};

// -- the tables and the list; the lock is held -----------------------------------------------------------------------

static plan_entry **plan_place(int table, int64_t a, int64_t b) {
  uint64_t key = table == BY_A ? (uint64_t)a : table == BY_B ? (uint64_t)b : (uint64_t)a * UINT64_C(31) + (uint64_t)b;
  return &plans.tables[table][key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - TABLE_BITS)];
}

static plan_entry *plan_find(const char *purpose, int64_t a, int64_t b) {
  plan_entry *e = *plan_place(BY_PAIR, a, b);
  while (e && (e->a != a || e->b != b || strcmp(e->purpose, purpose) != 0)) e = e->link[BY_PAIR].next;
  return e;
}

static void list_remove(plan_entry *e) {
  *(e->newer ? &e->newer->older : &plans.newest) = e->older;
  *(e->older ? &e->older->newer : &plans.oldest) = e->newer;
}

static void list_push(plan_entry *e) {
  e->newer = NULL;
  e->older = plans.newest;
  *(plans.newest ? &plans.newest->newer : &plans.oldest) = e;
  plans.newest = e;
}

static void plan_insert(plan_entry *e) {
  for (int t = 0; t < TABLES; ++t) {
    plan_entry **place = plan_place(t, e->a, e->b);
    e->link[t].next = *place;
    e->link[t].from = place;
    if (*place) (*place)->link[t].from = &e->link[t].next;
    *place = e;
  }
  list_push(e);
  plans.bytes += e->bytes;
}

/// Take a plan out and put it on the queue of those to let go.
static void plan_remove(plan_entry *e, plan_entry **gone) {
  for (int t = 0; t < TABLES; ++t) {
    plan_entry *next = e->link[t].next;
    *e->link[t].from = next;
    if (next) next->link[t].from = e->link[t].from;
  }
  list_remove(e);
  plans.bytes -= e->bytes;
  e->queued = *gone;
  *gone = e;
}

static plan_entry *plans_shrink(void) {
  plan_entry *gone = NULL;
  while (plans.oldest && plans.bytes > plans.budget) plan_remove(plans.oldest, &gone);
  return gone;
}

// -- letting go; the lock is not held --------------------------------------------------------------------------------

/// Letting a plan go may end its pattern, which lets go of plans kept under that pattern's id, and so on: they queue up
/// here instead of calling each other ever deeper.
static void plans_release(plan_entry *gone) {
  static _Thread_local plan_entry *queue;
  static _Thread_local bool busy;

  while (gone) {
    plan_entry *e = gone;
    gone = e->queued;
    e->queued = queue;
    queue = e;
  }
  if (busy) return;
  busy = true;
  while (queue) {
    plan_entry *e = queue;
    queue = e->queued;
    lac_object_release(e);
  }
  busy = false;
}

void lac_pair_plans_forget(int64_t id) {
  plan_entry *gone = NULL;
  pthread_mutex_lock(&plans.lock);
  for (int t = BY_A; t <= BY_B; ++t) {
    for (plan_entry *e = *plan_place(t, id, id), *next = NULL; e; e = next) {
      next = e->link[t].next;
      if ((t == BY_A ? e->a : e->b) == id) plan_remove(e, &gone);
    }
  }
  pthread_mutex_unlock(&plans.lock);
  plans_release(gone);
}

void lac_pattern_set_plan_budget(int64_t bytes) {
  pthread_mutex_lock(&plans.lock);
  plans.budget = bytes > 0 ? bytes : 0;
  plan_entry *gone = plans_shrink();
  pthread_mutex_unlock(&plans.lock);
  plans_release(gone);
}

int64_t lac_pair_plans_budget(void) {
  pthread_mutex_lock(&plans.lock);
  int64_t budget = plans.budget;
  pthread_mutex_unlock(&plans.lock);
  return budget;
}

// -- asking ----------------------------------------------------------------------------------------------------------

static int64_t map_bytes(const lac_map *map) {
  return map ? (int64_t)(sizeof *map + sizeof *map->target) + map->inputs * (map->target->type == LAC_I32 ? 4 : 8) : 0;
}

static int64_t plan_bytes(const plan_entry *e) {
  const lac_pair_plan *plan = &e->plan;
  return (int64_t)sizeof *e + (plan->pattern ? lac_pattern_bytes(plan->pattern) : 0) + map_bytes(plan->from_a) +
         map_bytes(plan->from_b);
}

/// The plan that is kept, retained, or NULL. It is weighed again, since its pattern may have derived things from
/// itself.
static plan_entry *plans_use(const char *purpose, int64_t a, int64_t b) {
  pthread_mutex_lock(&plans.lock);
  plan_entry *e = lac_object_retain(plan_find(purpose, a, b)), *gone = NULL;
  if (e) {
    plans.bytes -= e->bytes;
    e->bytes = plan_bytes(e);
    plans.bytes += e->bytes;
    list_remove(e);
    list_push(e);
    gone = plans_shrink();
  }
  pthread_mutex_unlock(&plans.lock);
  plans_release(gone);
  return e;
}

/// Keep a new plan, or take the one that another thread kept meanwhile: all who ask get the same result.
static plan_entry *plans_keep(plan_entry *made, const lac_pattern *a, const lac_pattern *b) {
  pthread_mutex_lock(&plans.lock);
  plan_entry *e = lac_object_retain(plan_find(made->purpose, made->a, made->b)), *gone = NULL;
  if (!e) {
    e = made;
    made->bytes = plan_bytes(made);
    if (made->bytes <= plans.budget) {
      atomic_store_explicit(&((lac_pattern *)a)->has_plans, true, memory_order_relaxed);
      atomic_store_explicit(&((lac_pattern *)b)->has_plans, true, memory_order_relaxed);
      plan_insert(lac_object_retain(made));
    }
    gone = plans_shrink();
  }
  pthread_mutex_unlock(&plans.lock);
  plans_release(gone);
  return e;
}

lac_status lac_pair_plan_get(lac_context *ctx, const char *purpose, const lac_pattern *a, const lac_pattern *b,
                             lac_status (*make)(lac_context *, const lac_pattern *, const lac_pattern *,
                                                lac_pair_plan *),
                             lac_pair_plan **out) {
  lac_status status = LAC_OK;
  plan_entry *made = NULL, *kept = plans_use(purpose, a->object.id, b->object.id);

  if (!kept) {
    LAC_ALLOC(made, 1);
    lac_object_init(&made->plan.object, &plan_kind);
    made->purpose = purpose;
    made->a = a->object.id;
    made->b = b->object.id;
    LAC_TRY(make(ctx, a, b, &made->plan));
    kept = plans_keep(made, a, b);
    if (kept == made) made = NULL;
  }
  *out = &kept->plan;
done:
  lac_object_release(made);
  return status;
}
