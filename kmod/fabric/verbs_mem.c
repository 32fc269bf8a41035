// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that peers reach, and their rights to it.
 *
 * nic: the kernel's unsafe global key carries no atomics, so every right is a fast registration posted on the loopback
 * pair. rpc: the device knows nothing of memory and rights; they are looked up by who carries requests out.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "rpc.h"
#include "verbs.h"

static void rdf_mem_put_parts(struct rdf_mem *mem)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(&mem->sg, sg, i)
		if (sg_page(sg))
			free_pages_exact(sg_virt(sg), sg->length);
	sg_free_table(&mem->sg);
}

/* Pages, not vmalloc: rxe uses the kernel address of what it is given. */
static int rdf_mem_get_nic(struct rdf_mem *mem)
{
	unsigned int nr = DIV_ROUND_UP(mem->size, RDF_MEM_PART), i;
	size_t left = mem->size;
	struct scatterlist *sg;
	void *va;

	if (sg_alloc_table(&mem->sg, nr, GFP_KERNEL))
		return -ENOMEM;
	for_each_sgtable_sg(&mem->sg, sg, i) {
		size_t len = min_t(size_t, left, RDF_MEM_PART);

		va = alloc_pages_exact(len, GFP_KERNEL | __GFP_ZERO);
		if (!va)
			goto put;
		sg_set_buf(sg, va, len);
		left -= len;
	}
	mem->nr_mapped = ib_dma_map_sg(mem->dom->dev->ib, mem->sg.sgl, nr, DMA_BIDIRECTIONAL);
	if (mem->nr_mapped <= 0)
		goto put;
	if (nr == 1)
		mem->va = sg_virt(mem->sg.sgl);
	return 0;

put:
	rdf_mem_put_parts(mem);
	return -ENOMEM;
}

/* Only processors look at it. */
static int rdf_mem_get_rpc(struct rdf_mem *mem)
{
	mem->va = kvzalloc(mem->size, GFP_KERNEL);
	return mem->va ? 0 : -ENOMEM;
}

struct rdf_mem *rdf_mem_alloc(struct rdf_dom *dom, size_t size)
{
	struct ib_device *ib = dom->dev->ib;
	bool rpc = dom->backend == RDL_BACKEND_RPC;
	struct rdf_mem *mem;

	size = PAGE_ALIGN(size);
	if (!size || (!rpc && size >> PAGE_SHIFT > ib->attrs.max_fast_reg_page_list_len))
		return ERR_PTR(-EINVAL);
	mem = kzalloc(sizeof(*mem), GFP_KERNEL);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	mem->dom = dom;
	mem->size = size;
	if (rpc ? rdf_mem_get_rpc(mem) : rdf_mem_get_nic(mem)) {
		kfree(mem);
		return ERR_PTR(-ENOMEM);
	}
	return mem;
}

void rdf_mem_free(struct rdf_mem *mem)
{
	WARN_ON(atomic_read(&mem->nr_mrs));
	if (mem->dom->backend == RDL_BACKEND_NIC) {
		ib_dma_unmap_sg(mem->dom->dev->ib, mem->sg.sgl, mem->sg.orig_nents, DMA_BIDIRECTIONAL);
		rdf_mem_put_parts(mem);
	} else {
		kvfree(mem->va);
	}
	kfree(mem);
}

void *rdf_mem_va(struct rdf_mem *mem)
{
	return mem->va;
}

/* What the processor wrote before anybody had a right; later, that would be older than what the device wrote. */
static void rdf_mem_sync(struct rdf_mem *mem)
{
	struct scatterlist *sg;
	int i;

	if (mem->synced)
		return;
	for_each_sg(mem->sg.sgl, sg, mem->nr_mapped, i)
		ib_dma_sync_single_for_device(mem->dom->dev->ib, sg_dma_address(sg), sg_dma_len(sg), DMA_BIDIRECTIONAL);
	mem->synced = true;
}

static int rdf_mr_reg_nic(struct rdf_mr *mr)
{
	struct rdf_mem *mem = mr->mem;
	struct rdf_dom *dom = mem->dom;
	struct ib_reg_wr wr = { };
	int n, err;

	mr->ib = ib_alloc_mr(dom->pd, IB_MR_TYPE_MEM_REG, mem->size >> PAGE_SHIFT);
	if (IS_ERR(mr->ib))
		return PTR_ERR(mr->ib);
	/* PAGE_SIZE always: rxe had other sizes wrong for long. */
	n = ib_map_mr_sg(mr->ib, mem->sg.sgl, mem->nr_mapped, NULL, PAGE_SIZE);
	if (n != mem->nr_mapped) {
		err = n < 0 ? n : -EINVAL;
		goto dereg;
	}
	/* Peers learn where it begins; with rxe that would be an address of this kernel. */
	mr->ib->iova = PAGE_SIZE;
	rdf_mem_sync(mem);
	/*
	 * The key's low byte is ours; an unpredictable one makes a stale key of a freed MR a little less likely to fit.
	 */
	ib_update_fast_reg_key(mr->ib, get_random_u32());

	wr.wr.opcode = IB_WR_REG_MR;
	wr.mr = mr->ib;
	wr.key = mr->ib->rkey;
	/* A device that writes atomics' results needs the local right as well. */
	wr.access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ;
	wr.access |= mr->access == RDF_ACCESS_ATOMIC ? IB_ACCESS_REMOTE_ATOMIC : IB_ACCESS_REMOTE_WRITE;

	mutex_lock(&dom->reg_mutex);
	err = rdf_loop_exec(dom->loop, &wr.wr);
	mutex_unlock(&dom->reg_mutex);
	if (err)
		goto dereg;
	mr->to = (struct rdf_addr){ .addr = mr->ib->iova, .rkey = mr->ib->rkey };
	return 0;

dereg:
	ib_dereg_mr(mr->ib);
	return err;
}

struct rdf_mr *rdf_mr_reg(struct rdf_mem *mem, unsigned int access)
{
	struct rdf_dom *dom = mem->dom;
	struct rdf_mr *mr;
	int err;

	if (access != RDF_ACCESS_ATOMIC && access != RDF_ACCESS_DATA)
		return ERR_PTR(-EINVAL);
	if (!dom->loop)
		return ERR_PTR(-EINVAL);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mem = mem;
	mr->access = access;
	err = dom->backend == RDL_BACKEND_RPC ? rdf_rpc_grant(mr) : rdf_mr_reg_nic(mr);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	atomic_inc(&mem->nr_mrs);
	return mr;
}

static void rdf_mr_dereg_nic(struct rdf_mr *mr)
{
	struct rdf_dom *dom = mr->mem->dom;
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.ex.invalidate_rkey = mr->ib->rkey,
	};

	/*
	 * The invalidation is the fence that is known to be over when it completes. Without a loopback pair (the device
	 * is going) freeing the MR alone takes the right away.
	 */
	if (!rdf_dom_gone(dom)) {
		mutex_lock(&dom->reg_mutex);
		rdf_loop_exec(dom->loop, &wr);
		mutex_unlock(&dom->reg_mutex);
	}
	ib_dereg_mr(mr->ib);
}

void rdf_mr_dereg(struct rdf_mr *mr)
{
	if (mr->mem->dom->backend == RDL_BACKEND_RPC)
		rdf_rpc_revoke(mr);
	else
		rdf_mr_dereg_nic(mr);
	atomic_dec(&mr->mem->nr_mrs);
	kfree(mr);
}

struct rdf_addr rdf_mr_addr(struct rdf_mr *mr)
{
	return mr->to;
}
