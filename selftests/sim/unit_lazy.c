// SPDX-License-Identifier: GPL-2.0
/* Kind fair: who waits, or fails, for nobody's sake: tickets whose writer gave up, readers without a token, tries. */
#include "small.h"
#include "unit.h"
#include "fair.h"
#include "queue.h"
#include "unit_queue.h"

/* A writer of this node waits behind a reader of another. */
static void behind_reader(struct rdl_lock *l, struct rdl_acts *acts)
{
	struct rdl_event end = ended(0, RDL_OK);

	rdl_lock_init(l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(l, RDL_P_STICKY, 7);
	wrong(step(l, acts, (struct rdl_event){ .type = RDL_EV_ACQ }), "no draw");
	end.old = rdl_w_pack(1, 0, 1, l->epoch, false, false);
	wrong(step(l, acts, end) || l->st != RDL_ST_WAIT, "it does not wait");
	find(acts, RDL_ACT_TIMER);
	wrong(step(l, acts, ended(RDL_ACT_POST_WRITE_SLOT, RDL_OK)), "no slot");
}

/*
 * A second has passed; the word that is read then has so many shared tickets. Is a recovery asked for? If not, it
 * speaks to the node before again.
 */
static bool drops(struct rdl_lock *l, struct rdl_acts *acts, u32 readers)
{
	struct rdl_event end = ended(RDL_ACT_POST_READ_WORD, RDL_OK);

	wrong(step(l, acts, (struct rdl_event){ .type = RDL_EV_TIMER }), "no timer");
	wrong(!did(acts, RDL_ACT_QUERY) || !did(acts, RDL_ACT_POST_READ_WORD), "it does not look");
	end.old = rdl_w_pack(2 + readers, 2 - !!readers, readers, l->epoch, false, false);
	wrong(step(l, acts, end), "not looked");
	if (did(acts, RDL_ACT_ROLL)) {
		wrong(!did(acts, RDL_ACT_TIMER), "and that was all");
		return true;
	}
	wrong(!did(acts, RDL_ACT_POST_READ_SLOTS), "it is not heard of again");
	wrong(step(l, acts, ended(RDL_ACT_POST_READ_SLOTS, RDL_OK)) || !did(acts, RDL_ACT_TIMER),
	      "it does not look again");
	return false;
}

/* A writer that gives up keeps readers out for a second, not as long as other readers like. */
const char *writer_left(u64 seed)
{
	struct rdl_event acq = { .type = RDL_EV_ACQ, .mode = RDL_MODE_X, .head = RDL_MODE_X };
	struct rdl_event left = { .type = RDL_EV_CANCEL }, timer = { .type = RDL_EV_TIMER, .head = RDL_MODE_X };
	const struct rdl_action *claimed;
	struct rdl_lock l, again;
	struct rdl_acts acts;
	int i;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	behind_reader(&l, &acts);
	wrong(step(&l, &acts, left) || l.st != RDL_ST_WAIT || acts.n, "it does more than to leave");
	for (i = 0; i < 10; i++)
		wrong(drops(&l, &acts, 0), "dropped behind a writer");
	wrong(l.q.tries > RDL_LAZY_MAX, "it looks more and more seldom");
	wrong(!drops(&l, &acts, 2), "not dropped");
	/* Long after the beginning of the wait; and another one comes while it is looked. */
	behind_reader(&l, &acts);
	wrong(step(&l, &acts, timer) || !did(&acts, RDL_ACT_POST_READ_SLOTS), "the watchdog sleeps");
	wrong(step(&l, &acts, ended(RDL_ACT_POST_READ_SLOTS, RDL_OK)) || l.q.tries != 1, "not watched");
	wrong(step(&l, &acts, left) || l.q.tries || !did(&acts, RDL_ACT_TIMER), "it takes longer each time");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_TIMER }) || step(&l, &acts, acq), "not taken again");
	timer = ended(RDL_ACT_POST_READ_WORD, RDL_OK);
	timer.old = rdl_w_pack(3, 1, 2, l.epoch, false, false);
	timer.head = RDL_MODE_X;
	wrong(step(&l, &acts, timer) || did(&acts, RDL_ACT_ROLL), "dropped though somebody waits");
	timer = ended(RDL_ACT_POST_READ_SLOTS, RDL_OK);
	timer.head = RDL_MODE_X;
	wrong(step(&l, &acts, timer), "the node before is not sought");
	again = l;
	/* The last one here is a reader: the ticket becomes its. */
	behind_reader(&l, &acts);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ, .mode = RDL_MODE_S }), "no place");
	left.head = RDL_MODE_S;
	left.run = 1;
	wrong(step(&l, &acts, left) || l.nq != 1, "it cannot leave");
	timer = (struct rdl_event){ .type = RDL_EV_TIMER, .head = RDL_MODE_S, .run = 1 };
	wrong(step(&l, &acts, timer) || !did(&acts, RDL_ACT_POST_READ_WORD), "it does not look");
	timer = ended(RDL_ACT_POST_READ_WORD, RDL_OK);
	timer.old = rdl_w_pack(2, 1, 1, l.epoch, false, false);
	timer.head = RDL_MODE_S;
	timer.run = 1;
	wrong(step(&l, &acts, timer) || !did(&acts, RDL_ACT_ROLL), "readers wait for no writer");
	timer = (struct rdl_event){ .type = RDL_EV_FREEZE, .epoch = l.epoch, .head = RDL_MODE_S, .run = 1 };
	wrong(step(&l, &acts, timer), "not frozen");
	claimed = find(&acts, RDL_ACT_CLAIM);
	wrong(claimed->claim.what != RDL_CLAIM_WAIT || claimed->claim.mode != RDL_MODE_S || claimed->claim.nx != 1,
	      "not claimed as a reader's");
	/* A wait of less than a second, again and again: the home is asked all the same. */
	l = again;
	left.head = RDL_MODE_NL;
	left.run = 0;
	wrong(step(&l, &acts, left) || l.q.tries || !did(&acts, RDL_ACT_TIMER), "it takes longer each time");
	wrong(step(&l, &acts, acq) || step(&l, &acts, left) || acts.n, "its second begins anew");
	return first_wrong;
}

