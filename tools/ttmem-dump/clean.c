/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "command.h"
#include "common/error.h"

int dump_clean_main(int argc, char **argv)
{
	(void)argc;
	ttm_error("%s: not yet", argv[0]);
	return TTM_EXIT_FAILURE;
}
