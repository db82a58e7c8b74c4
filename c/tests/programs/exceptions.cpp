// A program in C++: a vector on a ring, with exceptions.

#define MIGBSP_MAIN
#include "migbsp.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Ring {
    std::vector<int64_t> seen;
};

} // namespace

void *bsp_create(int, char **)
{
    Ring *ring = new Ring;
    ring->seen.push_back(bsp_pid());
    return ring;
}

int bsp_superstep(void *process)
{
    Ring &ring = *static_cast<Ring *>(process);
    std::string fault = bsp_parameter_text("fault", "");
    if (fault == "throw")
        throw std::runtime_error("thrown in p" + std::to_string(bsp_pid()));
    if (fault == "at")
        ring.seen.at(1000) = 0;
    if (fault == "int")
        throw 5;
    std::size_t length = 0;
    while (const void *message = bsp_next(nullptr, &length)) {
        ring.seen.resize(length / sizeof(int64_t));
        std::memcpy(ring.seen.data(), message, length);
        ring.seen.push_back(bsp_pid());
    }
    if (bsp_index() == static_cast<uint64_t>(bsp_nprocs())) {
        bsp_output(ring.seen.data(), ring.seen.size() * sizeof(int64_t));
        return 1;
    }
    bsp_send((bsp_pid() + 1) % bsp_nprocs(), ring.seen.data(), ring.seen.size() * sizeof(int64_t));
    return 0;
}

void bsp_destroy(void *process)
{
    delete static_cast<Ring *>(process);
}

void bsp_save(void *process)
{
    const Ring &ring = *static_cast<Ring *>(process);
    bsp_write_array(ring.seen.data(), ring.seen.size(), sizeof(int64_t));
}

void *bsp_load(int, char **)
{
    Ring *ring = new Ring;
    std::size_t count = 0;
    int64_t *seen = static_cast<int64_t *>(bsp_read_array(&count, sizeof(int64_t)));
    ring->seen.assign(seen, seen + count);
    std::free(seen);
    return ring;
}
