// SPDX-License-Identifier: Apache-2.0
/// @file program_keep.c
/// Kept programs: each is written once for its operator or function, frozen arguments, shapes, and which derivatives
/// exist and are asked for.
///
/// A program is kept with the youngest of the objects that it was written for (patterns, a map, solver or factor,
/// partitions), and goes with it; where there is no object, the context keeps it. Kept programs borrow these objects: a
/// pattern goes when its users let go of it, whatever was written for it. A holder of a kept program holds the objects
/// too, so what it reads is there. Objects are known by their ids, which are never used again. A table drops what was
/// used longest ago when its budget is short.

#include <pthread.h>
#include <string.h>

#include "autodiff/program_key.h"

enum { BUCKETS = 64 };
enum { OBJECTS_OF_SPEC = LAC_MAX_PATTERNS + 2 };  // and one partition for each input

struct lac_program_key {
  lac_op op;  // the contents too: a user's table may lie where another one lay before
  lac_function function;
  uint64_t hash;
  lac_program *next;           // in its bucket
  lac_program *newer, *older;  // by last use
  int64_t bytes;
  int objects;
  const void **object;  // what the program borrows
  size_t count;
  uint64_t words[];
};

/// The programs that are kept with one object, or by one context.
typedef struct program_table {
  lac_object object;
  pthread_mutex_t lock;
  lac_program *bucket[BUCKETS], *newest, *oldest;
  int64_t bytes;
} program_table;

static _Atomic int64_t table_budget = (int64_t)16 << 20;
static _Atomic int64_t programs_written;

int64_t lac_program_count_written(void) { return atomic_load(&programs_written); }

void lac_program_set_budget(int64_t bytes) { atomic_store(&table_budget, bytes > 0 ? bytes : 0); }

// -- tables; the lock is held ----------------------------------------------------------------------------------------

static bool key_fits(const lac_program_key *kept, const lac_request_key *k) {
  return kept->hash == k->hash && kept->count == k->count &&
         memcmp(kept->words, k->words, k->count * sizeof *k->words) == 0 &&
         (!k->op || memcmp(&kept->op, k->op, sizeof kept->op) == 0) &&
         (!k->function || memcmp(&kept->function, k->function, sizeof kept->function) == 0);
}

static lac_program **table_bucket(program_table *table, uint64_t hash) { return &table->bucket[hash % BUCKETS]; }

static void list_remove(program_table *table, lac_program *p) {
  *(p->key->newer ? &p->key->newer->key->older : &table->newest) = p->key->older;
  *(p->key->older ? &p->key->older->key->newer : &table->oldest) = p->key->newer;
}

static void list_push(program_table *table, lac_program *p) {
  p->key->newer = NULL;
  p->key->older = table->newest;
  *(table->newest ? &table->newest->key->newer : &table->oldest) = p;
  table->newest = p;
}

static lac_program *table_look(program_table *table, const lac_request_key *k) {
  lac_program *p = *table_bucket(table, k->hash);

  while (p && !key_fits(p->key, k)) p = p->key->next;
  if (p && p != table->newest) list_remove(table, p), list_push(table, p);
  return p;
}

static void table_remove(program_table *table, lac_program *p) {
  lac_program **link = table_bucket(table, p->key->hash);

  while (*link != p) link = &(*link)->key->next;
  *link = p->key->next;
  list_remove(table, p);
  table->bytes -= p->key->bytes;
}

static void table_insert(program_table *table, lac_program *p) {
  lac_program **bucket = table_bucket(table, p->key->hash);

  p->key->next = *bucket;
  *bucket = p;
  list_push(table, p);
  table->bytes += p->key->bytes;
}

/// Take out what was used longest ago until the rest is within `budget`; the programs are chained by `next`.
static lac_program *table_shrink(program_table *table, int64_t budget) {
  lac_program *gone = NULL;

  while (table->oldest && table->bytes > budget) {
    lac_program *p = table->oldest;
    table_remove(table, p);
    p->key->next = gone;
    gone = p;
  }
  return gone;
}

