// Collects the runs of blocks into a ring (gather), or spreads them again (scatter).
//
// gather.ptx is made of this by `python -m tests.gpu.kernel`, with the compiler of nvidia-cuda-nvrtc-cu12 12.0.140: a driver for CUDA
// 12.0 reads what that writes, and so do all later ones.

// As native/core/src/cuda/gather/mod.rs writes it.
struct Run {
    unsigned long long address;       // of block 0
    unsigned long long block_stride;
    unsigned long long page_offset;
    unsigned long long length;
};

// As `Moves` there: block and slot of each page.
struct Moves {
    unsigned int count;
    unsigned int pairs[2 * 256];
};

template <typename T>
__device__ void move(char *to, const char *from, unsigned long long length) {
    const unsigned long long count = length / sizeof(T), step = blockDim.x;
    const T *source = reinterpret_cast<const T *>(from);
    T *target = reinterpret_cast<T *>(to);
    unsigned long long at = threadIdx.x;
    // Four at a time: loads are under way together.
    for (; at + 3 * step < count; at += 4 * step) {
        const T a = source[at], b = source[at + step], c = source[at + 2 * step], d = source[at + 3 * step];
        target[at] = a;
        target[at + step] = b;
        target[at + 2 * step] = c;
        target[at + 3 * step] = d;
    }
    for (; at < count; at += step) target[at] = source[at];
}

extern "C" __global__ void move_runs(const Run *runs, unsigned int run_count, unsigned long long ring,
                                     unsigned long long slot_stride, unsigned int is_scatter, Moves moves) {
    const unsigned int items = moves.count * run_count;
    for (unsigned int item = blockIdx.x; item < items; item += gridDim.x) {
        const Run run = runs[item % run_count];
        const unsigned int page = item / run_count;
        const unsigned long long block = run.address + moves.pairs[2 * page] * run.block_stride;
        const unsigned long long slot = ring + moves.pairs[2 * page + 1] * slot_stride + run.page_offset;
        char *to = reinterpret_cast<char *>(is_scatter ? block : slot);
        const char *from = reinterpret_cast<const char *>(is_scatter ? slot : block);
        const unsigned long long all = block | slot | run.length;
        if (all % 16 == 0) move<int4>(to, from, run.length);
        else if (all % 4 == 0) move<int>(to, from, run.length);
        else move<char>(to, from, run.length);
    }
}
