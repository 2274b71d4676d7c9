// Size of the subgroup, and lane in it, of each invocation of a workgroup.
enable subgroups;

const WORKGROUP = 32u;

@group(0) @binding(0) var<storage, read_write> sink: array<vec2u>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(local_invocation_index) i: u32,
  @builtin(subgroup_size) size: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  sink[i] = vec2u(size, lane);
}