// -- tables; the lock is not held ------------------------------------------------------------------------------------

/// Let go of programs that were taken out: that may end patterns, and these their own tables.
static void programs_release(lac_program *gone) {
  while (gone) {
    lac_program *next = gone->key->next;
    lac_object_release(gone);
    gone = next;
  }
}

static void table_free(lac_object *object) {
  program_table *table = (program_table *)object;

  programs_release(table_shrink(table, -1));
  pthread_mutex_destroy(&table->lock);
  lac_free(table);
}

static const lac_kind table_kind = {"programs", table_free};

/// The table that is kept with an object, or by the context where there is no object; NULL when there is no table yet.
static program_table *table_of(const lac_context *ctx, const lac_object *owner) {
  return (program_table *)(owner ? lac_object_kept(owner) : ctx->kept);
}

static lac_status table_make(lac_context *ctx, const lac_object *owner, program_table **out) {
  lac_status status = LAC_OK;
  program_table *table = NULL;

  LAC_ALLOC(table, 1);
  lac_object_init(&table->object, &table_kind);
  (void)pthread_mutex_init(&table->lock, NULL);
  if (owner) {
    *out = (program_table *)lac_object_keep(owner, &table->object);
  } else {
    ctx->kept = &table->object;
    *out = table;
  }
done:
  return status;
}

void lac_program_forget(lac_context *ctx, const void *object) {
  program_table *table = table_of(ctx, object);
  lac_program *gone;

  if (!table) return;
  pthread_mutex_lock(&table->lock);
  gone = table_shrink(table, -1);
  pthread_mutex_unlock(&table->lock);
  programs_release(gone);
  if (object) return;
  lac_object_release(ctx->kept);
  ctx->kept = NULL;
}

void lac_program_key_retain(const lac_program_key *key) {
  for (int i = 0; i < key->objects; i++) (void)lac_object_retain(key->object[i]);
}

void lac_program_key_release(const lac_program_key *key) {
  for (int i = 0; i < key->objects; i++) lac_object_release(key->object[i]);
}

/// The program that is kept, held for the caller; or NULL.
static lac_program *table_find(program_table *table, const lac_request_key *k) {
  lac_program *found;

  pthread_mutex_lock(&table->lock);
  found = table_look(table, k);
  if (found) (void)lac_object_retain(found);
  pthread_mutex_unlock(&table->lock);
  return found;
}

// -- keeping a program -----------------------------------------------------------------------------------------------

static bool key_borrows(const lac_program_key *key, const void *object) {
  for (int i = 0; i < key->objects; i++) {
    if (key->object[i] == object) return true;
  }
  return false;
}

typedef enum borrow_step { BORROW, FORGET } borrow_step;

/// A pointer of a kept program: where its key names the object it holds it no more (BORROW), or is NULL (FORGET).
static const void *key_step(const lac_program_key *key, const void *object, borrow_step step) {
  if (!object || !key_borrows(key, object)) return object;
  if (step == FORGET) return NULL;
  lac_object_release(object);
  return object;
}

static void program_step(lac_program *program, borrow_step step) {
  const lac_program_key *key = program->key;
  const lac_tape *tape = program->tape;

  for (int n = 0; n < tape->nodes_count; n++) {
    lac_spec *spec = &tape->nodes[n].spec;
    for (int i = 0; i < LAC_MAX_PATTERNS; i++) spec->patterns[i] = key_step(key, spec->patterns[i], step);
    spec->object = key_step(key, spec->object, step);
    spec->attrs.like.partition = key_step(key, spec->attrs.like.partition, step);
  }
  for (int v = 1; v < tape->vars_count; v++) {
    tape->vars[v].meta.partition = key_step(key, tape->vars[v].meta.partition, step);
  }
}

