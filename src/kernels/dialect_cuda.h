// The words of the kernel dialect for CUDA C++ (NVRTC); dialect.md defines them.
// The builder defines SG_LANES and INDEX_BITS before this.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL(work_group) extern "C" __global__ __launch_bounds__(work_group)
#define KERNEL_RESIDENT(work_group, groups) \
  extern "C" __global__ __launch_bounds__(work_group, groups)
// The first statement of every kernel. With sm_90 and up, a launch may begin as soon as all
// work-groups of the launch before it have ended. Here it waits until their writes are visible.
// (Beginning even earlier does not pay: new work-groups would occupy compute units while others
// still work.)
#if __CUDA_ARCH__ >= 900
#define KERNEL_BEGIN asm volatile("griddepcontrol.wait;" : : : "memory");
#else
#define KERNEL_BEGIN
#endif
#define INLINE static __device__ __forceinline__
#define OUTLINE static __device__ __noinline__
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY(type, name, count) __shared__ type name[count]
#define STATIC_ASSERT(condition, name) static_assert(condition, #name)
#define PARAMETER(name)  // the builder has checked that it is defined
#define LOCAL_STRUCT(type, name)                                                    \
  STATIC_ASSERT(sizeof(type) <= type##_BYTES, type##_is_larger_than_the_host_says); \
  extern __shared__ __align__(128) unsigned char name##_raw[];                      \
  type* const name = (type*)name##_raw
#define KNOWN_LOCAL(pointer) \
  pointer = (decltype(pointer))__cvta_shared_to_generic(__cvta_generic_to_shared(pointer))
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")

#define local_id() (threadIdx.x)
#define group_id() (blockIdx.x)
#define group_count() (gridDim.x)

#define barrier_local() __syncthreads()
#define barrier_all() __syncthreads()

#define local_add(p, v) atomicAdd((p), (v))
#define local_or(p, v) atomicOr((p), (v))
#define local_max(p, v) atomicMax((p), (v))
#define global_add(p, v) atomicAdd((p), (v))
#define global_or(p, v) atomicOr((p), (v))

INLINE void global_add_release(u32* p, u32 v) {
  asm volatile("red.release.gpu.global.add.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

#define popcount32(x) ((u32)__popc(x))
#define highest_bit32(x) (31u - (u32)__clz((int)(x)))
#define as_uint(x) __float_as_uint(x)
#define as_float(x) __uint_as_float(x)

INLINE u32 load_relaxed(const u32* p) {
  u32 v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
INLINE u32 load_acquire(u32* p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
INLINE void store_release(u32* p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

#define sg_lane() (threadIdx.x % SG_LANES)
#define sg_index() (threadIdx.x / SG_LANES)
typedef u32 sub_group_t;
#define SUB_GROUP(work_group) const sub_group_t sg = 0
#define sg_barrier() __syncwarp()
#define sg_ballot(sg, predicate) __ballot_sync(0xffffffffu, (predicate))
#define sg_shuffle(sg, value, lane) __shfl_sync(0xffffffffu, (value), (lane))

// Access to the local memory of the cluster's other work-groups. The receiver's mbarrier counts the
// bytes sent to it. This avoids a fence, which takes some 900 cycles.
#if __CUDA_ARCH__ >= 900
#define HAS_CLUSTERS 1
typedef u64 arrivals_t;
INLINE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
INLINE void arrivals_init(arrivals_t* state) {
  asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;"
               :
               : "r"(shared_address(state)));
}
INLINE void arrivals_expect(arrivals_t* state, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
               :
               : "r"(shared_address(state)), "r"(bytes)
               : "memory");
}
INLINE void arrivals_wait(arrivals_t* state, u32 turn) {
  asm volatile(
      "{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; @!done bra "
      "again; }"
      :
      : "r"(shared_address(state)), "r"(turn & 1)
      : "memory");
}
#define cluster_arrive() asm volatile("barrier.cluster.arrive.relaxed.aligned;" : : : "memory")
#define cluster_wait() asm volatile("barrier.cluster.wait.acquire.aligned;" : : : "memory")
INLINE u32 cluster_address(const void* p, u32 group) {
  u32 a;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(shared_address(p)), "r"(group));
  return a;
}
#define CLUSTER_SEND "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
INLINE void cluster_send(u32* p, u32 group, u32 v, arrivals_t* state) {
  asm volatile(CLUSTER_SEND ".b32 [%0], %1, [%2];"
               :
               : "r"(cluster_address(p, group)), "r"(v), "r"(cluster_address(state, group))
               : "memory");
}
INLINE void cluster_send(u64* p, u32 group, u64 v, arrivals_t* state) {
  asm volatile(CLUSTER_SEND ".b64 [%0], %1, [%2];"
               :
               : "r"(cluster_address(p, group)), "l"(v), "r"(cluster_address(state, group))
               : "memory");
}
INLINE void cluster_send16(void* p, u32 group, const void* from, arrivals_t* state) {
  const uint4 v = *(const uint4*)from;
  asm volatile(CLUSTER_SEND ".v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
               :
               : "r"(cluster_address(p, group)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w),
                 "r"(cluster_address(state, group))
               : "memory");
}
#endif
