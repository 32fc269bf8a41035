# SPDX-License-Identifier: GPL-2.0
# Harness, of itself: a program says ok, one of its subtests does not
# group: selftest
# rxe: no
# expect: fail notok
# shellcheck shell=sh disable=SC1091
. /vm/lib.sh
liar()
{
	printf 'TAP version 13\n1..2\nok 1 first\nnot ok 2 second\n'
}
plan 1
run_ktap liar