/* So many readers have shared a grant that it has no token left: others wait for a second, unless for a writer. */
const char *readers_spent(u64 seed)
{
	struct rdl_event timer = { .type = RDL_EV_TIMER, .head = RDL_MODE_S, .run = 1 };
	struct rdl_event end = ended(0, RDL_OK), rel = { .type = RDL_EV_REL, .head = RDL_MODE_S, .run = 1 }, pop;
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	end.head = RDL_MODE_S;
	end.run = 1;
	pop = end;
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, reader()) || step(&l, &acts, end) || l.users != 1, "not granted");
	l.loc = RDL_LOC_MAX - 1;
	wrong(step(&l, &acts, reader()) || l.users != 2 || !did(&acts, RDL_ACT_TIMER), "no token, and no timer");
	wrong(step(&l, &acts, reader()) || l.nq != 1 || did(&acts, RDL_ACT_TIMER),
	      "it has one, or its second begins anew");
	wrong(step(&l, &acts, timer) || !did(&acts, RDL_ACT_ROLL), "it waits for the longest of the others");
	/* They leave before that, and the next ones have a grant with tokens. */
	l.rolled = 0;
	l.q.tries = 1;
	wrong(step(&l, &acts, rel) || step(&l, &acts, rel) || l.st != RDL_ST_POP, "not given back");
	pop.old = rdl_w_pack(1, 0, 1, l.epoch, false, false);
	wrong(step(&l, &acts, pop) || step(&l, &acts, end) || l.st != RDL_ST_HELD || l.users != 1, "not granted again");
	wrong(step(&l, &acts, timer) || did(&acts, RDL_ACT_ROLL), "recovered for nothing");
	/* The pause after a refused operation is not that second. */
	l.loc = RDL_LOC_MAX;
	l.q.tries = 1;
	l.q.paused = 1;
	wrong(step(&l, &acts, timer) || did(&acts, RDL_ACT_ROLL) || !did(&acts, RDL_ACT_TIMER),
	      "a pause was the second");
	/* A writer waits elsewhere, and is what they wait for. */
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, reader()) || step(&l, &acts, end) || l.users != 1, "not granted");
	l.loc = RDL_LOC_MAX;
	l.handovers = 2;
	l.q.writer = 1;
	wrong(step(&l, &acts, reader()) || l.nq != 1 || did(&acts, RDL_ACT_TIMER), "no writer is waited for");
	return first_wrong;
}

