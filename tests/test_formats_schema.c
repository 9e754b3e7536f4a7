/*
 * Schemas: a table's cells to entries of about 1 and back, by names and kinds found in its first rows; the text that
 * keeps them; and records that give a file's bytes back.
 */
#include "formats_support.h"
#include "schema.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bpcn_status infer(const char *text, const fmt_wish *wishes, size_t count, fmt_inference *found)
{
    FILE *in = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
    assert_non_null(in);
    const fmt_infer_options options = {.wishes = wishes, .wish_count = count};
    bpcn_status status = fmt_infer(in, "t.csv", &options, found);
    fclose(in);
    return status;
}

static void infer_fails(const char *text, const char *sentence)
{
    fmt_inference found;
    assert_int_not_equal(infer(text, NULL, 0, &found), BPCN_OK);
    assert_string_equal(bpcn_error(), sentence);
}

/* ---- centre and scale */

/* Independent: the mean and deviation of what numbers must be like after (value - centre) / scale. */
static void check_scaled(const double *values, size_t count, double centre, double scale, double most)
{
    double sum = 0, square = 0;
    for (size_t i = 0; i < count; i++) {
        double x = (values[i] - centre) / scale;
        sum += x;
        square += x * x;
    }
    assert_true(fabs(sum / (double)count) < 0.2);
    double deviation = sqrt(square / (double)count);
    assert_true(deviation > 0.5 && deviation < most);
}

static void numbers_of_every_shape_become_about_one(void **state)
{
    enum { COUNT = 500 };
    double values[COUNT], sorted[COUNT], centre, scale;
    (void)state;
    for (int shape = 0; shape < 5; shape++) {
        for (int i = 0; i < COUNT; i++) {
            double u = (i + 0.5) / COUNT;
            values[i] = shape == 0   ? 101325 + 40 * u              /* even, far from 0 */
                        : shape == 1 ? i % 5 == 0                   /* a fifth are 1 */
                        : shape == 2 ? 3 * -log(1 - u)              /* skewed */
                        : shape == 3 ? (i % 3 ? 0 : 1e-6 * (1 + i)) /* most are equal, and small */
                                     : (i % 10 ? 7 : -7);           /* two values */
        }
        memcpy(sorted, values, sizeof sorted);
        fmt_centre_and_scale(sorted, COUNT, &centre, &scale);
        check_scaled(values, COUNT, centre, scale, 1.5); /* what is cut off of the skewed one adds to 1 */
    }
}

static void one_value_in_fifty_cannot_move_the_scale_far(void **state)
{
    enum { COUNT = 100 };
    double clean[COUNT], spoilt[COUNT], centre[2], scale[2];
    (void)state;
    for (int i = 0; i < COUNT; i++)
        clean[i] = spoilt[i] = i;
    spoilt[50] = 1e14;
    fmt_centre_and_scale(clean, COUNT, &centre[0], &scale[0]);
    fmt_centre_and_scale(spoilt, COUNT, &centre[1], &scale[1]);
    assert_true(fabs(scale[1] / scale[0] - 1) < 0.05 && fabs(centre[1] - centre[0]) < 0.05 * scale[0]);
}

static void constants_and_rare_exceptions_have_a_scale(void **state)
{
    double same[40], rare[400], nought[3] = {0, 0, 0}, centre, scale;
    (void)state;
    for (int i = 0; i < 40; i++)
        same[i] = 101325;
    for (int i = 0; i < 400; i++)
        rare[i] = i == 7;
    fmt_centre_and_scale(same, 40, &centre, &scale);
    assert_true(centre > 101000 && centre < 101700 && scale > 10000 && scale < 11000);
    fmt_centre_and_scale(rare, 400, &centre, &scale);
    assert_true(centre == 0 && scale == 1);
    fmt_centre_and_scale(nought, 3, &centre, &scale);
    assert_true(centre == 0 && scale == 1);
}

/* ---- what columns are */

static const char people[] = "id,age,city,smokes,\n"
                             "a1,30,Bonn,0,x\na2,40,Rome,1,x\na3,NA,\"Rome\",0,y\na4,50,?,1,x\na5,44.5,Bonn,,y\n";

static void kinds_are_found_and_unlearnable_columns_said(void **state)
{
    fmt_inference found;
    (void)state;
    assert_int_equal(infer(people, NULL, 0, &found), BPCN_OK);
    const fmt_schema *s = &found.schema;
    assert_true(found.header && found.rows == 5 && s->count == 3 && s->dim == 4 && s->cells == 3);
    assert_int_equal(s->column[0].kind, FMT_NUMBER);
    assert_int_equal(s->column[1].kind, FMT_CATEGORY);
    assert_int_equal(s->column[2].kind, FMT_NUMBER);
    assert_string_equal(s->column[1].words.word[0], "Bonn");
    assert_string_equal(s->column[1].words.word[1], "Rome");
    assert_int_equal(s->ignored_count, 2);
    assert_string_equal(s->ignored[0].name, "id");
    assert_string_equal(found.reason.word[0], "5 different words: like an id");
    assert_string_equal(found.reason.word[1], "it has no name");
    assert_true(s->ignored[0].place == 0 && s->ignored[1].place == 3);
    fmt_inference_free(&found);
}

