// SPDX-License-Identifier: Apache-2.0
// Elimination and substitution by lists: one level after the other, chunk by chunk.

/// The sums of a chunk, lane by lane.
INLINE void FN(listed_sums)(const lac_worklist *w, int64_t chunk, bool conj, const T *f, const T *z,
                            T sums[LAC_LANES]) {
  const lac_chunk head = lac_worklist_chunk(w, chunk);
  for (int lane = 0; lane < LAC_LANES; ++lane) sums[lane] = 0;
  for (int64_t at = (int64_t)head.begin * LAC_LANES; at < (int64_t)head.end * LAC_LANES; ++at) {
    if (at % LAC_LANES >= head.active) continue;
    const lac_two p = lac_two_get(w->pairs, at);
    const T l = conj ? FN(conj)(f[p.low]) : f[p.low];
    sums[at % LAC_LANES] = FN(mac)(sums[at % LAC_LANES], l, z[p.high]);
  }
}

/// y[target] less the sums of the lanes that share it, divided.
INLINE void FN(listed_finish)(const lac_worklist *w, int64_t chunk, bool conj, const T *f, const T sums[LAC_LANES],
                              T *y) {
  const int lanes = lac_worklist_chunk(w, chunk).lanes;
  const uint32_t none = lac_none(w->tasks);
  for (int lane = 0; lane < LAC_LANES; lane += lanes) {
    const lac_two task = lac_two_get(w->tasks, chunk * LAC_LANES + lane);
    if (task.low == none) continue;
    T sum = sums[lane];
    for (int i = 1; i < lanes; ++i) sum = FN(add)(sum, sums[lane + i]);
    const T left = FN(sub)(y[task.low], sum);
    y[task.low] = task.high == none ? left : FN(div)(left, conj ? FN(conj)(f[task.high]) : f[task.high]);
  }
}

/// Level by level, what each warp has in it.
static void FN(listed_run)(const lac_worklist *w, bool conj, const T *f, T *y) {
  int64_t chunk[LAC_LISTED_WARPS], due[LAC_LISTED_WARPS] = {0};
  T sums[LAC_LANES];
  for (int warp = 0; warp < w->warps; ++warp) chunk[warp] = lac_buffer_get(w->first, warp);
  for (int64_t level = 0; level < w->levels; ++level) {
    for (int warp = 0; warp < w->warps; ++warp) {
      for (; due[warp] == level && chunk[warp] < lac_buffer_get(w->first, warp + 1); ++chunk[warp]) {
        FN(listed_sums)(w, chunk[warp], conj, f, y, sums);
        FN(listed_finish)(w, chunk[warp], conj, f, sums, y);
        due[warp] += lac_worklist_chunk(w, chunk[warp]).waits;
      }
    }
  }
}

static double FN(listed_share)(const lac_listed_lu *list, const T *lu) {
  double smallest = INFINITY, largest = 0;
  for (int64_t e = 0; e < list->entries; ++e) {
    if (!FN(finite)(lu[e])) return 0;
  }
  for (int64_t i = 0; i < list->n; ++i) {
    const double size = FN(size)(lu[lac_buffer_get(list->diagonal, i)]);
    smallest = size < smallest ? size : smallest, largest = size > largest ? size : largest;
  }
  return largest > 0 ? smallest / largest : 0;
}

static void FN(listed_factors)(const void *opaque, int64_t begin, int64_t end) {
  const listed_job *job = opaque;
  const lac_listed_lu *list = job->list;
  for (int64_t item = begin; item < end; ++item) {
    const T *a = (const T *)job->a + item * job->nnz;
    T *lu = (T *)job->out + item * (list->entries + 1);
    for (int64_t e = 0; e < list->entries; ++e) {
      const int64_t slot = lac_buffer_get(list->source, e);
      lu[e] = slot < 0 ? 0 : a[slot];
    }
    lu[list->entries] = 0;
    FN(listed_run)(&list->factor, false, lu, lu);
    job->share[item] = FN(listed_share)(list, lu);
  }
}

static void FN(listed_solves)(const void *opaque, int64_t begin, int64_t end) {
  const listed_job *job = opaque;
  const lac_listed_lu *list = job->list;
  const lac_worklist *lists = list->solve[lac_form_transposes(job->form)];
  const bool conj = lac_form_conjugates(job->form);
  T *y = lac_alloc((size_t)(list->n + 1) * sizeof(T));
  if (!y) {
    atomic_store(job->out_of_memory, true);
    return;
  }
  y[list->n] = 0;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t item = i / job->k, at = item * list->n * job->k + i % job->k;
    const T *lu = (const T *)job->a + lac_batch_item(&job->batch, 0, item) * (list->entries + 1);
    const T *b = (const T *)job->b + at;
    T *x = (T *)job->out + at;
    for (int64_t s = 0; s < list->n; ++s) y[s] = b[lac_buffer_get(list->steps, s) * job->k];
    for (int way = 0; way < 2; ++way) FN(listed_run)(&lists[way], conj, lu, y);
    for (int64_t s = 0; s < list->n; ++s) x[lac_buffer_get(list->steps, s) * job->k] = y[s];
  }
  lac_free(y);
}
