// SPDX-License-Identifier: GPL-2.0
/* The mutants of kmod/core/bust.h, in worlds of their sort: each must be caught. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "main.h"
#include "unit.h"

#define MUTANT_WORLDS	60000

/* ---- worlds of a sort: true if the mutant lives in the one of @seed ---- */

static bool spin_world(u64 seed, const char **why)
{
	static const struct wish spin = { .kind = RDL_KIND_SPIN, .faults = -1 };

	*why = world.why;
	return world_run(&world, seed, &spin, &cov);
}

static bool world_of(u8 kind, u64 seed, const char **why)
{
	static char note[sizeof(world.why) + 16];
	struct wish queue = { .kind = kind, .faults = -1 };

	if (world_run(&world, seed, &queue, &cov))
		return true;
	snprintf(note, sizeof(note), "%s: %s", rdl_kind_name(kind), world.why);
	*why = note;
	return false;
}

/* One of the kinds with a queue, in turn. */
static bool shared_world(u64 seed, const char **why)
{
	return world_of(RDL_KIND_FAIR + seed % (RDL_NR_KINDS - RDL_KIND_FAIR), seed, why);
}

static bool queue_world(u64 seed, const char **why)
{
	*why = small_mutant(seed);
	return !*why && shared_world(seed, why);
}

/* What random worlds show too seldom, or not at all. */
static const char *(*unit_of(void))(u64 seed)
{
	if (rdl_bust(RESET_KEPT))
		return reset_late;
	if (rdl_bust(READERS_NO_LOOK) || rdl_bust(LOOK_IGNORED))
		return readers_look;
	if (rdl_bust(BUDGET_RENEWED))
		return budget_recovered;
	if (rdl_bust(LAZY_STAYS))
		return writer_left;
	if (rdl_bust(SPENT_STAYS))
		return readers_spent;
	if (rdl_bust(LAZY_SILENT))
		return hint_lost;
	if (rdl_bust(TRY_ONCE))
		return try_shared;
	return NULL;
}

static bool fair_world(u64 seed, const char **why)
{
	const char *(*unit)(u64 seed) = unit_of();

	if (!unit)
		return world_of(RDL_KIND_FAIR, seed, why);
	first_wrong = NULL;
	*why = unit(seed);
	return !*why;
}

static bool any_world(u64 seed, const char **why)
{
	return world_of(RDL_KIND_SPIN + seed % (RDL_NR_KINDS - RDL_KIND_SPIN), seed, why);
}

static const struct mutant {
	int nr;
	const char *name, *what;
	bool (*lives)(u64 seed, const char **why);
} mutants[] = {
#define MUTANT(nr, name, what) { nr, #name, what, spin_world },
	RDL_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, queue_world },
	RDL_QUEUE_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, fair_world },
	RDL_WORLD_BUSTS(MUTANT)
#undef MUTANT
#define MUTANT(nr, name, what) { nr, #name, what, any_world },
	RDL_ROBUST_BUSTS(MUTANT)
#undef MUTANT
	/* Rules that every kind has code of its own for; here the kinds with a queue break them. */
#define SHARED(name) { RDL_BUST_##name, #name "_queue", "of a kind with a queue", shared_world }
	SHARED(FROZEN_IGNORED),
	SHARED(NO_DRAIN),
	SHARED(HOLD_FORGOTTEN),
	SHARED(BUDGET_IGNORED),
	SHARED(AMBIG_RETRIED),
	SHARED(LEASE_IGNORED),
	SHARED(DEATH_UNTOLD),
	SHARED(HARD_IGNORED),
	SHARED(GONE_CLAIM_KEPT),
	SHARED(LOST_KEEPS_USER),
	SHARED(FREEZE_BEFORE_QP),
	SHARED(BUSY_TAKEN),
	SHARED(AMBIG_CLAIMED),
	SHARED(NOTICE_EARLY),
#undef SHARED
};

const int mutants_n = ARRAY_SIZE(mutants);

static bool killed[ARRAY_SIZE(mutants)];

/* A mutant lives in a child: the core's assertions may end it. The seed that caught it, or 0. */
static u64 mutant_caught(const struct mutant *m, u64 first, char *why, size_t size)
{
	const char *reason;
	u64 seed, caught = 0;
	int fd[2], status;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(fd))
		abort();
	pid = fork();
	if (pid < 0)
		abort();
	if (!pid) {
		close(fd[0]);
		signal(SIGILL, SIG_DFL);
		sim_bust = m->nr;
		for (seed = first; seed < first + MUTANT_WORLDS; seed++) {
			if (write(fd[1], &seed, sizeof(seed)) != sizeof(seed))
				_exit(3);
			if (m->lives(seed, &reason))
				continue;
			seed = 0;	/* end of the seeds: the reason follows */
			if (write(fd[1], &seed, sizeof(seed)) != sizeof(seed) ||
			    write(fd[1], reason, strlen(reason)) < 0)
				_exit(3);
			_exit(1);
		}
		_exit(0);
	}
	close(fd[1]);
	snprintf(why, size, "an assertion of the core");
	while (read(fd[0], &seed, sizeof(seed)) == sizeof(seed)) {
		if (seed) {
			caught = seed;
			continue;
		}
		n = read(fd[0], why, size - 1);
		why[n > 0 ? n : 0] = 0;
		break;
	}
	close(fd[0]);
	if (waitpid(pid, &status, 0) != pid)
		abort();
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		return caught;
	return WIFSIGNALED(status) ? caught : 0;
}

void mutants_run(void)
{
	char name[64], note[512], why[256];
	int i;

	for (i = 0; i < mutants_n; i++) {
		u64 seed = mutant_caught(&mutants[i], 1, why, sizeof(why));

		snprintf(name, sizeof(name), "mutant_%d_%s", mutants[i].nr, mutants[i].name);
		if (seed)
			snprintf(note, sizeof(note), "caught by seed %llu: %s", (unsigned long long)seed, why);
		else
			snprintf(note, sizeof(note), "lives: %s", mutants[i].what);
		killed[i] = seed;
		result(seed, name, note);
	}
}

void mutants_json(FILE *f)
{
	const char *comma = "";
	int i;

	fprintf(f, "[");
	for (i = 0; i < mutants_n; i++) {
		if (!killed[i])
			continue;
		fprintf(f, "%s\"%s\"", comma, mutants[i].name);
		comma = ", ";
	}
	fprintf(f, "]");
}
