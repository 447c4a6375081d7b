/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A guest that lives on its disk, as a boot sector: says "B" on its first serial port, then writes 32 KiB
 * each to 64 places, reads all of it back, and says ".", again and again, each time other numbers. If anything
 * is not as it was written, or the firmware reports an error, it says "E" and stops.
 */
#define SERIAL		0x3f8
#define BUFFER_SEGMENT	0x1000
#define SECTORS		64		/* of 512 bytes, at a time */
#define WORDS		(SECTORS * 512 / 4)
#define PLACES		64
#define FIRST		64		/* sector of the first place */
#define APART		128		/* sectors from one to the next */
#define EXTENDED_READ	0x42
#define EXTENDED_WRITE	0x43

	.code16
	.globl	_start
_start:
	cli
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %ss
	movw	$0x7c00, %sp
	sti
	cld
	movb	%dl, drive
	movw	$BUFFER_SEGMENT, %ax
	movw	%ax, %es
	movb	$'B', %al
	call	say

again:
	incl	round
	movb	$EXTENDED_WRITE, operation
pass:
	movl	$FIRST, lba
place:
	cmpb	$EXTENDED_WRITE, operation
	jne	transfer
	call	begin
fill:
	stosl
	addl	$0x9e3779b1, %eax
	loop	fill
transfer:
	movb	operation, %ah
	xorb	%al, %al
	movb	drive, %dl
	movw	$packet, %si
	pushw	%es
	int	$0x13
	popw	%es
	jc	error
	call	begin
check:
	scasl
	jne	error
	addl	$0x9e3779b1, %eax
	loop	check
	addl	$APART, lba
	cmpl	$(FIRST + PLACES * APART), lba
	jb	place
	decb	operation
	cmpb	$EXTENDED_READ, operation
	je	pass
	movb	$'.', %al
	call	say
	jmp	again

error:
	movb	$'E', %al
	call	say
stop:
	hlt
	jmp	stop

/* The buffer, and the first of the numbers that belong there. */
begin:
	xorw	%di, %di
	movw	$WORDS, %cx
	movl	round, %eax
	shll	$20, %eax
	xorl	lba, %eax
	ret

say:
	movw	$SERIAL, %dx
	outb	%al, %dx
	ret

	.balign	4
packet:				/* disk address packet */
	.byte	16, 0
	.word	SECTORS
	.word	0, BUFFER_SEGMENT
lba:	.long	0, 0
round:	.long	0
drive:	.byte	0
operation:
	.byte	0

	.org	510
	.word	0xaa55
