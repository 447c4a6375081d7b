# SPDX-License-Identifier: BSD-2-Clause
# make install, make uninstall [DESTDIR=] [PREFIX=/usr/local] [LIBDIR=...]: both go by one list,
# INSTALLED, to which each build.mk adds what is its own. Builds nothing that "make" has not built, but
# for what contains paths.

BINDIR       ?= $(PREFIX)/bin
SBINDIR      ?= $(PREFIX)/sbin
# Of /usr that of the distribution, where the linker, Wireshark and nbdkit look.
MULTIARCH    := $(notdir $(wildcard /usr/lib/$(TRIPLET)))
LIBDIR       ?= $(PREFIX)/lib$(if $(filter /usr,$(PREFIX)),$(addprefix /,$(MULTIARCH)))
INCLUDEDIR   ?= $(PREFIX)/include
DATADIR      ?= $(PREFIX)/share
MANDIR       ?= $(DATADIR)/man
UNITDIR      ?= $(PREFIX)/lib/systemd/system
WIRESHARKDIR ?= $(LIBDIR)/wireshark/plugins
# Programs find it by their own place, ../lib/falcon.
PKGLIBDIR    := $(PREFIX)/lib/falcon

# What applications and rate update algorithms include; the folders below are between the programs of this tree.
PUBLIC_HEADERS := $(wildcard include/falcon/*.h)

# Files with paths in them: NAME.in, beside what it belongs to, becomes build/generated/NAME.
GENERATED ?= $(B)/generated
IN_SOURCES := $(wildcard tools/*/*.in user/*/*.in)
UNITS := $(patsubst %.in,$(GENERATED)/%,$(notdir $(filter %.service.in,$(IN_SOURCES))))

vpath %.in $(sort $(dir $(IN_SOURCES)))

# $(call below,FOLDER): with ${prefix} in it, as pkg-config wants it, so that a tree can be moved.
below = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

$(GENERATED)/%: %.in FORCE
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|; s|@BINDIR@|$(BINDIR)|; s|@SBINDIR@|$(SBINDIR)|' \
		-e 's|@PKGLIBDIR@|$(PKGLIBDIR)|; s|@VERSION@|$(VERSION)|' \
		-e 's|@LIBDIR@|$(call below,$(LIBDIR))|; s|@INCLUDEDIR@|$(call below,$(INCLUDEDIR))|' $< >$@

INSTALLED += $(call put,755,$(PROGRAMS),$(BINDIR)) $(call put,755,$(DAEMONS),$(SBINDIR)) \
	$(call put,644,$(OBJECTS),$(PKGLIBDIR)) $(call put,644,$(PUBLIC_HEADERS),$(INCLUDEDIR)/falcon) \
	$(call put,644,$(UNITS),$(UNITDIR)) \
	$(foreach m,$(MANPAGES),$(call put,644,$(m),$(MANDIR)/man$(subst .,,$(suffix $(m)))))

# Removed when they are empty; other folders belong to the system.
OWN_FOLDERS = $(PKGLIBDIR) $(PKGLIBDIR)/lab $(PKGLIBDIR)/rue $(INCLUDEDIR)/falcon $(DATADIR)/falcon $(DATADIR)/falcon/container

# Recipes expand late, so that INSTALLED is whole.
$(GENERATED)/list: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' $(OWN_FOLDERS:%=folder::%) $(INSTALLED) >$@

install: all $(UNITS) $(GENERATED)/libfalcon.pc $(GENERATED)/list
	@DESTDIR='$(DESTDIR)' tools/install.sh install $(GENERATED)/list

uninstall: $(GENERATED)/list
	@DESTDIR='$(DESTDIR)' tools/install.sh uninstall $(GENERATED)/list

FORCE:
.PHONY: FORCE
