/* SPDX-License-Identifier: Apache-2.0 */
/* With consumer.c in a shared library, and ttmem with it. */

int consume(void);

int main(void)
{
	return consume();
}
