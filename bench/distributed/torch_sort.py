"""PyTorch beside distributed-device-rate: a sample sort as people write it with torch.distributed.

    torch_sort.py [FILE]

Starts a process for each GPU. Sorts int32 and int64 keys, as PyTorch sorts no unsigned ones.
torch.sort is stable here, but the sample sort divides ties at random borders, and its parts are
not balanced. Prints a table, and writes it to FILE as JSON.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing


def sample_sort(x):
    ranks = dist.get_world_size()
    mine = torch.sort(x).values
    samples = mine[:: max(len(mine) // 256, 1)].contiguous()
    gathered = [torch.empty_like(samples) for _ in range(ranks)]
    dist.all_gather(gathered, samples)
    all_samples = torch.sort(torch.cat(gathered)).values
    splitters = all_samples[len(all_samples) // ranks :: len(all_samples) // ranks][: ranks - 1]
    end = torch.tensor([len(mine)], device=x.device)
    ends = torch.cat([torch.searchsorted(mine, splitters), end])
    send = torch.diff(ends, prepend=torch.zeros(1, dtype=ends.dtype, device=x.device))
    receive = torch.empty_like(send)
    dist.all_to_all_single(receive, send)
    part = torch.empty(int(receive.sum()), dtype=x.dtype, device=x.device)
    dist.all_to_all_single(part, mine, receive.tolist(), send.tolist())
    return torch.sort(part).values


def seconds_of(sort, x, runs=4):
    times = []
    for _ in range(runs):
        torch.cuda.synchronize()
        dist.barrier()
        start = time.perf_counter()
        result = sort(x)
        torch.cuda.synchronize()
        dist.barrier()
        times.append(time.perf_counter() - start)
        assert bool((result[1:] >= result[:-1]).all())
        del result
    return statistics.median(times[1:])


def rank_main(rank, ranks, port, file):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    rows = []
    for dtype, log2 in ((torch.int32, 28), (torch.int64, 28), (torch.int32, 30)):
        name = f"{str(dtype)[6:]}:none:2^{log2}:uniform"
        try:
            low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
            x = torch.randint(low, high, (2**log2,), dtype=dtype, device="cuda")
            alone = seconds_of(lambda keys: torch.sort(keys).values, x)
            seconds = seconds_of(sample_sort, x)
            row = {"sort": name, "seconds": seconds, "one_device_seconds": alone}
            row["records_per_second"] = ranks * 2**log2 / seconds
        except torch.cuda.OutOfMemoryError:
            # The other ranks may wait in a collective call: end all.
            print(f"{name}: skipped: rank {rank} has too little memory", flush=True)
            os._exit(3)
        rows.append(row)
        if rank == 0:
            print(row, flush=True)
            if file is not None:
                with open(file, "w") as out:
                    json.dump({"torch": torch.__version__, "ranks": ranks, "rows": rows}, out)
        del x
        torch.cuda.empty_cache()
    dist.destroy_process_group()


if __name__ == "__main__":
    ranks = torch.cuda.device_count()
    file = sys.argv[1] if len(sys.argv) > 1 else None
    torch.multiprocessing.spawn(rank_main, (ranks, 29500 + os.getpid() % 1000, file), ranks)
