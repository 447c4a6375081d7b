# SPDX-License-Identifier: BSD-2-Clause
# make install [DESTDIR=] [PREFIX=/usr/local]: programs, BPF objects, the library and its headers,
# manual pages, the dissector. Builds nothing that "make" has not built.

I := $(DESTDIR)$(PREFIX)
PUT := install -D -m 644

# Targets of other files may be named after this one: recipes expand late, so the lists are whole.
install: all
	@install -d $(I)/bin $(I)/lib/falcon/lab $(I)/include/falcon $(I)/share/falcon
	install -m 755 $(PROGRAMS) $(I)/bin
	install -m 644 $(OBJECTS) $(I)/lib/falcon
	install -m 644 $(wildcard $(B)/lab/*.sh) $(I)/lib/falcon/lab
	install -m 644 $(B)/libfalcon.a $(I)/lib
	install -m 644 $(B)/libfalcon.so $(I)/lib/libfalcon.so.0
	ln -sf libfalcon.so.0 $(I)/lib/libfalcon.so
	install -m 644 $(B)/libfalcon_verbs.so $(I)/lib/libfalcon_verbs.so.0
	ln -sf libfalcon_verbs.so.0 $(I)/lib/libfalcon_verbs.so
	$(PUT) -t $(I)/lib/nbdkit/plugins $(NBDKIT_PLUGIN)
	install -m 644 include/falcon/*.h $(I)/include/falcon
	install -m 644 $(wildcard tools/dissector/*.lua) $(I)/share/falcon
	install -d $(I)/lib/systemd/system
	sed 's|@PREFIX@|$(PREFIX)|' user/agent/falcond.service.in > $(I)/lib/systemd/system/falcond.service
	@for m in $(MANPAGES); do \
		echo $(PUT) $$m $(I)/share/man/man$${m##*.}/; \
		$(PUT) -t $(I)/share/man/man$${m##*.} $$m || exit 1; \
	done
