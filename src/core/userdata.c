// SPDX-License-Identifier: Apache-2.0
/// @file userdata.c
/// A user's own data as a counted object, so that calls and tapes can hold it.

#include "core/context_impl.h"
#include "core/object.h"
#include "lacuna/extend.h"

struct lac_userdata {
  lac_object object;
  void *data;
  void (*destroy)(void *data);
};

static void userdata_free(lac_object *object) {
  lac_userdata *userdata = (lac_userdata *)object;

  if (userdata->destroy) userdata->destroy(userdata->data);
  lac_free(userdata);
}

static const lac_kind userdata_kind = {"userdata", userdata_free};

lac_status lac_userdata_create(lac_context *ctx, void *data, void (*destroy)(void *data), lac_userdata **out) {
  lac_status status = LAC_OK;
  lac_userdata *userdata = NULL;

  LAC_CHECK(out, LAC_ERR_ARG, "lac_userdata_create: out is NULL");
  LAC_ALLOC(userdata, 1);
  lac_object_init(&userdata->object, &userdata_kind);
  userdata->data = data;
  userdata->destroy = destroy;
  *out = userdata;
done:
  return status;
}

void *lac_userdata_get(const void *object) {
  const lac_userdata *userdata = object;
  return userdata && userdata->object.kind == &userdata_kind ? userdata->data : NULL;
}

void lac_userdata_destroy(lac_userdata **userdata) {
  if (!userdata) return;
  lac_object_release(*userdata);
  *userdata = NULL;
}