static void what_is_said_of_a_column_counts(void **state)
{
    const fmt_wish wishes[] = {{.name = "id", .kind = FMT_CATEGORY},
                               {.name = "age", .kind = FMT_NUMBER, .centre = 37, .scale = 5},
                               {.name = "city", .kind = FMT_IGNORED}},
                   nobody = {.name = "size", .kind = FMT_NUMBER};
    fmt_inference found;
    (void)state;
    assert_int_equal(infer(people, wishes, 3, &found), BPCN_OK);
    const fmt_schema *s = &found.schema;
    assert_true(s->column[0].kind == FMT_CATEGORY && s->column[0].size == 5);
    assert_true(s->column[1].centre == 37 && s->column[1].scale == 5);
    assert_null(fmt_schema_find(s, "city", 4));
    fmt_inference_free(&found);
    assert_int_equal(infer(people, &nobody, 1, &found), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "t.csv: there is no column 'size'");
}

static void a_category_varies_as_much_as_a_number(void **state)
{
    static const char text[] = "w\na\nb\nb\nb\nc\nc\nb\na\n"; /* 2 a, 4 b, 2 c of 8 */
    fmt_inference found;
    (void)state;
    assert_int_equal(infer(text, NULL, 0, &found), BPCN_OK);
    const fmt_column *c = &found.schema.column[0];
    const double share[3] = {0.25, 0.5, 0.25};
    double variance = 0;
    for (size_t entry = 0; entry < 3; entry++) {
        double mean = 0, square = 0;
        for (int word = 0; word < 3; word++) {
            float x[3];
            assert_int_equal(fmt_encode_value(c, word, false, x), FMT_CELL_KNOWN);
            mean += share[word] * (double)x[entry];
            square += share[word] * (double)x[entry] * (double)x[entry];
        }
        variance += square - mean * mean;
    }
    assert_true(fabs(variance - 1) < 0.01); /* its scale has three digits */
    fmt_inference_free(&found);
}

static void faults_of_a_model_table_have_their_sentences(void **state)
{
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"a,b\n", "t.csv: has a header, but no rows"},
        {"a,b\n1,2\n3\n", "t.csv: line 3 has 1 values, but line 1 has 2"},
        {"a,b,a\n1,2,3\n", "t.csv: line 1: columns 1 and 3 are both called 'a'"},
        {"a,b\n1,2\n3,\"4\n5,6\n", "t.csv: line 3, column 2: a quote is opened and never closed"},
        {"a,b\n1,\"2\"3\n", "t.csv: line 2, column 2: something follows the closing quote"},
        {"a;b\n1,5;2\n2.5;3\n", "t.csv: line 3, column 1 (a) is '2.5', but other numbers have a decimal comma"},
        {"a,b\r1,2\r", "t.csv: line 1, column 2 has a carriage return in it (lines end with LF or CRLF)"},
        {"w\nx\ny\n", "t.csv: there is no column to learn"},
        {"n\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nmany\n",
         "t.csv: line 13, column 1 (n) is 'many', no number as the others are (--missing 'many' if it means missing; "
         "--column 'n:category' or --ignore 'n' otherwise)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        infer_fails(cases[i].text, cases[i].sentence);
}

/* ---- cells */

static void every_word_for_missing_is_missing_in_any_case(void **state)
{
    static const char *const words[] = {"",     "NA",   "n/a", "N/A", "#N/A", "NaN", "nan",  "null",
                                        "NULL", "None", "?",   "-",   ".",    " ",   "<NA>", "gone"};
    fmt_schema schema = {0};
    fmt_style style = {.separator = ','};
    const fmt_column number = {.kind = FMT_NUMBER, .scale = 1, .size = 1};
    float x = 7;
    (void)state;
    assert_int_equal(fmt_encode_text(&schema, &number, "gone", 4, &style, &x), FMT_CELL_WORD);
    assert_int_equal(fmt_schema_add_missing(&schema, "Gone"), BPCN_OK);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_int_equal(fmt_encode_text(&schema, &number, words[i], strlen(words[i]), &style, &x), FMT_CELL_MISSING);
        assert_true(x == 0);
    }
    assert_int_equal(fmt_encode_text(&schema, &number, "nobody", 6, &style, &x), FMT_CELL_WORD);
    assert_int_equal(fmt_encode_text(&schema, &number, "-1", 2, &style, &x), FMT_CELL_KNOWN);
    fmt_schema_free(&schema);
}

