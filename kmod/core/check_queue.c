// SPDX-License-Identifier: GPL-2.0
/* Invariants of the kinds with a queue, of one lock on one node. */
#include "fair.h"

#define IN(l, mask)	((mask) >> (l)->st & 1)
#define ST(st)		(1u << RDL_ST_##st)

/* States that have a ticket. */
#define WITH_TICKET	(ST(WAIT) | ST(FETCH) | ST(HELD) | ST(CACHED) | ST(OWED) | ST(POP) | ST(DUTY) | ST(DOWN) | \
			 ST(DDUTY) | ST(UPG) | ST(DOUBT) | ST(WNEXT) | ST(STORE))

static const char *in_flight(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;
	bool word = IN(l, ST(DRAW) | ST(POP) | ST(DOWN) | ST(UPG));

	if (l->st == RDL_ST_LOST) {
		if (!!l->io != !!l->stale_io || !!q->rd != !!(q->stale & RDL_STALE_READ) ||
		    !!q->slot != !!(q->stale & RDL_STALE_WRITE))
			return "operation of a lost session not marked so";
		return NULL;
	}
	if (l->stale_io || q->stale)
		return "operation of a lost session in a new one";
	if (word && !l->io)
		return "no operation in flight in a state that waits for it";
	if (l->io && !word && !IN(l, ST(TRY) | ST(DUTY) | ST(STORE) | (l->kind == RDL_KIND_TICKET ? ST(WAIT) : 0)))
		return "operation in flight in a state that has none";
	if (l->st == RDL_ST_STORE ? l->io && l->io != RDL_ACT_POST_WRITE_VALUE : l->io == RDL_ACT_POST_WRITE_VALUE)
		return "value written in a state that does not";
	if (q->rd_old && !q->rd)
		return "old READ that is not in flight";
	if (q->rd_due && !IN(l, ST(WAIT) | ST(FETCH) | ST(DUTY) | ST(DDUTY) | ST(TRY)) &&
	    !(l->st == RDL_ST_HELD && q->mode == RDL_MODE_S))
		return "READ due for nothing";
	if (l->st == RDL_ST_FETCH && !q->rd && !q->rd_due)
		return "value not asked for";
	if (l->st == RDL_ST_TRY && !l->io && !q->rd && !q->rd_due)
		return "try without an operation";
	return NULL;
}

static const char *grants(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;
	bool ticket = IN(l, WITH_TICKET);

	if (ticket && q->mode != RDL_MODE_S && q->mode != RDL_MODE_X)
		return "ticket without a mode";
	if (!ticket && (l->ticket || q->ticket_epoch || q->debt || q->hint || q->dirty || q->fresh))
		return "rest of a ticket that is over";
	if (IN(l, ST(NONE) | ST(WANT) | ST(AMBIG) | ST(LOST)) && q->mode)
		return "mode without a ticket";
	if ((q->writer || q->extra) && q->mode != RDL_MODE_S)
		return "readers counted that there cannot be";
	if (q->debt > RDL_DEBT_MAX || (q->debt && q->mode != RDL_MODE_X && l->st != RDL_ST_DOWN))
		return "debt of no writer";
	if (q->hint && !IN(l, ST(WAIT) | ST(FETCH) | ST(HELD) | ST(CACHED) | ST(OWED) | ST(POP) | ST(DOWN) | ST(WNEXT) |
			   ST(DRAW) | ST(STORE)))
		return "successor of no ticket";
	if (l->st == RDL_ST_CACHED && (q->mode != RDL_MODE_X || !(q->props & RDL_P_STICKY)))
		return "kept, though not to be";
	if (l->st == RDL_ST_CACHED && l->nq && l->frz == RDL_FRZ_RUN)
		return "kept, and not idle";
	if (ticket && q->ticket_epoch != l->epoch && l->frz != RDL_FRZ_CLAIMED)
		return "ticket of another epoch";
	if (l->ticket >= RDL_TICKET_HARD && IN(l, ST(HELD) | ST(CACHED) | ST(FETCH)))
		return "ticket past the limit granted";
	return NULL;
}

static const char *big(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	if ((q->props & RDL_P_BIG) && !(q->props & RDL_P_VALUE))
		return "big value of a lock that has none";
	if (q->need && (l->st != RDL_ST_FETCH || !(q->props & RDL_P_BIG)))
		return "bytes wanted that nobody waits for";
	if (l->st == RDL_ST_STORE && (q->mode != RDL_MODE_X || !rdl_must_store(l) || l->users > 1))
		return "stored for nothing";
	if (l->st == RDL_ST_STORE && l->users && (q->step != RDL_STEP_SHARE || !l->io))
		return "stored under a user";
	if (rdl_must_store(l) && !IN(l, ST(HELD) | ST(STORE)))
		return "given away before the value was stored";
	return NULL;
}

static const char *users(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	if (!l->users != !l->token)
		return "user and token disagree";
	if (l->users && !IN(l, ST(HELD) | ST(DOWN) | ST(DDUTY) | ST(UPG) | ST(DOUBT) | ST(STORE)))
		return "user without the lock";
	if (l->users > 1 && q->mode != RDL_MODE_S)
		return "several writers";
	if (l->st == RDL_ST_HELD && !l->users && !l->nq && !l->relf && l->frz == RDL_FRZ_RUN && !rdl_holds_back(l))
		return "held for nobody";
	if (IN(l, ST(WANT)) && !l->nq)
		return "waits for nobody";
	if (l->st == RDL_ST_NONE && l->nq)
		return "waiter forgotten";
	if (IN(l, ST(TRY) | ST(PROBE)) && !q->gone && !l->nq)
		return "try of nobody";
	return NULL;
}

static const char *recovery(const struct rdl_lock *l)
{
	const struct rdl_queue *q = &l->q;

	if (l->frz == RDL_FRZ_FREEZING && !l->io && !q->rd && !q->slot && !l->landing)
		return "freeze not answered though nothing is in flight";
	if (l->frz == RDL_FRZ_CLAIMED) {
		if (!IN(l, ST(NONE) | ST(WANT) | ST(WAIT) | ST(HELD)) || l->io || q->rd || q->slot)
			return "active after the claim";
		if (q->debt || q->hint || q->rd_due || q->slot_due || q->asker)
			return "intent after the claim";
	} else if (q->nx && !l->is_void) {
		return "exclusive tickets to answer for without a freeze";
	}
	if (l->relf && (l->st != RDL_ST_HELD || l->users || l->frz != RDL_FRZ_CLAIMED))
		return "noted release out of place";
	if (l->is_void && !IN(l, ST(NONE) | ST(WANT) | ST(HELD) | ST(OWED) | ST(DUTY) |
			       (l->kind == RDL_KIND_TICKET ? ST(WAIT) : 0)))
		return "void operation out of place";
	if (l->kind == RDL_KIND_MCS && q->hint_epoch == l->epoch && IN(l, ST(DRAW) | ST(TRY)))
		return NULL;
	if ((q->grant_epoch && q->grant_epoch <= l->epoch) || (q->hint_epoch && q->hint_epoch <= l->epoch))
		return "parked message of an epoch that has begun";
	return NULL;
}

const char *rdl_queue_check(const struct rdl_lock *l)
{
	const char *err = in_flight(l);

	if (!err)
		err = grants(l);
	if (!err)
		err = big(l);
	if (!err)
		err = users(l);
	if (!err)
		err = recovery(l);
	return err;
}
