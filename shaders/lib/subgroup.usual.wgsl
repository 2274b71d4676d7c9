// The entry of kernels on matrix units where all subgroups have one size.
enable subgroups;
requires subgroup_id, subgroup_uniformity;

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  compute_tile(workgroup, local, subgroup, lane);
}