static void cells_that_do_not_fit_are_told_apart(void **state)
{
    char *words[] = {"red", "green"};
    const fmt_column number = {.kind = FMT_NUMBER, .centre = 10, .scale = 2, .size = 1},
                     plain = {.kind = FMT_VECTOR, .scale = 1, .size = 1},
                     colour = {.kind = FMT_CATEGORY, .centre = 0.5, .scale = 0.5, .size = 2, .words = {2, words}};
    fmt_style style = {.separator = ';'}, clip = {.separator = ';', .clip = true};
    float x[2];
    (void)state;
    assert_int_equal(fmt_encode_text(NULL, &number, "210", 3, &style, x), FMT_CELL_KNOWN);
    assert_true(x[0] == 100);
    assert_int_equal(fmt_encode_text(NULL, &number, "1e14", 4, &style, x), FMT_CELL_FAR);
    assert_int_equal(fmt_encode_text(NULL, &number, "-inf", 4, &style, x), FMT_CELL_FAR);
    assert_int_equal(fmt_encode_text(NULL, &number, "-1e14", 5, &clip, x), FMT_CELL_KNOWN);
    assert_true(x[0] == -8);
    assert_int_equal(fmt_encode_text(NULL, &plain, "1e16", 4, &clip, x), FMT_CELL_FAR);
    assert_int_equal(fmt_encode_text(NULL, &number, "0x10", 4, &style, x), FMT_CELL_WORD);
    assert_int_equal(fmt_encode_text(NULL, &number, "12,5", 4, &style, x), FMT_CELL_KNOWN);
    assert_true(x[0] == 1.25f);
    assert_int_equal(fmt_encode_text(NULL, &number, "12.5", 4, &style, x), FMT_CELL_COMMA);
    assert_int_equal(fmt_encode_text(NULL, &colour, "blue", 4, &style, x), FMT_CELL_UNSEEN);
    assert_true(x[0] == 0 && x[1] == 0);
    assert_int_equal(fmt_encode_text(NULL, &colour, "green", 5, &style, x), FMT_CELL_KNOWN);
    assert_true(x[0] == -1 && x[1] == 1);
    assert_int_equal(fmt_encode_value(&colour, 2, false, x), FMT_CELL_UNSEEN);
}

/* To a thousandth of the scale: half of that is the most that is lost, and nothing that the decimals show. */
static void what_is_encoded_is_decoded_to_a_thousandth_of_the_scale(void **state)
{
    static const struct {
        double centre, scale;
        const char *in, *out;
    } cases[] = {
        {37, 13.6, "42", "42"},         {101325, 40, "101300.25", "101300.25"},
        {0, 1, "-0.0001", "0"},         {0.5, 0.2, "0.66666", "0.6667"},
        {0, 1e6, "123456", "123456"},   {0, 1e-20, "2.5e-20", "2.5e-20"},
        {0, 1e20, "2.5e20", "2.5e+20"}, {-3, 0.1, "-3.05", "-3.05"},
    };
    char text[FMT_CELL_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const fmt_column c = {.kind = FMT_NUMBER, .centre = cases[i].centre, .scale = cases[i].scale, .size = 1};
        fmt_style style = {.separator = ',', .decimal = '.'};
        float x;
        double back;
        assert_int_equal(fmt_encode_text(NULL, &c, cases[i].in, strlen(cases[i].in), &style, &x), FMT_CELL_KNOWN);
        fmt_decode_text(&c, &x, &style, text, sizeof text);
        assert_string_equal(text, cases[i].out);
        assert_true(fmt_parse_number(text, strlen(text), '.', &back));
        assert_true(fabs(back - strtod(cases[i].in, NULL)) <= 5.1e-4 * cases[i].scale);
    }
}

static void words_are_quoted_where_they_must_be(void **state)
{
    static const char *const cases[][2] = {{"plain", "plain"},  {"a,b", "\"a,b\""}, {"say \"x\"", "\"say \"\"x\"\"\""},
                                           {"", "\"\""},        {"a;b", "a;b"},     {" a", "\" a\""},
                                           {"a\nb", "\"a\nb\""}};
    char text[FMT_CELL_ROOM];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fmt_quote(cases[i][0], ',', text, sizeof text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void cells_do_not_heed_the_locale(void **state)
{
    const fmt_column c = {.kind = FMT_NUMBER, .scale = 1, .size = 1};
    fmt_style style = {.separator = ',', .decimal = '.'};
    char text[FMT_CELL_ROOM];
    float x;
    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        print_message("no German locale here: only the C locale is tried\n");
    assert_int_equal(fmt_encode_text(NULL, &c, "1.5", 3, &style, &x), FMT_CELL_KNOWN);
    fmt_decode_text(&c, &x, &style, text, sizeof text);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "1.5");
}

/* ---- columns in their own writing */

/* A column of these cells, `times` over, as it is inferred; the names of the others are b, of one cell 1. */
static void infer_column(char separator, const char *const *cells, size_t count, size_t times, fmt_inference *found)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fprintf(out, "a%cb\n", separator);
    for (size_t n = 0; n < times; n++)
        for (size_t i = 0; i < count; i++)
            fprintf(out, "\"%s\"%c%zu.5\n", cells[i], separator, n % 7);
    fclose(out);
    if (infer(text, NULL, 0, found) != BPCN_OK)
        fail_msg("%s", bpcn_error());
    free(text);
}

