// SPDX-License-Identifier: Apache-2.0
/// Numbers as text: what strtod reads, bit by bit, in every locale; what is written is read back.

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/number.h"
#include "support/check.h"
#include "support/random.h"

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double from_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void check_as_strtod(const char *text) {
  double got = 0;
  const char *end = io_scan_number(text, text + strlen(text), &got);
  double expected = strtod(text, NULL);
  if (end != text + strlen(text) || bits_of(got) != bits_of(expected))
    check_fail(__FILE__, __LINE__, "'%s' is %a, and was read as %a", text, expected, got);
}

static void a_million_random_doubles_are_read_as_strtod_reads_them(lac_context *ctx) {
  random_state r = random_start(71);
  char text[64];
  (void)ctx;
  for (int i = 0; i < 1000000; ++i) {
    double x = from_bits(random_bits(&r));
    if (!isfinite(x)) continue;
    (void)snprintf(text, sizeof text, "%.*g", 1 + (int)random_below(&r, 20), x);
    check_as_strtod(text);
  }
}

/// Most files: few digits, small exponents, where no strtod is called.
static void a_million_everyday_numbers_are_read_as_strtod_reads_them(lac_context *ctx) {
  random_state r = random_start(72);
  char text[96];
  (void)ctx;
  for (int i = 0; i < 1000000; ++i) {
    int digits = 1 + (int)random_below(&r, 19), exponent = (int)random_below(&r, 71) - 35;
    uint64_t w = random_bits(&r) % (uint64_t)pow(10, digits);
    switch (i % 3) {
      case 0:
        (void)snprintf(text, sizeof text, "%s%llue%d", i % 2 ? "-" : "", (unsigned long long)w, exponent);
        break;
      case 1:
        (void)snprintf(text, sizeof text, "%llu.%lluE%+03d", (unsigned long long)(w % 1000),
                       (unsigned long long)(w / 1000), exponent / 3);
        break;
      default:
        (void)snprintf(text, sizeof text, ".%llu", (unsigned long long)w);
    }
    check_as_strtod(text);
  }
}

/// Halves between two doubles, and their neighbours: decimals with all their digits.
static void ties_go_to_even(lac_context *ctx) {
  random_state r = random_start(73);
  char text[1200];
  (void)ctx;
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random_bits(&r) & ~((uint64_t)0x7ff << 52 | (uint64_t)1 << 63);
    double x = from_bits(bits | (uint64_t)(1023 - 20 + random_below(&r, 90)) << 52);
    long double half = ((long double)x + (long double)nextafter(x, INFINITY)) / 2;
    int length = snprintf(text, sizeof text, "%.*Lf", i % 2 ? 75 : 0, half);
    check_as_strtod(text);
    text[length - 1] = '1';
    check_as_strtod(text);
  }
}

static void odd_numbers_are_read(lac_context *ctx) {
  static const char *const texts[] = {"0",
                                      "-0",
                                      "+0.0",
                                      "00012",
                                      "1.",
                                      ".5",
                                      "-.5e-3",
                                      "9007199254740993",
                                      "9007199254740992.5",
                                      "18446744073709551616",
                                      "99999999999999999999999999",
                                      "0.000000000000000000000000000000000000123",
                                      "1e308",
                                      "1.7976931348623157e308",
                                      "1.7976931348623159e308",
                                      "1e400",
                                      "-1e400",
                                      "1e-400",
                                      "4.9e-324",
                                      "2.4703282292062327e-324",
                                      "2.4703282292062328e-324",
                                      "2.2250738585072011e-308",
                                      "1e99999999999999999999",
                                      "0e99999999999999999999",
                                      "1e-99999999999999999999",
                                      "inf",
                                      "-Infinity",
                                      "+INF"};
  double x = 0;
  (void)ctx;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) check_as_strtod(texts[i]);
  const char *word = "NaN", *fortran = "1.5D+02";
  CHECK(io_scan_number(word, word + 3, &x) == word + 3 && isnan(x));
  CHECK(io_scan_number(fortran, fortran + 7, &x) == fortran + 7 && x == 150);
}