/* The node before keeps the lock for nothing; the HINT is lost. Who is left here: the writer, a reader, nobody. */
static u32 hints(u8 left)
{
	__le64 slots[4] = { htole64(rdl_slot(7, 0, rdl_epoch(1, 0), 0, true)) };
	struct rdl_event end = ended(0, RDL_OK), ev;
	struct rdl_acts acts;
	struct rdl_lock l;
	u32 i, n = 0;

	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, RDL_P_STICKY, 7);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ }), "no draw");
	end.old = rdl_w_pack(1, 1, 0, l.epoch, false, false);
	wrong(step(&l, &acts, end) || step(&l, &acts, ended(RDL_ACT_POST_WRITE_SLOT, RDL_OK)), "it does not wait");
	end = ended(RDL_ACT_POST_READ_SLOTS, RDL_OK);
	end.slots = slots;
	end.nslots = ARRAY_SIZE(slots);
	wrong(step(&l, &acts, end) || !did(&acts, RDL_ACT_SEND_HINT), "no HINT");
	if (left == RDL_MODE_S)
		wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ, .mode = RDL_MODE_S }), "no reader");
	if (left != RDL_MODE_X) {
		ev = (struct rdl_event){ .type = RDL_EV_CANCEL, .head = left, .run = left == RDL_MODE_S };
		wrong(step(&l, &acts, ev), "no cancel");
	}
	for (i = 0; i < 20; i++) {
		ev = (struct rdl_event){ .type = RDL_EV_TIMER, .head = left, .run = left == RDL_MODE_S };
		wrong(step(&l, &acts, ev), "no timer");
		while (l.q.rd) {
			ev = ended(l.q.rd, RDL_OK);
			ev.head = left;
			ev.run = left == RDL_MODE_S;
			ev.slots = slots;
			ev.nslots = ARRAY_SIZE(slots);
			ev.old = rdl_w_pack(2, 2, 0, l.epoch, false, false);
			wrong(step(&l, &acts, ev), "not read");
			n += did(&acts, RDL_ACT_SEND_HINT);
		}
	}
	return n;
}

/* A ticket is heard of again, whoever waits for it: others may wait behind it. */
const char *hint_lost(u64 seed)
{
	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	wrong(hints(RDL_MODE_X) != 20, "a writer's HINT is not repeated");
	wrong(hints(RDL_MODE_S) != 20, "a reader waits for ever for an idle owner");
	wrong(hints(RDL_MODE_NL) != 20, "nobody's ticket stands before an idle owner for ever");
	return first_wrong;
}

/* The second of readers without a token ends while one of them tries to become the writer, which fails. */
const char *spent_upgrade(u64 seed)
{
	struct rdl_event end = ended(0, RDL_OK), look;
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	end.head = RDL_MODE_S;
	end.run = 1;
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 16);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, reader()) || step(&l, &acts, end) || l.users != 1, "not granted");
	l.loc = RDL_LOC_MAX - 1;
	wrong(step(&l, &acts, reader()) || l.users != 2 || !did(&acts, RDL_ACT_TIMER), "no timer");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_REL }) || l.users != 1, "no release");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_UP }) || l.st != RDL_ST_UPG, "no upgrade");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_TIMER }) || l.armed, "no timer");
	look = ended(0, RDL_OK);
	look.old = rdl_w_pack(2, 0, 2, l.epoch, false, false);
	wrong(step(&l, &acts, look) || !did(&acts, RDL_ACT_CONVERT_FAILED), "upgraded beside a reader");
	wrong(!l.armed, "its second is forgotten");
	return first_wrong;
}

/* The node before has read, and drawn anew: its slot is gone. A writer seeks it, a ticket of nobody not for long. */
const char *seek_left(u64 seed)
{
	struct rdl_event end = ended(0, RDL_OK);
	u32 i, reads = 0, looks = 0;
	__le64 slots[4] = {};
	struct rdl_acts acts;
	struct rdl_lock l;

	(void)seed;
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, RDL_P_STICKY, 7);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ }), "no draw");
	end.old = rdl_w_pack(3, 1, 2, l.epoch, false, false);
	wrong(step(&l, &acts, end) || step(&l, &acts, ended(RDL_ACT_POST_WRITE_SLOT, RDL_OK)), "it does not wait");
	wrong(l.q.step != RDL_STEP_SEEK || l.q.rd != RDL_ACT_POST_READ_SLOTS, "it does not seek");
	for (i = 0; i < 1000; i++) {
		struct rdl_event timer = { .type = RDL_EV_TIMER, .head = i < 500 ? RDL_MODE_X : RDL_MODE_NL };
		bool word = l.q.rd == RDL_ACT_POST_READ_WORD;

		if (i == 500)
			wrong(looks || step(&l, &acts, (struct rdl_event){ .type = RDL_EV_CANCEL }),
			      "it does not seek on");
		if (l.q.rd) {
			end = ended(l.q.rd, RDL_OK);
			end.slots = slots;
			end.nslots = ARRAY_SIZE(slots);
			end.old = rdl_w_pack(4, 1, 1, l.epoch, false, false);
			end.head = i < 500 ? RDL_MODE_X : RDL_MODE_NL;
			wrong(step(&l, &acts, end), "not read");
			reads++;
			looks += word;
			if (did(&acts, RDL_ACT_ROLL))
				break;
		}
		wrong(step(&l, &acts, timer), "no timer");
	}
	wrong(i < 500 || i > 510, "not dropped, or too early");
	wrong(reads < 500, "a writer did not seek all the time");
	return first_wrong;
}

