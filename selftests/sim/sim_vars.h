/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The limits that a world chooses for itself, so that tickets run out within milliseconds, the mutant that is on, and
 * whether a core that contradicts itself may go on, as in the module. Included on the command line of gcc before the
 * core's own headers, which leave all of them to the build.
 */
#ifndef SIM_VARS_H
#define SIM_VARS_H

extern unsigned int sim_ticket_soft, sim_ticket_hard, sim_debt_max;
extern int sim_bust, sim_forgive;

#endif /* SIM_VARS_H */