static void fills_come_back_in_the_columns_own_writing(void **state)
{
    static const struct {
        char separator;
        const char *cells[3]; /* low, high, and one that must come back as it is */
        char decimal;
    } cases[] = {
        {',', {"1", "90", "42"}, '.'},
        {',', {"-3", "12", "0"}, '.'},
        {',', {"1.0", "9.0", "4.0"}, '.'},
        {',', {"1.50", "19.25", "7.70"}, '.'},
        {',', {"$3.20", "$1,124.10", "$950.00"}, '.'},
        {',', {"-$3.20", "$124.10", "-$1.00"}, '.'},
        {',', {"EUR 5", "EUR 1,000", "EUR 250"}, '.'},
        {',', {"5%", "90%", "12%"}, '.'},
        {',', {"1.5 kg", "9.5 kg", "2.5 kg"}, '.'},
        {';', {"0,5", "1.234,5", "17,5"}, ','},
        {';', {"3,20 \xE2\x82\xAC", "34.567,10 \xE2\x82\xAC", "12.345,00 \xE2\x82\xAC"}, ','},
        {';', {"1'000", "12'345'678", "345'678"}, '.'},
        {';', {"1 000,5", "12 345,5", "7 777,5"}, ','},
        {',', {"2023-01-31", "2024-12-01", "2024-02-29"}, '.'},
        {',', {"31/1/2023", "1/12/2024", "9/2/2024"}, '.'},
        {',', {"01/31/2023", "12/01/2024", "02/29/2024"}, '.'},
        {';', {"31.01.2023", "01.12.2024", "29.02.2024"}, '.'},
        {',', {"31-Jan-23", "01-Dec-24", "29-Feb-24"}, '.'},
        {',', {"Jan 31, 2023", "Dec 1, 2024", "Feb 29, 2024"}, '.'},
        {',', {"20230131", "20241201", "20240229"}, '.'},
        {',', {"2023-01-31T08:05:00Z", "2023-02-01T18:00:00Z", "2023-01-31T23:59:59Z"}, '.'},
        {',', {"08:05", "17:30", "12:00"}, '.'},
        {',', {"8:05 AM", "5:30 PM", "12:00 PM"}, '.'},
        {',', {"00:10", "23:50", "12:34"}, '.'},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fmt_inference found;
        char text[FMT_CELL_ROOM];
        float x[3] = {0};
        infer_column(cases[i].separator, cases[i].cells, 3, 12, &found);
        const fmt_column *c = fmt_schema_find(&found.schema, "a", 1);
        assert_non_null(c);
        assert_int_equal(c->kind, FMT_NUMBER);
        fmt_style style = {.separator = '\t', .decimal = cases[i].decimal};
        for (size_t k = 0; k < 3; k++) {
            const char *cell = cases[i].cells[k];
            assert_int_equal(fmt_encode_text(&found.schema, c, cell, strlen(cell), &style, x), FMT_CELL_KNOWN);
            fmt_decode_text(c, x, &style, text, sizeof text);
            assert_string_equal(text, cell);
        }
        if (c->notation.period == 0) { /* never outside what was seen, unless asked */
            x[0] = 50;
            fmt_decode_text(c, x, &style, text, sizeof text);
            assert_string_equal(text, cases[i].cells[1]);
            style.beyond = true;
            fmt_decode_text(c, x, &style, text, sizeof text);
            assert_string_not_equal(text, cases[i].cells[1]);
        }
        fmt_inference_free(&found);
    }
}

static void numbers_are_read_as_strtod_reads_them(void **state)
{
    unsigned long long x = 88172645463325252ULL;
    char text[64];
    (void)state;
    for (int i = 0; i < 20000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17; /* xorshift */
        int places = (int)(x % 9);
        double value, sign = x & 512 ? -1 : 1;
        snprintf(text, sizeof text, "%.*f", places, sign * (double)(x >> 20) / pow(10, (double)(x >> 10 & 15)));
        assert_true(fmt_parse_number(text, strlen(text), '.', &value));
        assert_true(value == strtod(text, NULL));
    }
}

