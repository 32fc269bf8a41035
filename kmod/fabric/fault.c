// SPDX-License-Identifier: GPL-2.0
/*
 * Fault points: named places where a test makes the fabric misbehave. Each costs one read of a counter that is 0.
 */
#include <linux/debugfs.h>
#include <linux/dcache.h>

#include "verbs.h"

#define RDF_FAULT_MS_DEFAULT 1000

static atomic_t rdf_fault_left[RDF_NR_FAULTS];
static u32 rdf_fault_delay[RDF_NR_FAULTS];	/* written by debugfs, read anywhere: READ_ONCE */
static struct dentry *rdf_fault_dir;		/* what rdf_fault_exit() removes */

static const char * const rdf_fault_names[RDF_NR_FAULTS] = {
#define RDF_FAULT_NAME(name, meaning) [RDF_FAULT_##name] = #name,
	RDF_FAULTS(RDF_FAULT_NAME)
#undef RDF_FAULT_NAME
};

/* True if @fault is to happen now; uses one of its firings up. Context: any. */
bool rdf_fault(enum rdf_fault fault)
{
	if (likely(!atomic_read(&rdf_fault_left[fault])))
		return false;
	return atomic_dec_if_positive(&rdf_fault_left[fault]) >= 0;
}

u32 rdf_fault_ms(enum rdf_fault fault)
{
	return READ_ONCE(rdf_fault_delay[fault]);
}

/* The module's debugfs folder may have been made by somebody else before; then only our part is taken away again. */
void rdf_fault_init(void)
{
	struct dentry *root = debugfs_lookup("rdlock", NULL), *dir;
	char name[40];
	bool own;
	int i;

	/* So says a kernel without debugfs. */
	if (IS_ERR(root))
		root = NULL;
	own = !root;
	if (own)
		root = debugfs_create_dir("rdlock", NULL);
	dir = debugfs_create_dir("fault", root);
	for (i = 0; i < RDF_NR_FAULTS; i++) {
		rdf_fault_delay[i] = RDF_FAULT_MS_DEFAULT;
		atomic_set(&rdf_fault_left[i], 0);
		debugfs_create_atomic_t(rdf_fault_names[i], 0600, dir, &rdf_fault_left[i]);
		snprintf(name, sizeof(name), "%s_ms", rdf_fault_names[i]);
		debugfs_create_u32(name, 0600, dir, &rdf_fault_delay[i]);
	}
	if (!own)
		dput(root);
	rdf_fault_dir = own ? root : dir;
}

void rdf_fault_exit(void)
{
	debugfs_remove(rdf_fault_dir);
	rdf_fault_dir = NULL;
}
