/* SPDX-License-Identifier: Apache-2.0 */
#include "../stand_in.hpp"
