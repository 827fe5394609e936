/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hawserctl reservation: verbs.
 */
#include "tools/ctl/ctl.h"

static enum ctl_status show(const json_t *result, const json_t *params)
{
	json_t *head = json_deep_copy(result);

	(void)params;
	json_object_del(head, "registrations");
	ctl_print_members(head, 0, stdout);
	json_decref(head);
	if (json_array_size(json_object_get(result, "registrations")))
		ctl_print_table(json_object_get(result, "registrations"),
				"initiator:INITIATOR target:TARGET port:PORT key:KEY holder:HOLDER",
				stdout);
	return CTL_DONE;
}

const struct ctl_verb ctl_reservation_verbs[] = {
	{ "reservation", "list", "reservation.list", "", "",
	  "Lists logical units that hosts are registered with or have reserved", "reservations",
	  "name:NAME type:TYPE registered:REGISTERED kept:KEPT reserved_by:RESERVED-BY", NULL },
	{ "reservation", "show", "reservation.show", "name", "",
	  "Shows who is registered with a logical unit, and who holds it", NULL, NULL, show },
	{ "reservation", "clear", "reservation.clear", "name", "",
	  "Removes all registrations and the reservation. The hosts are told", NULL, NULL, NULL },
	{ 0 },
};
