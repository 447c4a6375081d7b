/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest to migrate, as a boot sector: fills memory with numbers, says "R" on its first serial port, and goes
 * on writing to a part of it, page by page, without end.
 */
#define FILL_FROM	0x1000000	/* 16 MiB: above all that firmware uses */
#define FILL_BYTES	0x4000000	/* 64 MiB */
#define DIRTY_BYTES	0x0200000	/* 2 MiB of those */
#define PAGE		0x1000
#define SERIAL		0x3f8
#define CR4_PSE		0x10
#define A20		0x92		/* system control port: bit 1 lets addresses above 1 MiB through */

	.code16
	.globl	_start
_start:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	inb	$A20, %al
	orb	$2, %al
	outb	%al, $A20
	lgdt	gdt_register
	movl	%cr0, %eax
	orb	$1, %al
	movl	%eax, %cr0
	ljmp	$8, $protected

	.code32
protected:
	movw	$16, %ax
	movw	%ax, %ds

	/* xorshift: no two pages alike, none of zeros */
	movl	$FILL_FROM, %edi
	movl	$2463534242, %eax
fill:
	movl	%eax, %ebx
	shll	$13, %ebx
	xorl	%ebx, %eax
	movl	%eax, %ebx
	shrl	$17, %ebx
	xorl	%ebx, %eax
	movl	%eax, %ebx
	shll	$5, %ebx
	xorl	%ebx, %eax
	movl	%eax, (%edi)
	addl	$4, %edi
	cmpl	$(FILL_FROM + FILL_BYTES), %edi
	jb	fill

	movb	$'R', %al
	movw	$SERIAL, %dx
	outb	%al, %dx

again:
	/*
	 * QEMU 7.2 does not flush the emulated TLB when it clears the dirty bits of memory: what is written
	 * through an old entry does not become dirty again, and is not migrated. A change of CR4 flushes it.
	 */
	movl	%cr4, %eax
	xorl	$CR4_PSE, %eax
	movl	%eax, %cr4
	movl	$FILL_FROM, %edi
dirty:
	incl	(%edi)
	addl	$PAGE, %edi
	cmpl	$(FILL_FROM + DIRTY_BYTES), %edi
	jb	dirty
	jmp	again

	.balign	8
gdt:
	.quad	0
	.quad	0x00cf9a000000ffff	/* code, all addresses */
	.quad	0x00cf92000000ffff	/* data */
gdt_register:
	.word	gdt_register - gdt - 1
	.long	gdt

	.org	510
	.word	0xaa55
