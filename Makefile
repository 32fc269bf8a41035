# SPDX-License-Identifier: GPL-2.0
#
# For people; the kernel's build system reads Kbuild. `make help` lists it all.

KERNEL ?= 6.1
# The debug kernel is ten times slower, and the others repeat what 6.1 has done.
SCALE ?= $(if $(filter-out 6.1,$(KERNEL)),0.02,0.05)
PREFIX ?= /usr/local

# Headers to build against: of the running kernel if they are here.
KDIR ?= $(firstword $(wildcard /lib/modules/$(shell uname -r)/build) \
	$(shell scripts/vm-kernel 6.1 --headers 2>/dev/null))

# Or else the VMs' kernel's: they show that it builds, but modprobe would not look where that module belongs.
foreign = $(and $(filter file,$(origin KDIR)),$(filter-out $(shell uname -r),$(or $(call release,$(KDIR)),none)))
no_headers = no headers of the running kernel: apt install linux-headers-$(shell uname -r), or KDIR=...

# The VMs' kernel has headers of its own. Expanded only where it is used.
VM_KDIR = $(shell scripts/vm-kernel $(KERNEL) --headers)

# Of kernels that we test on, all that a warning depends on is known.
TESTED = $(realpath $(shell scripts/vm-kernel 6.1 --headers 2>/dev/null))

# depmod is not on every user's path.
export PATH := $(PATH):/usr/sbin:/sbin

B := $(CURDIR)/build
release = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(1)/include/generated/utsrelease.h 2>/dev/null)
modules_dir = $(B)/modules-$(call release,$(1))

JOBS := $(filter -j%,$(MAKEFLAGS))
MODULES_J := $(if $(JOBS),,-j2)

vm_run = selftests/vm/run --kernel "$(KERNEL)" --scale "$(SCALE)" $(if $(TIMES),--times $(TIMES)) $(if $(BOOT),--boot $(BOOT)) \
	$(if $(SHELL_IN),--shell)
ifneq ($(V),)
vm_run += --live
endif

.DEFAULT_GOAL := all

all: modules tools ## modules and tools (the default)

help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | \
		while IFS='|' read -r target text; do printf '  %-14s %s\n' "$$target" "$$text"; done
	@echo
	@echo '  KERNEL=      kernel of the VMs: $(shell scripts/vm-kernel --list | tr '\n' ' ')'
	@echo '  KDIR=        headers the modules are built against'
	@echo '  T=           scenarios to run: a name, a group, or part of a name; may have * and ?'
	@echo '  SHELL_IN=1   with make vm: a shell in the VMs of scenario T instead of the test'
	@echo '  SCALE=       factor of loops and loads in the VMs (make check 0.05, elsewhere 0.02, soak 1)'
	@echo '  TIMES=       factor of the timeouts in the VMs, for a machine that is busy otherwise'
	@echo '  BOOT=cold    VMs boot, they do not go on from a snapshot of one that has'
	@echo '  V=1          with make vm: show results as they come'
	@echo '  SEED= NODES= SECONDS=   of make sim'
	@echo '  MIN=         with make coverage: percent of the lines that must have run (80)'

deps: ## install what this machine lacks (apt; needs root or sudo)
	@scripts/deps all

modules: ## rdlock.ko and the test modules, for the running kernel or KDIR=
	@scripts/build-modules $(if $(filter $(TESTED),$(realpath $(KDIR))),--werror) \
		"$(KDIR)" "$(call modules_dir,$(KDIR))" $(MODULES_J)
	@$(if $(foreign),echo "note: the modules are for $(foreign); $(no_headers)" >&2)

# What is installed is for the running kernel, or for the one that KDIR= says.
running-headers:
	@$(if $(foreign),echo "make install: $(no_headers)" >&2; exit 1)

vm-modules:
	@scripts/build-modules $(if $(filter local,$(KERNEL)),,--werror) \
		"$(VM_KDIR)" "$(call modules_dir,$(VM_KDIR))" $(MODULES_J) RDLOCK_BAD=m

tools: ## librdlock and the rdlock command
	@flock build/tools.lock $(MAKE) --no-print-directory -C userspace all

