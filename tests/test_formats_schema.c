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
                                      "columns=1\na\tpicture\t70000x70000x3\n"};
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
        LAW(a_schema_survives_its_text),
        LAW(the_short_form_of_pictures_and_vectors_stays),
        LAW(a_damaged_text_is_refused),
        LAW(records_give_the_bytes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