/* Independent: the C library's calendar. */
static void dates_agree_with_the_calendar(void **state)
{
    static const char *const patterns[][2] = {{"YYYY-MM-DD", "%Y-%m-%d"},
                                              {"DD.MM.YYYY hh:mm:ss", "%d.%m.%Y %H:%M:%S"},
                                              {"DD Mon YYYY", "%d %b %Y"},
                                              {"Month DD, YYYY hh:mm AM", "%B %d, %Y %I:%M %p"}};
    char text[80], back[80];
    (void)state;
    for (long day = -25567; day < 60000; day += 37)
        for (size_t p = 0; p < 4; p++) {
            time_t seconds = (time_t)day * 86400 + (p % 2 ? 86400 - 60 * (day % 7 + 1) : 0);
            struct tm tm;
            double value;
            assert_non_null(gmtime_r(&seconds, &tm));
            assert_true(strftime(text, sizeof text, patterns[p][1], &tm) > 0);
            assert_true(fmt_date_parse(patterns[p][0], text, strlen(text), &value));
            assert_true(fabs(value - (double)seconds / 86400) < 1e-6); /* a tenth of a second */
            fmt_date_print(patterns[p][0], value, back, sizeof back);
            assert_string_equal(back, text);
        }
    double value;
    assert_false(fmt_date_parse("YYYY-MM-DD", "2023-02-29", 10, &value));
    assert_false(fmt_date_parse("hh:mm", "24:00", 5, &value));
    assert_false(fmt_pattern_good("YYYY-MM") || fmt_pattern_good("mm") || fmt_pattern_good("DD/MM/YYYY hh"));
}

static const fmt_finding *finding_of(const fmt_inference *found, fmt_finding_kind kind)
{
    for (size_t i = 0; i < found->finding_count; i++)
        if (found->finding[i].kind == kind)
            return &found->finding[i];
    return NULL;
}

static void a_date_that_could_be_two_is_named(void **state)
{
    static const char *const both[] = {"03/04/2024", "05/06/2024", "11/12/2024"}, *const one[] = {"03/04/2024",
                                                                                                  "05/16/2024",
                                                                                                  "11/12/2024"};
    fmt_inference found;
    (void)state;
    infer_column(',', both, 3, 5, &found);
    const fmt_finding *f = finding_of(&found, FMT_FOUND_DAY_OR_MONTH);
    assert_non_null(f);
    assert_string_equal(f->word, "DD/MM/YYYY");
    assert_string_equal(f->other, "MM/DD/YYYY");
    fmt_inference_free(&found);
    infer_column(',', one, 3, 5, &found);
    assert_null(finding_of(&found, FMT_FOUND_DAY_OR_MONTH));
    assert_string_equal(found.schema.column[0].notation.pattern, "MM/DD/YYYY");
    fmt_inference_free(&found);
}

static void midnight_is_near_midnight(void **state)
{
    static const char *const cells[] = {"00:00", "06:00", "12:00", "18:00", "23:50"};
    fmt_inference found;
    fmt_style style = {.separator = ','};
    float late[2], early[2], noon[2];
    (void)state;
    infer_column(',', cells, 5, 5, &found);
    const fmt_column *c = &found.schema.column[0];
    assert_true(c->size == 2 && c->notation.period == 24);
    fmt_encode_text(&found.schema, c, "23:50", 5, &style, late);
    fmt_encode_text(&found.schema, c, "00:00", 5, &style, early);
    fmt_encode_text(&found.schema, c, "12:00", 5, &style, noon);
    assert_true(hypotf(late[0] - early[0], late[1] - early[1]) < 0.1f &&
                hypotf(noon[0] - early[0], noon[1] - early[1]) > 2.8f);
    fmt_inference_free(&found);
}

