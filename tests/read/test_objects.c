/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects are read one by one out of the text. With their key written otherwise they
 * are read as a part of the document: whatever they look like, both are the same.
 */
#include <stdlib.h>

#include "read/compare.h"
#include "read/read.h"

#define HEAD "{\"schema_version\":2,\"processes\":[{},{}],\"places\":[{}],"
#define PLAIN "\"objects\""
#define OTHERWISE "\"\\u006fbjects\""

static struct ttmem_snapshot *one, *other;
static char one_error[TTMEM_PARSE_ERROR_SIZE];
static char other_error[TTMEM_PARSE_ERROR_SIZE];

void setUp(void)
{
}

void tearDown(void)
{
	ttmem_snapshot_free(&one);
	ttmem_snapshot_free(&other);
}

static int parse(const char *text, size_t size,
	struct ttmem_snapshot **ret_snapshot, char *ret_error)
{
	char *exact = malloc(size ? size : 1); /* nothing behind its end */
	int r;

	ret_error[0] = '\0';
	memcpy(exact, text, size);
	r = ttmem_snapshot_parse(exact, size, ret_snapshot, ret_error);
	free(exact);
	return r;
}

/* Returns what both return. */
static int parse_both(const char *plain, size_t plain_size,
	const char *otherwise, size_t otherwise_size)
{
	int r;

	tearDown();
	r = parse(plain, plain_size, &one, one_error);
	TEST_ASSERT_EQUAL_INT_MESSAGE(
		parse(otherwise, otherwise_size, &other, other_error), r,
		plain);
	TEST_ASSERT_TRUE_MESSAGE(r == 0 || one_error[0], plain);
	if (r == 0)
		snapshots_equal(other, one);
	else if (strncmp(other_error, "column ", 7) != 0)
		TEST_ASSERT_EQUAL_STRING(other_error, one_error);
	else
		TEST_ASSERT_EQUAL_STRING_LEN("column ", one_error, 7);
	return r;
}

static int parse_objects(
	const char *before, const char *objects, const char *behind)
{
	char plain[2048], otherwise[2048];

	snprintf(plain, sizeof(plain), "%s" PLAIN ":%s%s", before, objects,
		behind);
	snprintf(otherwise, sizeof(otherwise), "%s" OTHERWISE ":%s%s", before,
		objects, behind);
	return parse_both(plain, strlen(plain), otherwise, strlen(otherwise));
}

#define ROW                                                                    \
	"{\"process\":1,\"place\":0,\"live_place\":null,\"figure\":\"l1\","    \
	"\"leak_class\":\"live\",\"orphaned\":false,\"persistent\":true,"      \
	"\"borrowed\":null,\"bytes\":118912,\"size\":0,\"cores\":null,"        \
	"\"id\":\"0xffffffffffffffff\",\"address\":\"0x1222c0\","              \
	"\"allocated_ns\":123456789012345678,\"age_ns\":1,\"stack\":0,"        \
	"\"scope\":\"ttnn.matmul [x] {y}, z\"}"

/* Longer than any that there has ever been. */
#define LONG_NAME                                                              \
	"l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1_l1"

static const char *const right[] = {
	"[]",
	"[ \t]",
	"[" ROW "]",
	"[" ROW "," ROW "]",
	"[ " ROW " ,\n" ROW "\r]",
	"[" ROW ",{}," ROW "]",
	"[{},{}]",
	"[{\"bytes\":7},{\"scope\":\"\"},{\"process\":0}]",
	"[{\"size\":7,\"bytes\":8}]",
	"[{ \"bytes\" : 7 , \"size\" : 8 }]",
	"[{\"scope\":\"\\u001b[2J \\\"]}\\\\\"},{\"scope\":\"]\\\"[\"}]",
	"[{\"scope\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"}]",
	"[{\"new\":[\"]\",\"\\\"}\",{\"a\":[1,2]}],\"bytes\":5}," ROW "]",
	"[{\"bytes\":5,\"new\":1}," ROW "]",
	"[{\"figure\":\"of another version\"}]",
	"[{\"figure\":\"" LONG_NAME "\"}]",
	"[{\"bytes\":999999999999999999},{\"bytes\":9223372036854775807}]",
	"[{\"id\":\"0xAbCdEf\"},{\"id\":\"0x0\"}]",
};

