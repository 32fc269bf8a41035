// SPDX-License-Identifier: GPL-2.0
/*
 * Invariants of one lock on one node. What holds between nodes (exclusion, order of tokens) only
 * the simulator can see.
 */
#include "kind.h"

static const char *check_ranges(const struct rdl_lock *l)
{
	if (l->frz > RDL_FRZ_CLAIMED)
		return "state out of range";
	if (l->node >= RDL_MAX_NODES)
		return "node out of range";
	if (!rdl_epoch_gen(l->epoch))
		return "epoch without generation";
	if (l->loc > RDL_LOC_MAX + 1)
		return "local sequence too long";
	return NULL;
}

/* ---- kind spin ---- */

static const char *spin_ranges(const struct rdl_lock *l)
{
	if (l->loc > RDL_LOC_MAX)
		return "local sequence too long";
	if (l->handovers > l->budget)
		return "budget exceeded";
	if (l->k > RDL_SPIN_KMAX)
		return "back-off exponent too big";
	if (rdl_w_ep18(l->guess) != rdl_ep18(l->epoch) || rdl_w_mid(l->guess) || rdl_w_low(l->guess) ||
	    rdl_w_frozen(l->guess))
		return "guess is no free word of this epoch";
	return NULL;
}

static const char *spin_io(const struct rdl_lock *l)
{
	switch (l->st) {
	case RDL_ST_DRAW:
	case RDL_ST_TRY:
		if (l->io != RDL_ACT_POST_CAS || l->stale_io)
			return "taking without a CAS in flight";
		break;
	case RDL_ST_POP:
		if (l->io != RDL_ACT_POST_FAA || l->stale_io)
			return "giving back without an FAA in flight";
		break;
	case RDL_ST_LOST:
		if (!!l->io != !!l->stale_io)
			return "operation of a lost session not marked so";
		break;
	default:
		if (l->io || l->stale_io)
			return "operation in flight in a state that has none";
	}
	return NULL;
}

static const char *spin_users(const struct rdl_lock *l)
{
	if (!l->users != !l->token)
		return "user and token disagree";
	if (l->users && l->st != RDL_ST_HELD)
		return "user without the lock";
	if (l->st == RDL_ST_HELD && !l->users && !l->nq && !l->relf && !rdl_holds_back(l))
		return "held for nobody";
	if ((l->st == RDL_ST_WAIT || l->st == RDL_ST_TRY) && !l->nq)
		return "waits for nobody";
	if (l->st == RDL_ST_NONE && l->nq)
		return "waiter forgotten";
	if (l->attention == RDL_ATT_TOLD && !rdl_owns(l))
		return "notice of a dead owner outlives the grant";
	return NULL;
}

static const char *spin_recovery(const struct rdl_lock *l)
{
	if (l->landing && l->st != RDL_ST_AMBIG)
		return "unknown outcome forgotten";
	if (l->frz == RDL_FRZ_FREEZING && !l->io && !l->landing)
		return "freeze not answered though nothing is in flight";
	if (l->frz == RDL_FRZ_CLAIMED && l->st != RDL_ST_NONE && l->st != RDL_ST_WAIT && l->st != RDL_ST_HELD)
		return "active after the claim";
	if (l->relf && (l->st != RDL_ST_HELD || l->users || l->frz != RDL_FRZ_CLAIMED))
		return "noted release out of place";
	if (l->is_void && l->st != RDL_ST_NONE && l->st != RDL_ST_WAIT)
		return "void operation out of place";
	return NULL;
}

const char *rdl_spin_check(const struct rdl_lock *l)
{
	const char *err = spin_ranges(l);

	if (!err)
		err = spin_io(l);
	if (!err)
		err = spin_users(l);
	if (!err)
		err = spin_recovery(l);
	return err;
}

/* ---- every kind ---- */

const char *rdl_check(const struct rdl_lock *l)
{
	const struct rdl_kind_ops *ops = rdl_kind_ops(l->kind);
	const char *err;

	if (!ops)
		return "kind unknown";
	if (l->st >= RDL_NR_STATES || !(ops->states >> l->st & 1))
		return "state unknown to the kind";
	err = check_ranges(l);
	if (!err)
		err = rdl_robust_check(l);
	return err ? err : ops->check(l);
}
