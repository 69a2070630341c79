// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The user page, the state of the device, and remote windows in the address space of a process. */
#include <linux/mm.h>
#include <linux/nospec.h>

#include "file.h"

static unsigned long exrnic_window_pages(const struct exrnic_file *file)
{
	return exrnic_device_limits(file->uctx.edev)->window_size / PAGE_SIZE;
}

/* Windows follow the first pages of the file, at multiples of their size. */
u64 exrnic_window_offset(const struct exrnic_file *file, u32 first)
{
	return (1 + (u64)first) * exrnic_window_pages(file) * PAGE_SIZE;
}

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
		pfn = PHYS_PFN(exrnic_page_address(file->uctx.edev, file->uctx.page));
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

	vmf->page = file->uctx.state_page;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct exrnic_state_ops = {
	.fault = exrnic_fault_state,
};

/* Which window this page of the file shows. The first pages are before all windows: beyond the last one. */
static unsigned long exrnic_window_of_page(const struct exrnic_file *file, unsigned long pgoff)
{
	return pgoff / exrnic_window_pages(file) - 1;
}

/* Whether the file has this window now. */
static bool exrnic_has_window(struct exrnic_file *file, unsigned long window)
{
	lockdep_assert_held(&file->map_lock);
	if (file->unmapped || window >= EXRNIC_MAX_WINDOWS)
		return false;
	return test_bit(array_index_nospec(window, EXRNIC_MAX_WINDOWS), file->windows);
}

/* The mapping outlives the window, and never shows what another file has made of its place. */
static vm_fault_t exrnic_fault_window(struct vm_fault *vmf)
{
	struct exrnic_file *file = vmf->vma->vm_file->private_data;
	unsigned long first = PHYS_PFN(exrnic_window_address(file->uctx.edev));
	vm_fault_t ret = VM_FAULT_SIGBUS;

	mutex_lock(&file->map_lock);
	if (exrnic_has_window(file, exrnic_window_of_page(file, vmf->pgoff)))
		ret = vmf_insert_pfn(vmf->vma, vmf->address,
				     first + vmf->pgoff - exrnic_window_pages(file));
	mutex_unlock(&file->map_lock);
	return ret;
}

static const struct vm_operations_struct exrnic_window_ops = {
	.fault = exrnic_fault_window,
};

static bool exrnic_windows_have_pages(struct exrnic_file *file, unsigned long pgoff,
				      unsigned long pages)
{
	unsigned long last = exrnic_window_of_page(file, pgoff + pages - 1);
	unsigned long window = exrnic_window_of_page(file, pgoff);
	bool all = pages <= EXRNIC_MAX_WINDOWS * exrnic_window_pages(file);

	mutex_lock(&file->map_lock);
	for (; all && window != last + 1; window++)
		all = exrnic_has_window(file, window);
	mutex_unlock(&file->map_lock);
	return all;
}

/* So that neighbours leave as one packet. User space sees to the order: uapi/exrnic.h. */
static int exrnic_mmap_device(struct vm_area_struct *vma, const struct vm_operations_struct *ops)
{
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	exrnic_vm_flags_change(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC);
	vma->vm_page_prot = pgprot_writecombine(vma->vm_page_prot);
	vma->vm_ops = ops;
	return 0;
}

static int exrnic_mmap_user(struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_WRITE ? exrnic_mmap_device(vma, &exrnic_user_ops) : -EINVAL;
}

static int exrnic_mmap_state(struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & (VM_WRITE | VM_EXEC)))
		return -EINVAL;
	exrnic_vm_flags_change(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &exrnic_state_ops;
	return 0;
}

/* Loads through a window may be all that somebody wants: it need not be writable. */
int exrnic_mmap(struct file *filp, struct vm_area_struct *vma)
{
	const bool one_page = vma_pages(vma) == 1;

	if (one_page && vma->vm_pgoff == PHYS_PFN(EXRNIC_MMAP_USER_PAGE))
		return exrnic_mmap_user(vma);
	if (one_page && vma->vm_pgoff == PHYS_PFN(EXRNIC_MMAP_STATE_PAGE))
		return exrnic_mmap_state(vma);
	if (exrnic_windows_have_pages(filp->private_data, vma->vm_pgoff, vma_pages(vma)))
		return exrnic_mmap_device(vma, &exrnic_window_ops);
	return -EINVAL;
}

/* Behind the flag no fault maps a page of the device again, so what is unmapped stays so. */
void exrnic_unmap(struct exrnic_file *file)
{
	mutex_lock(&file->map_lock);
	file->unmapped = true;
	mutex_unlock(&file->map_lock);
	unmap_mapping_range(file->mapping, 0, 0, 1);
}

void exrnic_map_window(struct exrnic_file *file, const struct exrnic_window *window)
{
	mutex_lock(&file->map_lock);
	bitmap_set(file->windows, window->first, window->count);
	mutex_unlock(&file->map_lock);
}

/* Likewise for one window. Its range of the file is of no other file of the device. */
void exrnic_unmap_window(struct exrnic_file *file, const struct exrnic_window *window)
{
	mutex_lock(&file->map_lock);
	bitmap_clear(file->windows, window->first, window->count);
	mutex_unlock(&file->map_lock);
	unmap_mapping_range(file->mapping, exrnic_window_offset(file, window->first),
			    (u64)window->count * exrnic_window_pages(file) * PAGE_SIZE, 1);
}