# The test programs, static, into build/selftests.
test-programs:
	@flock build/test-programs.lock $(MAKE) --no-print-directory -C selftests O=$(B)/selftests all

lint: ## style, static checks, the project's own rules
	@selftests/lint/run

sim: ## the lock protocols in the simulator [SECONDS= SEED= KIND= NODES= EXHAUSTIVE=1 WORLD=]
	@$(MAKE) --no-print-directory -C selftests/sim check $(MODULES_J) \
		$(if $(SEED),SEED=$(SEED)) $(if $(NODES),NODES=$(NODES)) $(if $(SECONDS),SECONDS=$(SECONDS))

user: tools ## the library and the command against a pretended /dev/rdlock
	@$(MAKE) --no-print-directory -C userspace check

# The harness' own unit tests count in a run of everything.
vm: vm-modules tools test-programs ## scenarios in one to four machines [T= KERNEL= SHELL_IN=1 SCALE= V=1]
	@$(vm_run) $(if $(T)$(SHELL_IN),,--unit) $(T)

check: ## lint, user, sim and vm on the stock kernel; the last line counts them
	@scripts/deps all
	@MAKE="$(MAKE)" scripts/check lint user sim vm

check-matrix: ## builds and all scenarios on each stock kernel, a table at the end [KERNELS="6.12 7.3"]
	@scripts/deps all matrix
	@MAKE="$(MAKE)" scripts/check-matrix $(KERNELS)

check-debug: ## vm under KASAN, lockdep, kmemleak and others, on a kernel built once for it [T=]
	@scripts/deps all debug
	@$(MAKE) --no-print-directory vm KERNEL=debug

soak: vm-modules tools test-programs ## loads, kills and loops in full [T= SCALE=]
	@$(vm_run) --groups "check soak" $(T)
soak: SCALE = 1

coverage: ## lines of kmod/ that the tests on the debug kernel run [MIN=]
	@scripts/coverage --have || $(MAKE) --no-print-directory check-debug
	@scripts/coverage $(if $(MIN),--min $(MIN))

bench: vm-modules tools ## the kinds of locks compared, in build/bench [KERNEL= SCALE= DOC=1: into Documentation]
	@scripts/deps vm bench
	@SCALE="$(if $(filter command% env%,$(origin SCALE)),$(SCALE),0.1)" scripts/bench $(if $(DOC),--doc) "$(KERNEL)"

demo: ## two machines, one lock, before your eyes
	@scripts/deps build vm
	@echo 'Building the module and the tools (what is there already is not built again) ...'
	@$(MAKE) --no-print-directory -s vm-modules tools test-programs >build/demo.log 2>&1 || \
		{ cat build/demo.log; exit 1; }
	@selftests/vm/run --kernel "$(KERNEL)" --say demo

install: running-headers modules tools ## module, library, command and man pages on this host [DESTDIR= PREFIX=]
	install -D -m 0644 $(call modules_dir,$(KDIR))/kmod/rdlock.ko \
		$(DESTDIR)/lib/modules/$(call release,$(KDIR))/extra/rdlock.ko
	[ -n "$(DESTDIR)" ] || depmod $(call release,$(KDIR))
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/src/rdlock/include/linux kmod/include/linux/rdlock.h
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/src/rdlock/include/uapi/linux uapi/linux/rdlock.h
	install -D -m 0644 $(call modules_dir,$(KDIR))/Module.symvers \
		$(DESTDIR)$(PREFIX)/src/rdlock/$(call release,$(KDIR))/Module.symvers
	$(MAKE) --no-print-directory -C userspace install DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)"
	install -D -m 0644 -t $(DESTDIR)/lib/udev/rules.d packaging/udev/*.rules
	install -D -m 0644 -t $(DESTDIR)/usr/lib/sysusers.d packaging/sysusers.d/*.conf

clean: ## remove build/ (downloads stay in the cache)
	rm -rf build

$(shell mkdir -p build)

.PHONY: all help deps modules running-headers vm-modules tools test-programs lint user sim vm check check-matrix check-debug soak bench \
	coverage demo install clean
