// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The user page, and the state of the device, in the address space of a process. */
#include <linux/mm.h>

#include "exrnic_chardev.h"
#include "exrnic_compat.h"

/*
 * By page fault, not at mmap: after removal the mapping stays, and what is stored into it is lost in a
 * page of memory, as it would be in a device that is gone.
 */
static vm_fault_t exrnic_fault_user(struct vm_fault *vmf)
{
	struct exrnic_file *file = vmf->vma->vm_file->private_data;
	vm_fault_t ret = VM_FAULT_OOM;
	unsigned long pfn = 0;

	mutex_lock(&file->map_lock);
	if (!file->unmapped)
		pfn = exrnic_page_pfn(file->uctx.edev, file->uctx.page);
	else if (file->sink || (file->sink = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO)))
		pfn = page_to_pfn(file->sink);
	if (pfn)
		ret = vmf_insert_pfn(vmf->vma, vmf->address, pfn);
	mutex_unlock(&file->map_lock);
	return ret;
}

static const struct vm_operations_struct exrnic_user_ops = {
	.fault = exrnic_fault_user,
};

/* It outlives the device: the file holds both. */
static vm_fault_t exrnic_fault_state(struct vm_fault *vmf)
{
	struct exrnic_file *file = vmf->vma->vm_file->private_data;

	vmf->page = file->uctx.edev->state_page;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct exrnic_state_ops = {
	.fault = exrnic_fault_state,
};

static int exrnic_mmap_user(struct vm_area_struct *vma)
{
	const vm_flags_t needed = VM_SHARED | VM_WRITE;

	if ((vma->vm_flags & needed) != needed || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	exrnic_vm_flags_change(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	/* So that a PIO block leaves as one packet. User space sees to the order: uapi/exrnic.h. */
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = &exrnic_user_ops;
	return 0;
}

static int exrnic_mmap_state(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & (VM_WRITE | VM_EXEC)))
		return -EINVAL;
	exrnic_vm_flags_change(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &exrnic_state_ops;
	return 0;
}

int exrnic_mmap(struct file *filp, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	switch (vma->vm_pgoff << PAGE_SHIFT) {
	case EXRNIC_MMAP_USER_PAGE:
		return exrnic_mmap_user(vma);
	case EXRNIC_MMAP_STATE_PAGE:
		return exrnic_mmap_state(vma);
	default:
		return -EINVAL;
	}
}

/* Behind the flag no fault maps the page again, so what is unmapped stays so. */
void exrnic_unmap(struct exrnic_file *file)
{
	mutex_lock(&file->map_lock);
	file->unmapped = true;
	mutex_unlock(&file->map_lock);
	unmap_mapping_range(file->mapping, 0, 0, 1);
}