/* The rule for words that often mean missing (docs/TABLES.md). */
static void a_common_word_is_not_missing(void **state)
{
    static const struct {
        const char *word, *others[4];
        size_t count, each;
        bool missing;
    } cases[] = {
        {"None", {"brick", "stone", "wood", "clay"}, 281, 27, false}, /* 281 of 388 */
        {"None", {"brick", "stone", "wood", "clay"}, 20, 100, true},
        {"NA", {"AO", "BW", "ZA", "MZ"}, 1, 100, false}, /* Namibia */
        {"NA", {"Angola", "Botswana", "Zambia", "Malawi"}, 5, 100, true},
        {"?", {"a", "b", "c", "d"}, 100, 100, true}, /* signs are no words */
        {"?", {"a", "b", "c", "d"}, 900, 100, false},
        {"", {"a", "b", "c", "d"}, 4000, 100, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t size;
        fmt_inference found;
        fmt_style style = {.separator = ','};
        float x[8];
        FILE *out = open_memstream(&text, &size);
        fprintf(out, "w,n\n");
        for (size_t k = 0; k < cases[i].count; k++)
            fprintf(out, "%s,1.5\n", cases[i].word);
        for (size_t k = 0; k < 4 * cases[i].each; k++)
            fprintf(out, "%s,2.5\n", cases[i].others[k % 4]);
        fclose(out);
        assert_int_equal(infer(text, NULL, 0, &found), BPCN_OK);
        const fmt_column *c = &found.schema.column[0];
        fmt_cell_state is = fmt_encode_text(&found.schema, c, cases[i].word, strlen(cases[i].word), &style, x);
        assert_int_equal(is, cases[i].missing ? FMT_CELL_MISSING : FMT_CELL_KNOWN);
        const fmt_finding *f = finding_of(&found, cases[i].missing ? FMT_FOUND_MISSING : FMT_FOUND_WORD);
        assert_non_null(f);
        assert_int_equal(f->cells, cases[i].count);
        fmt_inference_free(&found);
        free(text);
    }
}

static void a_sentinel_is_unknown_and_stays(void **state)
{
    static const char *const cold[] = {"-999", "12.5", "-20.5", "40.0", "3.5"},
                             *const old[] = {"99", "12", "85", "97", "100"},
                             *const day[] = {"1900-01-01", "2023-04-05", "2024-05-06", "2024-07-08", "2023-01-02"};
    fmt_inference found;
    fmt_style style = {.separator = ','};
    float x;
    (void)state;
    infer_column(',', cold, 5, 10, &found);
    const fmt_column *c = &found.schema.column[0];
    assert_int_equal(fmt_encode_text(&found.schema, c, "-999", 4, &style, &x), FMT_CELL_KEPT);
    assert_int_equal(fmt_encode_text(&found.schema, c, "-999.0", 6, &style, &x), FMT_CELL_KEPT);
    assert_true(c->notation.low == -20.5 && c->scale < 30);
    assert_int_equal(finding_of(&found, FMT_FOUND_SENTINEL)->cells, 10);
    fmt_inference_free(&found);
    infer_column(',', old, 5, 10, &found); /* an age of 99 is none */
    assert_int_equal(fmt_encode_text(&found.schema, &found.schema.column[0], "99", 2, &style, &x), FMT_CELL_KNOWN);
    assert_null(finding_of(&found, FMT_FOUND_SENTINEL));
    fmt_inference_free(&found);
    infer_column(',', day, 5, 10, &found);
    c = &found.schema.column[0];
    assert_int_equal(fmt_encode_text(&found.schema, c, day[0], 10, &style, &x), FMT_CELL_KEPT);
    assert_true(c->notation.low > 19000);
    fmt_inference_free(&found);
}

static void codes_and_ids_are_no_numbers(void **state)
{
    char *text = NULL;
    size_t size;
    fmt_inference found;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    fprintf(out, "row,order_id,zip,year,x\n");
    for (int i = 0; i < 100; i++)
        fprintf(out, "%d,%d,%s,%d,%d\n", i + 1, 7000 + 13 * i, i % 2 ? "02139" : "10001", 1900 + i, i * i % 17);
    fclose(out);
    assert_int_equal(infer(text, NULL, 0, &found), BPCN_OK);
    assert_int_equal(found.schema.ignored_count, 2);
    assert_string_equal(found.reason.word[0], "it counts the rows");
    assert_string_equal(found.reason.word[1], "every number is another: like an id");
    assert_int_equal(found.schema.column[0].kind, FMT_CATEGORY);
    assert_string_equal(found.schema.column[0].words.word[0], "02139");
    assert_int_equal(found.schema.column[1].kind, FMT_NUMBER);
    fmt_inference_free(&found);
    free(text);
}

static void ordered_words_keep_their_order(void **state)
{
    char *words[] = {"small", "medium", "large"};
    const fmt_wish wish = {.name = "a", .kind = FMT_ORDERED, .words = {3, words}};
    fmt_inference found;
    fmt_style style = {.separator = ','};
    char text[FMT_CELL_ROOM];
    float x[3];
    (void)state;
    assert_int_equal(infer("a\nlarge\nsmall\nmedium\nsmall\nlarge\n", &wish, 1, &found), BPCN_OK);
    const fmt_column *c = &found.schema.column[0];
    assert_true(c->size == 1);
    for (size_t k = 0; k < 3; k++) {
        assert_int_equal(fmt_encode_text(&found.schema, c, words[k], strlen(words[k]), &style, &x[k]), FMT_CELL_KNOWN);
        fmt_decode_text(c, &x[k], &style, text, sizeof text);
        assert_string_equal(text, words[k]);
    }
    assert_true(x[0] < x[1] && x[1] < x[2]);
    fmt_inference_free(&found);
    assert_int_equal(infer("a\nlarge\nhuge\n", &wish, 1, &found), BPCN_INVALID);
    assert_string_equal(bpcn_error(), "t.csv: column 1 (a) has the word 'huge', which is not in the order given");
}

static void text_that_is_no_utf8_is_read_or_refused_by_name(void **state)
{
    fmt_inference found;
    (void)state;
    assert_int_equal(infer("stra\xDF"
                           "e,n\nH\xE4user,1\nH\xE4user,2\n\x80,3\n\x80,4\n",
                           NULL, 0, &found),
                     BPCN_OK);
    assert_true(found.latin1);
    assert_string_equal(found.schema.column[0].name, "stra\xC3\x9F"
                                                     "e");
    assert_string_equal(found.schema.column[0].words.word[0], "H\xC3\xA4user");
    assert_string_equal(found.schema.column[0].words.word[1], "\xE2\x82\xAC");
    char back[40];
    assert_true(fmt_to_latin1(found.schema.column[0].words.word[1], back, sizeof back));
    assert_string_equal(back, "\x80");
    assert_false(fmt_to_latin1("\xE4\xB8\xAD", back, sizeof back));
    fmt_inference_free(&found);
    infer_fails("a,b\n\xC3\xA4,1\nx,\xE4\n",
                "t.csv: line 3, column 2: the byte 0xE4 is no UTF-8, as the text before it is");
    infer_fails("\xFF\xFE"
                "a",
                "t.csv: is text in UTF-16 (iconv -f UTF-16 -t UTF-8 makes it UTF-8)");
}

/* ---- its text */

static void a_schema_survives_its_text(void **state)
{
    static const char text[] =
        "missing=-999\tn.d.\ncolumns=7\nrow%09id\tignored\nage\tnumber\t37\t13.6\n"
        "c%3Dx\tcategory\t0.5\t0.71\tK\xC3\xB6ln\t50%25\nface\tpicture\t4x2x3\npoint\tvector\t3\n"
        "\tignored\nlast\tignored\n";
    fmt_schema schema;
    (void)state;
    assert_int_equal(fmt_schema_parse(text, &schema), BPCN_OK);
    assert_true(schema.count == 4 && schema.dim == 1 + 2 + 24 + 3 && schema.cells == 1 + 1 + 24 + 3);
    assert_string_equal(schema.column[1].name, "c=x");
    assert_string_equal(schema.column[1].words.word[1], "50%");
    assert_string_equal(schema.ignored[0].name, "row\tid");
    assert_true(schema.ignored[0].place == 0 && schema.ignored[1].place == schema.cells);
    char *again = fmt_schema_format(&schema);
    assert_string_equal(again, text);
    free(again);
    fmt_schema_free(&schema);
}

static void a_notation_survives_its_text(void **state)
{
    static const char text[] =
        "schema=2\ndecimal=,\ncolumns=5\n"
        "price\tnumber\t37\t13.6\tfixed=2\tgroup=.\tprefix=$\tlow=0.5\thigh=1124.1\tkept=-999\tkept=ERR\n"
        "share\tnumber\t50\t20\tdecimals=1\twhole=1\tsuffix= %25\n"
        "when\tnumber\t19000\t30\tdate=YYYY-MM-DD hh:mm\tperiod=1\ttrend=1\n"
        "size\tordered\t1\t0.7\tsmall\tmedium\tlarge\ncity\tcategory\t0.5\t0.71\tBonn\tNone\n";
    fmt_schema schema;
    (void)state;
    assert_int_equal(fmt_schema_parse(text, &schema), BPCN_OK);
    assert_true(schema.dim == 1 + 1 + 3 + 1 + 2 && schema.cells == 5 && schema.column[0].kept.count == 2);
    char *again = fmt_schema_format(&schema);
    assert_string_equal(again, text);
    free(again);
    fmt_schema_free(&schema);
}

static void the_short_form_of_pictures_and_vectors_stays(void **state)
{
    fmt_schema schema;
    (void)state;
    assert_int_equal(fmt_schema_parse("fullness=0.5\nfields=image:28x28,label:10\nprobes=3\n", &schema), BPCN_OK);
    assert_true(schema.count == 2 && schema.dim == 794 && !fmt_schema_is_table(&schema));
    char *again = fmt_schema_format(&schema);
    assert_string_equal(again, "fields=image:28x28,label:10\n");
    free(again);
    fmt_schema_free(&schema);
    assert_int_equal(fmt_schema_parse("hello\n", &schema), BPCN_OK);
    assert_int_equal(schema.count, 0);
    fmt_schema_free(&schema);
}

static void a_damaged_text_is_refused(void **state)
{
    static const char *const bad[] = {"columns=2\na\tnumber\t0\t1\n",
                                      "columns=1\na\tnumber\t0\t0\n",
                                      "columns=1\na\tnumber\t0\tnan\n",
                                      "columns=1\na\tnumber\t0\n",
                                      "columns=1\na\tcolour\t0\t1\n",
                                      "columns=1\na\tcategory\t0\t1\n",
                                      "columns=1\na\tnumber\t0\t1\t2\n",
                                      "columns=1\na\tvector\t4x4\n",
                                      "columns=2\na\tvector\t3\na\tvector\t3\n",
                                      "fields=a:0\n",
                                      "columns=1\na\tvector\t3",
                                      "columns=1\na\tpicture\t70000x70000x3\n",
                                      "schema=3\ncolumns=1\na\tnumber\t0\t1\n",
                                      "columns=1\na\tnumber\t0\t1\tnew=1\n",
                                      "columns=1\na\tnumber\t0\t1\tlow=1\n",
                                      "columns=1\na\tnumber\t0\t1\tlow=2\thigh=1\n",
                                      "columns=1\na\tnumber\t0\t1\tlow=1\thigh=nan\n",
                                      "columns=1\na\tnumber\t0\t1\tdecimals=18\n",
                                      "columns=1\na\tnumber\t0\t1\tdecimals=-1\n",
                                      "columns=1\na\tnumber\t0\t1\tgroup=x\n",
                                      "columns=1\na\tnumber\t0\t1\tprefix=\n",
                                      "columns=1\na\tnumber\t0\t1\tprefix=a prefix of many bytes\n",
                                      "columns=1\na\tnumber\t0\t1\tdate=MM\n",
                                      "columns=1\na\tnumber\t0\t1\tperiod=1e-300\n",
                                      "columns=1\na\tnumber\t0\t1\ttrend=1\n",
                                      "columns=1\na\tordered\t0\t1\n",
                                      "columns=1\na\tcategory\t0\t1\tx\tlow=1\thigh=2\n",
                                      "columns=1\na\tnumber\t0\t1\tkept=1\tkept=2\tkept=3\tkept=4\tkept=5\tkept=6\t"
                                      "kept=7\tkept=8\tkept=9\n"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fmt_schema schema;
        assert_int_not_equal(fmt_schema_parse(bad[i], &schema), BPCN_OK);
        assert_true(bpcn_error()[0] != '\0' && schema.column == NULL);
    }
}

/* ---- records */

static void records_give_the_bytes_back(void **state)
{
    static const char *const files[] = {"\xEF\xBB\xBF"
                                        "a,b\r\n1,2\r\n",
                                        "a;b\n\n \n\"x;\"\"y\nz\" ; 2\n\n", "a\tb\n\t\n1\t2", "sep=;\na,b;c\n1;2\n",
                                        " 1 , 2\n3,4 \n"};
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *in = fmemopen((void *)(uintptr_t)files[i], strlen(files[i]), "rb");
        char out[200] = "";
        size_t used = 0;
        fmt_records *records;
        fmt_record r = {.count = 1};
        assert_int_equal(fmt_records_open(in, "t", 0, &records), BPCN_OK);
        while (r.count > 0) {
            assert_int_equal(fmt_records_next(records, &r), BPCN_OK);
            used +=
                (size_t)snprintf(out + used, sizeof out - used, "%.*s", (int)r.before_size, r.before ? r.before : "");
            for (size_t k = 0; k < r.count; k++) {
                char before[2] = {k > 0 ? fmt_records_separator(records) : '\0', '\0'};
                used += (size_t)snprintf(out + used, sizeof out - used, "%s%.*s", before, (int)r.cell[k].raw_size,
                                         r.cell[k].raw);
            }
            used +=
                (size_t)snprintf(out + used, sizeof out - used, "%.*s", (int)r.ending_size, r.ending ? r.ending : "");
        }
        assert_string_equal(out, files[i]);
        fmt_records_close(records);
        fclose(in);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LAW(numbers_of_every_shape_become_about_one),
        LAW(one_value_in_fifty_cannot_move_the_scale_far),
        LAW(constants_and_rare_exceptions_have_a_scale),
        LAW(kinds_are_found_and_unlearnable_columns_said),
        LAW(what_is_said_of_a_column_counts),
        LAW(a_category_varies_as_much_as_a_number),
        LAW(faults_of_a_model_table_have_their_sentences),
        LAW(every_word_for_missing_is_missing_in_any_case),
        LAW(cells_that_do_not_fit_are_told_apart),
        LAW(what_is_encoded_is_decoded_to_a_thousandth_of_the_scale),
        LAW(words_are_quoted_where_they_must_be),
        LAW(cells_do_not_heed_the_locale),
        LAW(fills_come_back_in_the_columns_own_writing),
        LAW(numbers_are_read_as_strtod_reads_them),
        LAW(dates_agree_with_the_calendar),
        LAW(a_date_that_could_be_two_is_named),
        LAW(midnight_is_near_midnight),
        LAW(a_common_word_is_not_missing),
        LAW(a_sentinel_is_unknown_and_stays),
        LAW(codes_and_ids_are_no_numbers),
        LAW(ordered_words_keep_their_order),
        LAW(text_that_is_no_utf8_is_read_or_refused_by_name),
        LAW(a_schema_survives_its_text),
        LAW(a_notation_survives_its_text),
        LAW(the_short_form_of_pictures_and_vectors_stays),
        LAW(a_damaged_text_is_refused),
        LAW(records_give_the_bytes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
