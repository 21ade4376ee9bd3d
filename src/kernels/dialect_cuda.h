// Sortium's kernel words for CUDA C++ (NVRTC). Their meaning stands in dialect.md.
// The builder defines SG_LANES and INDEX_BITS before this.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define KERNEL(work_group) extern "C" __global__ __launch_bounds__(work_group)
#define INLINE static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY(type, name, count) __shared__ type name[count]
#define UNROLL _Pragma("unroll")

#define local_id() (threadIdx.x)
#define group_id() (blockIdx.x)
#define group_count() (gridDim.x)

#define barrier_local() __syncthreads()
#define barrier_all() __syncthreads()

#define local_add(p, v) atomicAdd((p), (v))
#define local_or(p, v) atomicOr((p), (v))
#define global_add(p, v) atomicAdd((p), (v))

#define popcount32(x) ((u32)__popc(x))

INLINE u32 load_acquire(u32 *p) {
  u32 v;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
INLINE void store_release(u32 *p, u32 v) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" : : "l"(p), "r"(v) : "memory");
}

#define sg_lane() (threadIdx.x % SG_LANES)
#define sg_index() (threadIdx.x / SG_LANES)
typedef u32 sub_group_t;
#define SUB_GROUP(work_group) const sub_group_t sg = 0
#define sg_barrier() __syncwarp()
#define sg_ballot(sg, predicate) __ballot_sync(0xffffffffu, (predicate))
#define sg_shuffle(sg, value, lane) __shfl_sync(0xffffffffu, (value), (lane))
