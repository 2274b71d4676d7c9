// Size of the subgroup, lane in it, and whether broadcasts and shuffles among its first four lanes bring the values of the invocations that have
// those lanes if subgroups follow each other in the order of invocations.
enable subgroups;

struct Lanes {
  @builtin(subgroup_invocation_id) id: u32,
  @builtin(subgroup_size) size: u32,
}

fn probe_lanes(lanes: Lanes, i: u32) -> vec3u {
  let first = i - min(i, lanes.id);
  let broadcast = vec2u(subgroupBroadcast(i, 0u), subgroupBroadcast(i, 3u));
  let shuffled = vec2u(subgroupShuffle(i, (lanes.id + 1u) % 4u), subgroupShuffleXor(i, 2u));
  let agrees = all(broadcast == vec2u(first, first + 3u)) && all(shuffled == vec2u(first + (lanes.id + 1u) % 4u, i ^ 2u));
  return vec3u(lanes.size, lanes.id, u32(agrees));
}
