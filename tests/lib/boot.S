/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A boot sector that says on the first serial port that it runs, reads a block of the disk it came
 * from, says what is in it, writes it to another block, and ends QEMU (isa-debug-exit at F4h):
 * status 1 if all went well, 3 if not. For tests/blackbox/boot.sh, which names the blocks: SOURCE
 * and DESTINATION.
 */
	.code16
	.globl	_start
_start:
	ljmp	$0, $begin
begin:
	cld
	xorw	%ax, %ax
	movw	%ax, %ds
	movw	%ax, %es
	movw	%ax, %ss
	movw	$_start, %sp
	movb	%dl, drive
	movw	$running, %si
	call	say

	movb	$0x42, %ah			/* extended read */
	call	transfer
	movw	$buffer, %si
	call	say
	movl	$DESTINATION, block
	movw	$0x4300, %ax			/* extended write, not verified */
	call	transfer
	movw	$written, %si
	call	say
	xorb	%al, %al
end:
	outb	%al, $0xf4
	hlt
	jmp	end

/* %ah: the function; does not come back from an error. */
transfer:
	movw	$packet, %si
	movb	drive, %dl
	int	$0x13
	jc	failed
	ret
failed:
	movw	$wrong, %si
	call	say
	movb	$1, %al
	jmp	end

/* %si: text, ended by a zero. */
say:
	lodsb
	testb	%al, %al
	jz	said
	movw	$0x3f8, %dx
	outb	%al, %dx
	jmp	say
said:
	ret

running:
	.asciz	"running\n"
written:
	.asciz	"written\n"
wrong:
	.asciz	"failed\n"
drive:
	.byte	0
	.balign	4
packet:
	.byte	0x10, 0
	.word	1				/* blocks */
	.word	buffer, 0			/* offset, segment */
block:
	.long	SOURCE, 0

	.org	510
	.word	0xaa55
	.set	buffer, _start + 0x400
