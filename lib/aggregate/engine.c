/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> [drain -> apply -> publish] -> read -> render */
/* A stand-in: retires the dead, publishes nothing. */
#include "aggregate/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shm/atomics.h"

struct ttm_engine {
	struct ttm_engine_config config;
	int stop_fd;
};

int ttm_engine_new(
	const struct ttm_engine_config *config, struct ttm_engine **ret_engine)
{
	struct ttm_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return -ENOMEM;
	engine->config = *config;
	engine->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*ret_engine = engine;
	return 0;
}

static void engine_round(struct ttm_engine *engine)
{
	struct ttm_registry *registry = engine->config.registry;
	struct ttm_attached *attached;
	struct ttm_cursor cursor;
	uint64_t count;
	ssize_t n = read(registry->wake_fd, &count, sizeof(count));

	(void)n;
	rcu_read_lock();
	ttm_registry_for_each(registry, &cursor, attached)
	{
		/* pairs(fate): acquire, with ttm_liveness_check */
		if (ttm_load_acquire(&attached->fate) != TTM_FATE_DEAD)
			continue;
		unlinkat(attached->directory->fd, attached->name, 0);
		ttm_registry_remove(registry, attached);
	}
	rcu_read_unlock();
}

int ttm_engine_first(struct ttm_engine *engine)
{
	engine_round(engine);
	return 0;
}

int ttm_engine_run(struct ttm_engine *engine)
{
	struct pollfd fds[2] = { { engine->stop_fd, POLLIN, 0 },
		{ engine->config.registry->wake_fd, POLLIN, 0 } };

	rcu_register_thread();
	while (poll(fds, 2, -1) >= 0 && !fds[0].revents)
		engine_round(engine);
	rcu_unregister_thread();
	return 0;
}

void ttm_engine_stop(struct ttm_engine *engine)
{
	static const uint64_t one = 1;
	ssize_t n = write(engine->stop_fd, &one, sizeof(one));

	(void)n;
}

void ttm_engine_free(struct ttm_engine **engine)
{
	if (!*engine)
		return;
	close((*engine)->stop_fd);
	free(*engine);
	*engine = NULL;
}
