/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The contract of a fabric: one list of cases for all of them, the module's back-ends nic and rpc (rdf_test.ko,
 * scenarios fabric_loop and fabric_loop_rpc) and the one that the simulator pretends (selftests/sim/contract.c). Each
 * program makes a table of the list, so it does not build without a function for every case; that the scenario runs all
 * of them is checked by the lint rule contract_cases.
 *
 * What can be said without the means of one fabric is in cases.c, which is compiled into both.
 */
#ifndef RDF_CASES_H
#define RDF_CASES_H

#include "../../core/plat.h"

/*
 * X(name, what holds): every fabric. Y(name, what holds, why not there): not the simulator's, where an operation names
 * what it is for and has no address, key or length.
 */
#define RDF_CASES(X, Y) \
	X(cas,	     "a compare-and-swap returns the word and stores only if it is the one compared with") \
	X(faa,	     "a fetch-and-add returns the word and carries through all 64 bits") \
	Y(bad_args,  "misaligned, empty, too long: refused at once", "no addresses and no lengths") \
	X(many,	     "of many in flight each is done once") \
	X(rw,	     "what was written is read") \
	Y(refused,   "a right to atomics is none to write, and the link is hurt only", "no rights") \
	Y(no_atomic, "a right to write is none to atomics", "no rights") \
	X(stale,     "what belongs to a session that is over changes nothing") \
	X(killed,    "a link ends under many: each ends once, and the memory agrees with what they said") \
	X(values,    "all values and byte orders come through, by whatever operation they are seen") \
	Y(lengths,   "of whatever length, and nothing around is touched", "one length for each thing") \
	X(order,     "what is posted on one pair takes place, and ends, in that order") \
	Y(refusals,  "what nobody has a right to is certainly not done", "no rights")

/* How the operations of a run ended. */
struct rdf_case_ends {
	u64 ok, failed, ambiguous, refused;
	u64 twice;		/* more than once */
};

/**
 * struct rdf_case - a fabric in the hands of a case
 * @cas, @faa: one operation on word @word, waited for. 0, -ECANCELED: certainly not done, -EREMOTEIO: nobody knows
 * @read: of a word, not an atomic
 * @many: @total FAAs of one, as many at a time as the fabric can have in flight; @breaks: the link ends among them
 * @back: a link stands again, and nothing of the old one is left
 * @wrong: says what is not so
 */
struct rdf_case {
	int (*cas)(struct rdf_case *c, unsigned int word, u64 compare, u64 swap, u64 *old);
	int (*faa)(struct rdf_case *c, unsigned int word, u64 addend, u64 *old);
	int (*read)(struct rdf_case *c, unsigned int word, u64 *value);
	int (*many)(struct rdf_case *c, unsigned int word, u32 total, bool breaks, struct rdf_case_ends *ends);
	int (*back)(struct rdf_case *c);
	void (*wrong)(const char *where, int line, const char *what);
};

int rdf_case_cas(struct rdf_case *c);
int rdf_case_faa(struct rdf_case *c);
int rdf_case_many(struct rdf_case *c);
int rdf_case_killed(struct rdf_case *c, struct rdf_case_ends *ends);
int rdf_case_values(struct rdf_case *c, unsigned int word);

#endif /* RDF_CASES_H */
