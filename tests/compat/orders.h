/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with plain numbers, each from a file that has chosen its order. */
#ifndef TESTS_COMPAT_ORDERS_H
#define TESTS_COMPAT_ORDERS_H

void first_order(int device, int size, int type, int id);
void second_order(int device, int size, int id, int type);

#endif
