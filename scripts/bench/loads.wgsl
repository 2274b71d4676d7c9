// The limit of reading: each invocation of a workgroup reads the next vec4u in turn, two per iteration.
struct Args {
  turns: u32,
}

@group(0) @binding(0) var<storage, read_write> sink: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> source: array<vec4u>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  var sum = vec4u(0u);
  let first = workgroup.x * args.turns * 128u + local % 8u + local / 8u * 16u * args.turns;
  for (var i = 0u; i < args.turns; i++) {
    sum += source[first + i * 16u];
    sum += source[first + i * 16u + 8u];
  }
  sink[workgroup.x * 64u + local] = vec4f(sum);
}