void lac_program_key_destroy(lac_program *program) {
  program_step(program, FORGET);
  lac_free(program->key);
  program->key = NULL;
}

static void key_name(lac_program_key *key, const void *object) {
  if (object && !key_borrows(key, object)) key->object[key->objects++] = object;
}

/// The objects of a request, into its key.
static void key_name_all(lac_program_key *key, const lac_request *q) {
  for (int i = 0; q->spec && i < LAC_MAX_PATTERNS; i++) key_name(key, q->spec->patterns[i]);
  if (q->spec) key_name(key, q->spec->object);
  if (q->spec) key_name(key, q->spec->attrs.like.partition);
  for (int i = 0; q->function && i < q->function->objects; i++) key_name(key, q->function->object[i]);
  for (int i = 0; i < q->ins; i++) key_name(key, q->in[i].partition);
}

/// Give a program its key, with the objects of the request.
static lac_status program_sign(lac_context *ctx, lac_program *program, const lac_request *q, const lac_request_key *k) {
  lac_status status = LAC_OK;
  const lac_tape *tape = program->tape;
  size_t objects = (q->function ? (size_t)q->function->objects : OBJECTS_OF_SPEC) + (size_t)q->ins;
  size_t words = k->count * sizeof *k->words;
  lac_program_key *key = lac_calloc(1, sizeof *key + words + objects * sizeof *key->object);

  LAC_CHECK(key, LAC_ERR_MEMORY, "out of memory: the key of a program");
  if (k->op) key->op = *k->op;
  if (k->function) key->function = *k->function;
  key->hash = k->hash;
  key->count = k->count;
  memcpy(key->words, k->words, words);
  key->object = (const void **)(key->words + key->count);
  key_name_all(key, q);
  key->bytes = (int64_t)(sizeof *program + sizeof *tape + sizeof *key + words + objects * sizeof *key->object);
  key->bytes += tape->vars_capacity * (int64_t)sizeof *tape->vars + tape->nodes_capacity * (int64_t)sizeof *tape->nodes;
  program->key = key;
done:
  return status;
}

/// Keep a program, or take the one that another thread kept meanwhile: all requests return the same program.
static lac_status program_keep(lac_context *ctx, const lac_request *q, const lac_request_key *k,
                               lac_program **program) {
  lac_status status = LAC_OK;
  program_table *table = table_of(ctx, k->youngest);
  lac_program *kept = NULL, *gone = NULL;
  int64_t budget = atomic_load(&table_budget);

  if (budget == 0) return LAC_OK;
  if (!table) LAC_TRY(table_make(ctx, k->youngest, &table));
  LAC_TRY(program_sign(ctx, *program, q, k));
  program_step(*program, BORROW);
  pthread_mutex_lock(&table->lock);
  kept = table_look(table, k);
  if (kept) {
    (void)lac_object_retain(kept);
  } else {
    table_insert(table, lac_object_retain(*program));
    gone = table_shrink(table, budget);
  }
  pthread_mutex_unlock(&table->lock);
  programs_release(gone);
  if (kept) {
    lac_object_release(*program);
    *program = kept;
  }
done:
  return status;
}

lac_status lac_program_ask(lac_context *ctx, const lac_request *q, lac_program **out) {
  lac_status status = LAC_OK;
  lac_request_key k;
  lac_program *program = NULL;
  program_table *table;

  LAC_TRY(lac_request_key_open(ctx, q, &k));
  table = table_of(ctx, k.youngest);
  if (table) program = table_find(table, &k);
  if (!program) {
    LAC_TRY((q->function ? lac_program_write_function : lac_program_write)(ctx, q, &program));
    (void)atomic_fetch_add(&programs_written, 1);
    LAC_TRY(program_keep(ctx, q, &k, &program));
  }
  *out = program, program = NULL;
done:
  lac_object_release(program);
  lac_request_key_close(&k);
  return status;
}
