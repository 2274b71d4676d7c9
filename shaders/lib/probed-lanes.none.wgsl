// No subgroups.
struct Lanes {
  @builtin(num_workgroups) unused: vec3u,
}

fn probe_lanes(lanes: Lanes, i: u32) -> vec3u {
  return vec3u(0u);
}
