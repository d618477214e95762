/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> [publish] -> read -> render */
/*
 * The aggregate segment: made, written, replaced by a larger one, ended.
 *
 * One thread uses a publisher, with one image. Readers never wait for it, and it
 * never waits for them. Whatever it is killed at, readers see whole publications only.
 */
#ifndef TTM_DAEMON_PUBLISH_H
#define TTM_DAEMON_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/publish/image.h"

struct ttm_publisher;

struct ttm_publisher_config {
	int directory_fd; /* where `aggregate` goes; kept open by the caller */
	uint32_t file_mode; /* 0644, 0640 or 0600 */
	uint32_t group;     /* gid of the file, (uint32_t)-1: leave */
	enum ttm_aggregate_mode mode;
	uint64_t started_ns;       /* of ttmemd */
	uint64_t publication_base; /* the last one of the predecessor, or 0 */
};

/* Makes no file yet. Returns 0 or -ENOMEM. */
int ttm_publisher_new(const struct ttm_publisher_config *config,
	struct ttm_publisher **ret_publisher);

/* The file stays, and says by its lock that nobody writes it any more. */
void ttm_publisher_free(struct ttm_publisher **publisher);

/* Row index + 1 of an object; 0 is none. */
typedef uint32_t ttm_object_ref;

/*
 * Object rows are queued here and written by the next ttm_publish(): between two
 * publications readers see nothing move. `row` is copied; its seq is ignored. add
 * returns 0 when there is no memory. remove gives the row back; it is not used
 * again before the next publication.
 */
ttm_object_ref ttm_objects_add(
	struct ttm_publisher *publisher, const struct ttm_object_row *row);
void ttm_objects_remove(struct ttm_publisher *publisher, ttm_object_ref ref);
uint64_t ttm_objects_used(const struct ttm_publisher *publisher);
/* Room for so many more rows without growing again: for a mass arrival. */
void ttm_objects_expect(struct ttm_publisher *publisher, uint64_t more);

/*
 * Publishes the image and the queued object rows as one consistent state: the first
 * time, and whenever something has outgrown the file, as a new file under the old
 * name. When there is no room on the filesystem, what fits into the old file is published there,
 * its health row says how much is left out, what is left out stays queued, and the
 * next call tries again; -ENOSPC is returned nevertheless. Returns 0 or a negative errno
 * (-ENOSPC, -EFBIG, -EISDIR: a directory has the name, -ENOMEM, ...).
 */
int ttm_publish(struct ttm_publisher *publisher, struct ttm_image *image);

/*
 * Whether ttm_publish() returned that error for lack of space, memory or descriptors:
 * a later call may succeed.
 */
bool ttm_publish_lacks_room(int error);

/* Whether there is a file that readers see. */
bool ttm_publisher_has_file(const struct ttm_publisher *publisher);

/*
 * Nothing changed: only says that the publisher lives. Does nothing before the first
 * publication and while the last one failed, for what is there must not look fresh.
 */
void ttm_publisher_heartbeat(struct ttm_publisher *publisher);

#endif
