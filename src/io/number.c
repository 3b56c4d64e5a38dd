// SPDX-License-Identifier: Apache-2.0
/// @file number.c
/// Text to f64:  w 10^e  with an integer w of at most 19 digits.
///
///     |e| <= 22, w <= 2^53   both factors are exact: one multiplication or division rounds once
///     |e| <= 27              5^|e| fits 64 bits: an exact product of 128 bits, or a quotient and whether a remainder
///                            is left
///     else                   strtod, in the C locale
///
/// f64 to text: as few digits as are read back to the same bits, found by trying.

#include "io/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__extension__ typedef unsigned __int128 u128;

enum { MOST_DIGITS = 19, EXACT_TENS = 22, EXACT_FIVES = 27, EXPONENT_LIMIT = 100000, MANTISSA = 53 };

static const double tens[EXACT_TENS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t fives[EXACT_FIVES + 1] = {UINT64_C(1),
                                                UINT64_C(5),
                                                UINT64_C(25),
                                                UINT64_C(125),
                                                UINT64_C(625),
                                                UINT64_C(3125),
                                                UINT64_C(15625),
                                                UINT64_C(78125),
                                                UINT64_C(390625),
                                                UINT64_C(1953125),
                                                UINT64_C(9765625),
                                                UINT64_C(48828125),
                                                UINT64_C(244140625),
                                                UINT64_C(1220703125),
                                                UINT64_C(6103515625),
                                                UINT64_C(30517578125),
                                                UINT64_C(152587890625),
                                                UINT64_C(762939453125),
                                                UINT64_C(3814697265625),
                                                UINT64_C(19073486328125),
                                                UINT64_C(95367431640625),
                                                UINT64_C(476837158203125),
                                                UINT64_C(2384185791015625),
                                                UINT64_C(11920928955078125),
                                                UINT64_C(59604644775390625),
                                                UINT64_C(298023223876953125),
                                                UINT64_C(1490116119384765625),
                                                UINT64_C(7450580596923828125)};

/// A number as it is written: (-1)^negative digits 10^exponent, and more digits if it is not exact.
typedef struct decimal {
  uint64_t digits;
  int64_t exponent;
  int kept;
  bool negative, exact;
} decimal;

// -- scanning --------------------------------------------------------------------------------------------------------

static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

/// Eight characters as one integer, the first lowest.
static inline uint64_t eight_characters(const char *p) {
  uint64_t x;
  memcpy(&x, p, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

/// Each byte is '0' to '9': its high half is 3, and stays so when 6 is added.
static inline bool are_digits(uint64_t x) {
  return ((x & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
          (((x + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4)) == UINT64_C(0x3333333333333333);
}

/// Their number: neighbours are joined to pairs, fours, eight.
static inline uint64_t eight_digits(uint64_t x) {
  x = (x & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
  x = (x & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
  return (x & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
}

/// Digits before (step 0) or after (step 1) the point. Behind the first that is not 0 they are taken by eights.
static inline const char *decimal_digits(const char *p, const char *end, int step, decimal *d) {
  for (; p < end && is_digit(*p); ++p) {
    while (d->digits && d->kept <= MOST_DIGITS - 8 && end - p >= 8 && are_digits(eight_characters(p))) {
      d->digits = d->digits * 100000000 + eight_digits(eight_characters(p));
      d->kept += 8;
      d->exponent -= 8 * step;
      p += 8;
    }
    if (p == end || !is_digit(*p)) break;
    unsigned digit = (unsigned)(*p - '0');
    if (d->kept < MOST_DIGITS) {
      d->digits = 10 * d->digits + digit;
      d->kept += d->digits != 0;
      d->exponent -= step;
    } else {
      d->exact &= digit == 0;
      d->exponent += 1 - step;
    }
  }
  return p;
}

static const char *decimal_exponent(const char *p, const char *end, decimal *d) {
  bool negative = p < end && *p == '-';
  int64_t exponent = 0;

  if (p < end && (*p == '-' || *p == '+')) ++p;
  if (p == end || !is_digit(*p)) return NULL;
  for (; p < end && is_digit(*p); ++p) {
    if (exponent < EXPONENT_LIMIT) exponent = 10 * exponent + (*p - '0');
  }
  d->exponent += negative ? -exponent : exponent;
  return p;
}

/// The digits that begin at `p`, after a sign; NULL when there are none.
static inline const char *decimal_scan(const char *p, const char *end, decimal *d) {
  const char *begin = p;
  int64_t digits = 0;

  p = decimal_digits(p, end, 0, d);
  digits = p - begin;
  if (p < end && *p == '.') {
    begin = ++p;
    p = decimal_digits(p, end, 1, d);
    digits += p - begin;
  }
  if (digits == 0) return NULL;
  if (p < end && ((*p | 32) == 'e' || (*p | 32) == 'd')) p = decimal_exponent(p + 1, end, d);
  return p;
}

// -- exact roundings -------------------------------------------------------------------------------------------------

/// 2^k, a normal number.
static double power_of_two(int k) {
  uint64_t bits = (uint64_t)(1023 + k) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/// (x + a fraction, if `more`) 2^k to the nearest f64, ties to even; x > 0, and has more than 53 bits if there is a
/// fraction.
static double round_to_nearest(u128 x, bool more, int k) {
  uint64_t high = (uint64_t)(x >> 64);
  int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)x), drop = bits - MANTISSA;
  if (drop <= 0) return (double)(uint64_t)x * power_of_two(k);
  uint64_t kept = (uint64_t)(x >> drop);
  u128 half = (u128)1 << (drop - 1), rest = x & (2 * half - 1);
  kept += rest > half || (rest == half && (more || (kept & 1)));
  return (double)kept * power_of_two(k + drop);
}

/// w / 5^n 2^-n: the quotient has at least 62 bits.
static double decimal_divide(uint64_t w, int n) {
  int shift_w = __builtin_clzll(w), shift_d = __builtin_clzll(fives[n]);
  uint64_t divisor = fives[n] << shift_d;
  u128 dividend = (u128)(w << shift_w) << 63;
  u128 quotient = dividend / divisor;
  return round_to_nearest(quotient, quotient * divisor != dividend, shift_d - shift_w - 63 - n);
}

/// The value, where it can be had without strtod.
static inline bool decimal_value(const decimal *d, double *out) {
  uint64_t w = d->digits;
  int64_t e = d->exponent;

  if (!d->exact) return false;
  if (w == 0) {
    *out = 0;
  } else if (w <= (uint64_t)1 << MANTISSA && e >= -EXACT_TENS && e <= EXACT_TENS) {
    *out = e < 0 ? (double)w / tens[-e] : (double)w * tens[e];
  } else if (e >= 0 && e <= EXACT_FIVES) {
    *out = round_to_nearest((u128)w * fives[e], false, (int)e);
  } else if (e < 0 && e >= -EXACT_FIVES) {
    *out = decimal_divide(w, (int)-e);
  } else {
    return false;
  }
  return true;
}

// -- what is rare ----------------------------------------------------------------------------------------------------

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t locale_c;

static void locale_open(void) { locale_c = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

/// strtod on a copy that ends in NUL, with e for d.
static const char *number_hard(const char *begin, const char *end, double *out) {
  char text[IO_LONGEST_NUMBER + 1];
  size_t length = (size_t)(end - begin);

  (void)pthread_once(&locale_once, locale_open);
  if (length > IO_LONGEST_NUMBER || !locale_c) return NULL;
  for (size_t i = 0; i < length; ++i) text[i] = (begin[i] | 32) == 'd' ? 'e' : begin[i];
  text[length] = '\0';
  *out = strtod_l(text, NULL, locale_c);
  return end;
}

static const char *number_word(const char *p, const char *end, double *out) {
  static const struct {
    const char *text;
    double value;
  } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
  for (int i = 0; i < 3; ++i) {
    size_t length = strlen(words[i].text);
    if ((size_t)(end - p) < length || strncasecmp(p, words[i].text, length) != 0) continue;
    *out = words[i].value;
    return p + length;
  }
  return NULL;
}

const char *io_scan_number(const char *p, const char *end, double *out) {
  decimal d = {.negative = p < end && *p == '-', .exact = true};
  double x = 0;
  const char *begin = p < end && (*p == '-' || *p == '+') ? p + 1 : p;

  p = decimal_scan(begin, end, &d);
  if (!p) {
    p = number_word(begin, end, &x);
  } else if (!decimal_value(&d, &x)) {
    p = number_hard(begin, p, &x);
  }
  if (p) *out = d.negative ? -x : x;
  return p;
}

const char *io_scan_integer(const char *p, const char *end, int64_t *out) {
  enum { ALWAYS_FIT = 18 };
  bool negative = p < end && *p == '-';
  uint64_t x = 0;
  const char *first = NULL, *begin = NULL;

  if (p < end && (*p == '-' || *p == '+')) ++p;
  for (begin = p; p < end && *p == '0';) ++p;
  for (first = p; p < end && is_digit(*p); ++p) x = 10 * x + (uint64_t)(*p - '0');  // may wrap: then it is not used
  if (p == begin) return NULL;
  if (p - first > ALWAYS_FIT && (p - first > ALWAYS_FIT + 1 || x > INT64_MAX)) x = INT64_MAX;
  *out = negative ? -(int64_t)x : (int64_t)x;
  return p;
}

// -- printing --------------------------------------------------------------------------------------------------------

int io_print_integer(int64_t x, char *text) {
  char reversed[24];
  int n = 0, length = 0;
  uint64_t rest = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;

  do reversed[n++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (x < 0) text[length++] = '-';
  while (n > 0) text[length++] = reversed[--n];
  return length;
}

/// "d.ddde-xx" of w 10^exponent.
static int print_scientific(uint64_t w, int64_t exponent, char *text) {
  char digits[24];
  int n = 0, length = 0;

  while (w % 10 == 0) w /= 10, ++exponent;
  n = io_print_integer((int64_t)w, digits);
  exponent += n - 1;
  text[length++] = digits[0];
  if (n > 1) {
    text[length++] = '.';
    memcpy(text + length, digits + 1, (size_t)n - 1);
    length += n - 1;
  }
  if (exponent == 0) return length;
  text[length++] = 'e';
  return length + io_print_integer(exponent, text + length);
}

static bool is_same(double read, double x, bool is_single) { return is_single ? (float)read == (float)x : read == x; }

/// x > 0 in `digits` digits, if these are read back as x. Powers beyond 10^27 are left to printf.
static bool print_try(double x, bool is_single, int digits, int magnitude, uint64_t *w, int64_t *exponent) {
  int up = digits - 1 - magnitude;
  if (up > EXACT_FIVES || up < -EXACT_FIVES) return false;
  long double power = (long double)fives[abs(up)] * (long double)power_of_two(abs(up));
  long double scaled = up < 0 ? (long double)x / power : (long double)x * power;
  decimal d = {.digits = (uint64_t)(scaled + 0.5L), .exponent = -up, .exact = true};
  double read = 0;

  *w = d.digits;
  *exponent = d.exponent;
  return d.digits && decimal_value(&d, &read) && is_same(read, x, is_single);
}

/// printf's digits, with a point in every locale.
static int print_hard(double x, int digits, char *text) {
  char printed[64];
  int length = 0;

  (void)snprintf(printed, sizeof printed, "%.*e", digits - 1, x);
  for (const char *p = printed; *p; ++p) {
    bool plain = is_digit(*p) || *p == 'e' || *p == '+' || *p == '-';
    if (plain) text[length++] = *p;
    if (!plain && (length == 0 || text[length - 1] != '.')) text[length++] = '.';
  }
  return length;
}

int io_print_number(double x, bool is_single, char *text) {
  static const int first[] = {15, 6}, last[] = {17, 9};
  const double whole = 1e15;
  uint64_t w = 0;
  int64_t exponent = 0;
  int length = 0;

  if (signbit(x) && !isnan(x)) text[length++] = '-', x = -x;
  if (isnan(x) || isinf(x)) {
    for (const char *word = isnan(x) ? "nan" : "inf"; *word; ++word) text[length++] = *word;
    return length;
  }
  if (x < whole && x == (double)(int64_t)x) return length + io_print_integer((int64_t)x, text + length);
  int magnitude = (int)floor(log10(x));
  for (int digits = first[is_single]; digits <= last[is_single]; ++digits) {
    if (print_try(x, is_single, digits, magnitude, &w, &exponent))
      return length + print_scientific(w, exponent, text + length);
  }
  return length + print_hard(x, last[is_single], text + length);
}
