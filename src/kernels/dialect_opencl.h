// The words of the kernel dialect for OpenCL C 1.2 and up; dialect.md defines them.
// The builder defines SG_LANES, SG_WORDS_… and INDEX_BITS before this.

typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;

#define KERNEL(work_group) \
  __kernel __attribute__((reqd_work_group_size(work_group, 1, 1))) SG_SIZE_ATTRIBUTE
#ifdef SG_WORDS_PTX
#define KERNEL_RESIDENT(work_group, groups) \
  __kernel  // compilers ignore a register bound if a kernel requires a work-group size
#else
#define KERNEL_RESIDENT(work_group, groups) KERNEL(work_group)
#endif
#define INLINE static inline __attribute__((always_inline))
#define OUTLINE INLINE  // compilers for CPUs need all barriers inside the kernel
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY(type, name, count) __local type name[count]
#define STATIC_ASSERT(condition, name) typedef char name[(condition) ? 1 : -1]
#define PARAMETER(name)  // the builder has checked that it is defined
#define LOCAL_STRUCT(type, name)                                                    \
  STATIC_ASSERT(sizeof(type) <= type##_BYTES, type##_is_larger_than_the_host_says); \
  __local type name##_storage __attribute__((aligned(128)));                        \
  LOCAL type* const name = &name##_storage
#define KNOWN_LOCAL(pointer)
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

#define local_id() ((u32)get_local_id(0))
#define group_id() ((u32)get_group_id(0))
#define group_count() ((u32)get_num_groups(0))

#define barrier_local() barrier(CLK_LOCAL_MEM_FENCE)
#define barrier_all() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#define local_add(p, v) atomic_add((p), (v))
#define local_or(p, v) atomic_or((p), (v))
#define local_max(p, v) atomic_max((p), (v))
#define global_add(p, v) atomic_add((p), (v))
#define global_or(p, v) atomic_or((p), (v))

#define popcount32(x) popcount((u32)(x))
#define highest_bit32(x) (31u - clz((u32)(x)))

#if defined(SG_WORDS_PTX)
INLINE u32 load_relaxed(GLOBAL const u32* p) {
  u32 v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
INLINE u32 load_acquire(GLOBAL u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
INLINE void store_release(GLOBAL u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}
INLINE void global_add_release(GLOBAL u32* p, u32 v) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}
#elif __OPENCL_C_VERSION__ >= 200
#define global_add_release(p, v)                                                          \
  atomic_fetch_add_explicit((volatile GLOBAL atomic_uint*)(p), (v), memory_order_release, \
                            memory_scope_device)
#define load_relaxed(p) \
  atomic_load_explicit((volatile GLOBAL atomic_uint*)(p), memory_order_relaxed, memory_scope_device)
#define load_acquire(p) \
  atomic_load_explicit((volatile GLOBAL atomic_uint*)(p), memory_order_acquire, memory_scope_device)
#define store_release(p, v)                                                           \
  atomic_store_explicit((volatile GLOBAL atomic_uint*)(p), (v), memory_order_release, \
                        memory_scope_device)
#else
#define load_relaxed(p) atomic_or((p), 0u)
INLINE u32 load_acquire(volatile GLOBAL u32* p) {
  const u32 v = atomic_or(p, 0u);
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  return v;
}
INLINE void store_release(volatile GLOBAL u32* p, u32 v) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_xchg(p, v);
}
INLINE void global_add_release(volatile GLOBAL u32* p, u32 v) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_add(p, v);
}
#endif

// Sub-group words.
#define sg_lane() (local_id() % SG_LANES)
#define sg_index() (local_id() / SG_LANES)

#if defined(SG_WORDS_PTX)
#define SG_SIZE_ATTRIBUTE
typedef u32 sub_group_t;
#define SUB_GROUP(work_group) const sub_group_t sg = 0
INLINE void sg_barrier(void) { asm volatile("bar.warp.sync 0xffffffff;" : : : "memory"); }
INLINE u32 sg_ballot(sub_group_t sg, u32 predicate) {
  u32 mask;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(mask)
               : "r"(predicate));
  return mask;
}
INLINE u32 sg_shuffle(sub_group_t sg, u32 value, u32 lane) {
  u32 out;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(out) : "r"(value), "r"(lane));
  return out;
}

#elif defined(SG_WORDS_KHR)
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_ballot : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#if defined(cl_intel_required_subgroup_size)
#define SG_SIZE_ATTRIBUTE __attribute__((intel_reqd_sub_group_size(SG_HARDWARE)))
#else
#define SG_SIZE_ATTRIBUTE
#endif
typedef u32 sub_group_t;
#define SUB_GROUP(work_group) const sub_group_t sg = 0
#define sg_barrier() sub_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
INLINE u32 sg_ballot(sub_group_t sg, u32 predicate) {
  const uint4 all = sub_group_ballot((int)predicate);
#if SG_HARDWARE > 32
  return get_sub_group_local_id() < 32 ? all.x : all.y;
#else
  return all.x;
#endif
}
INLINE u32 sg_shuffle(sub_group_t sg, u32 value, u32 lane) {
  return sub_group_shuffle(value, get_sub_group_local_id() / SG_LANES * SG_LANES + lane);
}

#else  // emulated in local memory: every word is a barrier of the whole work-group
#define SG_SIZE_ATTRIBUTE
typedef volatile LOCAL u32* sub_group_t;
#define SUB_GROUP(work_group)                \
  LOCAL_ARRAY(u32, sg_exchange, work_group); \
  const sub_group_t sg = sg_exchange
#define sg_barrier() barrier_all()
INLINE u32 sg_shuffle(sub_group_t sg, u32 value, u32 lane) {
  sg[local_id()] = value;
  barrier_local();
  const u32 out = sg[sg_index() * SG_LANES + lane];
  barrier_local();
  return out;
}
INLINE u32 sg_ballot(sub_group_t sg, u32 predicate) {
  sg[local_id()] = predicate;
  barrier_local();
  u32 mask = 0;
  for (u32 lane = 0; lane < SG_LANES; ++lane)
    mask |= (sg[sg_index() * SG_LANES + lane] != 0 ? 1u : 0u) << lane;
  barrier_local();
  return mask;
}
#endif
