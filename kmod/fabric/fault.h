/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault points, see fault_list.h.
 */
#ifndef RDF_FAULT_H
#define RDF_FAULT_H

#include <linux/types.h>

#include "fault_list.h"

enum rdf_fault {
#define RDF_FAULT_ENUM(name, meaning) RDF_FAULT_##name,
	RDF_FAULTS(RDF_FAULT_ENUM)
#undef RDF_FAULT_ENUM
	RDF_NR_FAULTS,
};

bool rdf_fault(enum rdf_fault fault);
u32 rdf_fault_ms(enum rdf_fault fault);

#endif /* RDF_FAULT_H */