static void what_is_no_number_is_refused(lac_context *ctx) {
  static const char *const texts[] = {"", "-", "+", ".", "e5", "1e", "1e+", "--1", "abc", "-.", ".e1", "in", "na"};
  double x = 7;
  int64_t n = 7;
  (void)ctx;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    CHECK(!io_scan_number(texts[i], texts[i] + strlen(texts[i]), &x));
    CHECK_EQ(x, 7);
  }
  const char *hex = "0x10", *comma = "1,5", *long_one = "12345678901234567890";
  CHECK(io_scan_number(hex, hex + 4, &x) == hex + 1 && x == 0);
  CHECK(io_scan_number(comma, comma + 3, &x) == comma + 1 && x == 1);
  CHECK(!io_scan_integer(comma, comma, &n) && !io_scan_integer("x", (const char *)"x" + 1, &n));
  CHECK(io_scan_integer(long_one, long_one + 20, &n) == long_one + 20 && n == INT64_MAX);
}

static void numbers_too_long_to_be_meant_are_refused(lac_context *ctx) {
  static char text[3 * IO_LONGEST_NUMBER];
  double x = 0;
  (void)ctx;
  memset(text, '3', sizeof text);
  CHECK(!io_scan_number(text, text + sizeof text, &x));
  CHECK(io_scan_number(text, text + IO_LONGEST_NUMBER, &x) && isinf(x));
  memset(text, '0', sizeof text);
  CHECK(io_scan_number(text, text + sizeof text, &x) && x == 0);
}

static void check_round_trip(double x, bool is_single) {
  char text[IO_NUMBER_TEXT + 1];
  double back = 0;
  int length = io_print_number(x, is_single, text);
  CHECK(length > 0 && length <= IO_NUMBER_TEXT);
  text[length] = '\0';
  CHECK(io_scan_number(text, text + length, &back) == text + length);
  if (is_single) back = (double)(float)back;
  if (isnan(x) ? !isnan(back) : bits_of(back) != bits_of(x))
    check_fail(__FILE__, __LINE__, "%a was written as '%s'", x, text);
}

static void what_is_written_is_read_back(lac_context *ctx) {
  static const double odd[] = {0.0,      -0.0,      1,  -1, 1e15, 1e16, 1e22, 1e300, 5e-324, 2.2250738585072014e-308,
                               INFINITY, -INFINITY, NAN};
  random_state r = random_start(74);
  (void)ctx;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) check_round_trip(odd[i], false);
  for (int i = 0; i < 300000; ++i) {
    double x = from_bits(random_bits(&r)),
           unit = ldexp((double)(random_bits(&r) >> 11), -53 + (int)random_below(&r, 40) - 20);
    check_round_trip(isfinite(x) ? x : 1, false);
    check_round_trip(unit, false);
    check_round_trip((double)(float)unit, true);
  }
}

static void short_numbers_are_written_short(lac_context *ctx) {
  static const struct {
    double x;
    const char *text;
  } cases[] = {{0.1, "1e-1"},  {12.5, "1.25e1"}, {-3, "-3"}, {1.0 / 3, "3.333333333333333e-1"},
               {1e-5, "1e-5"}, {2.5, "2.5"}};
  char text[IO_NUMBER_TEXT + 1];
  (void)ctx;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    text[io_print_number(cases[i].x, false, text)] = '\0';
    CHECK_TEXT(text, cases[i].text);
  }
  text[io_print_number((double)0.1F, true, text)] = '\0';
  CHECK_TEXT(text, "1e-1");
  text[io_print_integer(INT64_MIN, text)] = '\0';
  CHECK_TEXT(text, "-9223372036854775808");
}

static void the_locale_does_not_matter(lac_context *ctx) {
  static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
  const char *found = NULL, *hard = "1.2345678901234567e-200";
  double x = 0;
  (void)ctx;
  for (int i = 0; i < 4 && !found; ++i) found = setlocale(LC_NUMERIC, comma[i]);
  if (!found) (void)printf("    no locale with a decimal comma is installed: tried in this one alone\n");
  CHECK(io_scan_number(hard, hard + strlen(hard), &x));
  CHECK_EQ(bits_of(x), bits_of(1.2345678901234567e-200));
  check_round_trip(1.2345678901234567e-200, false);
  check_round_trip(0.1, false);
  (void)setlocale(LC_NUMERIC, "C");
}

CHECK_MAIN(a_million_random_doubles_are_read_as_strtod_reads_them,
           a_million_everyday_numbers_are_read_as_strtod_reads_them, ties_go_to_even, odd_numbers_are_read,
           what_is_no_number_is_refused, numbers_too_long_to_be_meant_are_refused, what_is_written_is_read_back,
           short_numbers_are_written_short, the_locale_does_not_matter)