/* So often the word has changed, to one that has readers, when the CAS of a try comes. Is it had then? */
static bool tries(u8 mode, u32 changes)
{
	struct rdl_event try = { .type = RDL_EV_ACQ, .try = 1, .mode = mode }, end = ended(0, RDL_OK);
	bool shared = mode == RDL_MODE_S;
	struct rdl_acts acts;
	struct rdl_lock l;
	u32 i;

	end.head = mode;
	end.run = shared;
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, try) || !did(&acts, RDL_ACT_POST_CAS), "no CAS");
	for (i = 1; i <= changes && l.st == RDL_ST_TRY; i++) {
		end.old = rdl_w_pack(i, 0, shared, l.epoch, false, false);
		wrong(step(&l, &acts, end), "no end");
	}
	if (l.st == RDL_ST_TRY) {
		end.old = l.guess;
		wrong(step(&l, &acts, end) || !did(&acts, RDL_ACT_DELIVER) || l.q.mode != mode, "not had");
		return true;
	}
	wrong(!did(&acts, RDL_ACT_FAIL_HEAD), "it ends without a word");
	return false;
}

/* A try beside a reader that is just changing its mode waits for that. */
static void try_converts(void)
{
	struct rdl_event end = ended(0, RDL_OK);
	struct rdl_acts acts;
	struct rdl_lock l;

	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_ACQ }) || rdl_try_is_early(&l, RDL_MODE_X) ||
	      step(&l, &acts, end) || l.users != 1, "not granted");
	wrong(rdl_try_is_early(&l, RDL_MODE_S), "it waits for a writer");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_DOWN }) || l.st != RDL_ST_DOWN, "not shared");
	wrong(!rdl_try_is_early(&l, RDL_MODE_S) || rdl_try_is_early(&l, RDL_MODE_X), "it does not wait for a reader");
	/* Another ticket was drawn: whose is it? */
	end.old = rdl_w_pack(2, 2, 0, l.epoch, false, false);
	wrong(step(&l, &acts, end) || l.st != RDL_ST_DDUTY || !rdl_try_is_early(&l, RDL_MODE_S),
	      "nor for a reader's duty");
	wrong(step(&l, &acts, ended(RDL_ACT_POST_READ_SLOTS, RDL_OK)) || rdl_try_is_early(&l, RDL_MODE_S),
	      "it waits for another node");
	rdl_lock_init(&l, RDL_KIND_FAIR, 1, rdl_epoch(1, 0), 2);
	rdl_lock_props(&l, 0, 7);
	end = ended(0, RDL_OK);
	end.head = RDL_MODE_S;
	end.run = 1;
	wrong(step(&l, &acts, reader()) || step(&l, &acts, end) || l.users != 1, "not granted");
	wrong(step(&l, &acts, (struct rdl_event){ .type = RDL_EV_UP }) || l.st != RDL_ST_UPG, "no upgrade");
	wrong(!rdl_try_is_early(&l, RDL_MODE_S), "it does not wait for an upgrade");
}

const char *try_shared(u64 seed)
{
	(void)seed;
	try_converts();
	sim_ticket_soft = 1u << 25;
	sim_ticket_hard = (1u << RDL_TICKET_BITS) - 1024;
	wrong(!tries(RDL_MODE_S, 0) || !tries(RDL_MODE_S, RDL_TRY_SWAPS), "readers that come and go keep a reader out");
	wrong(tries(RDL_MODE_S, RDL_TRY_SWAPS + 1), "without end");
	wrong(!tries(RDL_MODE_X, 1) || tries(RDL_MODE_X, 2), "a writer does not try twice");
	return first_wrong;
}
