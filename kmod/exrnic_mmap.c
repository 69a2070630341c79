// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The user page in the address space of its process. */
#include <linux/mm.h>

#include "exrnic_chardev.h"
#include "exrnic_compat.h"

/* By page fault, not at mmap: after removal the mapping stays, and a store gets SIGBUS. */
static vm_fault_t exrnic_fault(struct vm_fault *vmf)
{
	struct exrnic_file *file = vmf->vma->vm_file->private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&file->map_lock);
	if (!file->unmapped)
		ret = vmf_insert_pfn(vmf->vma, vmf->address,
				     exrnic_page_pfn(file->uctx.edev, file->uctx.page));
	mutex_unlock(&file->map_lock);
	return ret;
}

static const struct vm_operations_struct exrnic_vm_ops = {
	.fault = exrnic_fault,
};

int exrnic_mmap(struct file *filp, struct vm_area_struct *vma)
{
	const vm_flags_t needed = VM_SHARED | VM_WRITE;

	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != PAGE_SIZE)
		return -EINVAL;
	if ((vma->vm_flags & needed) != needed || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	exrnic_vm_flags_change(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	/* So that a PIO block leaves as one packet. User space sees to the order: uapi/exrnic.h. */
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = &exrnic_vm_ops;
	return 0;
}

/* Behind the flag no fault maps the page again, so what is unmapped stays so. */
void exrnic_unmap(struct exrnic_file *file)
{
	mutex_lock(&file->map_lock);
	file->unmapped = true;
	mutex_unlock(&file->map_lock);
	unmap_mapping_range(file->mapping, 0, 0, 1);
}
