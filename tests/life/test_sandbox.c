/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox that answers system calls in a handler of SIGSYS: one that is held off would
 * kill the program, whatever handler it has.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "life/life.h"

static volatile sig_atomic_t asked;

void setUp(void)
{
	test_dir_make();
}

void tearDown(void)
{
	test_dir_remove();
}

/* The call returns whatever is in the register: not what the kernel would say. */
static void on_call(int number)
{
	(void)number;
	asked++;
}

/* False where there is no such thing. */
static bool sandbox_enter(long call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(filter[0]),
		.filter = filter };
	struct sigaction action = { .sa_handler = on_call };

	return !sigaction(SIGSYS, &action, NULL) &&
		!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
		!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Which a start calls, for the name, and can do without. */
static void record_inside(void)
{
	struct ttmem_status status = { .size = sizeof(status) };

	if (!sandbox_enter(SYS_getrandom))
		return;
	ttmem_alloc(0, TTMEM_DRAM, 1, 0, 10);
	expect(asked > 0);
	expect(ttmem_status(&status) == 0);
	expect(status.state == TTMEM_STATE_ON);
}

static void test_its_handler_is_called(void)
{
	life_run(record_inside);
}

int main(void)
{
	UNITY_BEGIN();
	RUN_TEST(test_its_handler_is_called);
	return UNITY_END();
}
