/* SPDX-License-Identifier: BSD-2-Clause */
/* First instruction, exception vector, stack. MIPS I: no instruction behind a load may need it. */

	.set noreorder
	.section .boot, "ax"

	.globl _start
_start:				/* 0x80000000 */
	la	$sp, fw_stack_top
	la	$gp, _gp
	la	$t0, fw_bss_start
	la	$t1, fw_bss_end
1:	beq	$t0, $t1, 2f
	addiu	$t0, $t0, 4
	b	1b
	sw	$zero, -4($t0)
2:	la	$t0, fw_stack_bottom	/* painted, so that its depth can be told */
	la	$t1, fw_stack_top
	lui	$t2, 0x5a5a
	ori	$t2, $t2, 0x5a5a
3:	beq	$t0, $t1, 4f
	addiu	$t0, $t0, 4
	b	3b
	sw	$t2, -4($t0)
4:	jal	fw_main
	nop
	break				/* fw_main does not return */

	/* 0x80000080: every exception. Interrupts are only looked at, never taken: so whatever comes
	   here is a fault, and nothing has to be saved. */
	.org	0x80
fw_exception:
	mfc0	$a0, $13		/* Cause */
	mfc0	$a1, $14		/* EPC */
	la	$sp, fw_stack_top
	la	$gp, _gp
	la	$t0, fw_exception_fault
	jr	$t0
	nop