static const char *const wrong[] = {
	"[1]",
	"[\"x\"]",
	"[null]",
	"[tru]",
	"[[{}]]",
	"[,]",
	"[{},]",
	"[,{}]",
	"[" ROW ",]",
	"[" ROW " " ROW "]",
	"[" ROW "" ROW "]",
	"[" ROW ";" ROW "]",
	"[" ROW "}]",
	"[{\"bytes\":1]",
	"[{\"bytes\":1,}]",
	"[{\"bytes\" 1}]",
	"[{\"bytes\":1 2}]",
	"[{\"bytes\":01}]",
	"[{\"bytes\":-1}]",
	"[{\"bytes\":1.5}]",
	"[{\"bytes\":\"1\"}]",
	"[{\"bytes\":1,\"bytes\":1}]",
	"[{\"new\":1,\"new\":1}]",
	"[{\"bytes\":9223372036854775808}]",
	"[{\"process\":2}]",
	"[{\"place\":1}]",
	"[{\"id\":\"0x\"}]",
	"[{\"id\":\"12\"}]",
	"[{\"id\":\"0x1g\"}]",
	"[{\"id\":\"0x11111111111111111\"}]",
	"[{\"orphaned\":1}]",
	"[{\"figure\":1}]",
	"[{\"scope\":5}]",
	"[{\"scope\":\"a\nb\"}]",
	"[{\"scope\":\"\xff\"}]",
	"[{\"scope\":\"a\\u0000b\"}]",
	"[{\"scope\":\"a}]",
	"[" ROW "]]",
};

static void test_right_ones_are_the_same(void)
{
	size_t i;

	for (i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			0, parse_objects(HEAD, right[i], "}"), right[i]);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0,
			parse_objects(HEAD "\"new\":{\"objects\":[1]},",
				right[i], ",\"marks\":[]} "),
			right[i]);
		TEST_ASSERT_EQUAL_INT_MESSAGE(0,
			parse_objects("\n{", right[i],
				",\"places\":[{}],\"processes\":[{},{}],"
				"\"schema_version\":2}"),
			right[i]);
	}
}

static void test_wrong_ones_are_refused(void)
{
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		TEST_ASSERT_EQUAL_INT_MESSAGE(
			-EPROTO, parse_objects(HEAD, wrong[i], "}"), wrong[i]);
}

static void test_so_is_what_is_wrong_around_them(void)
{
	static const char *const before[] = { HEAD "\"a\":1 ", HEAD "\"a\" ",
		HEAD "5,", HEAD "\"a\":]", HEAD "\"a\":{]", "[", "" };
	static const char *const behind[] = { "", "]", "}}", ",}", ",\"a\":1",
		" \"a\":1}", ",\"objects\":[]}", ",\"\\u006fbjects\":[]}" };
	size_t i;

	for (i = 0; i < sizeof(before) / sizeof(before[0]); i++)
		TEST_ASSERT_EQUAL_INT_MESSAGE(-EPROTO,
			parse_objects(before[i], "[" ROW "]", "}"), before[i]);
	for (i = 0; i < sizeof(behind) / sizeof(behind[0]); i++)
		TEST_ASSERT_EQUAL_INT_MESSAGE(-EPROTO,
			parse_objects(HEAD, "[" ROW "]", behind[i]), behind[i]);
	TEST_ASSERT_EQUAL_INT(-EPROTO, parse_objects(HEAD, "5", "}"));
	TEST_ASSERT_EQUAL_INT(-EPROTO, parse_objects(HEAD, "{}", "}"));
	TEST_ASSERT_EQUAL_INT(0, parse_objects(HEAD, "null", "}"));
}

static void test_faults_are_where_they_are(void)
{
	static const char before[] = HEAD PLAIN ":[" ROW "," ROW ",{\"new\":";
	char text[2048];
	unsigned long column;
	size_t i;

	for (i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "%s%s", before,
			i ? "1}],\"a\":;}" : ";}]}");
		TEST_ASSERT_EQUAL_INT(
			-EPROTO, parse(text, strlen(text), &one, one_error));
		TEST_ASSERT_EQUAL_INT(
			1, sscanf(one_error, "column %lu: ", &column));
		TEST_ASSERT_EQUAL_UINT64(
			(size_t)(strchr(text, ';') - text) + 1, column);
	}
}

/* Every prefix, and every byte replaced. */
static void test_broken_ones_are_the_same(void)
{
	static const char plain[] = HEAD PLAIN ":[" ROW "," ROW "]}";
	static const char otherwise[] = HEAD OTHERWISE ":[" ROW "," ROW "]}";
	static const char with[] = "\"{}[],: 01-nx\\\x01\xff";
	size_t from = strlen(HEAD PLAIN);
	size_t more = strlen(OTHERWISE) - strlen(PLAIN);
	char a[sizeof(plain)], b[sizeof(otherwise)];
	size_t i, w;

	for (i = from; i < sizeof(plain) - 1; i++) {
		TEST_ASSERT_EQUAL_INT(
			-EPROTO, parse_both(plain, i, otherwise, i + more));
		for (w = 0; w < sizeof(with) - 1; w++) {
			memcpy(a, plain, sizeof(a));
			memcpy(b, otherwise, sizeof(b));
			a[i] = b[i + more] = with[w];
			parse_both(a, sizeof(a) - 1, b, sizeof(b) - 1);
		}
	}
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_right_ones_are_the_same);
	RUN_TEST(test_wrong_ones_are_refused);
	RUN_TEST(test_so_is_what_is_wrong_around_them);
	RUN_TEST(test_faults_are_where_they_are);
	RUN_TEST(test_broken_ones_are_the_same);
	return UNITY_END();
}
