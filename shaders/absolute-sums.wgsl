// Parts of Σ|x - y| and Σ|y|: a workgroup adds the quads of a strip that it walks through.
const WORKGROUP = 64u;

struct Args {
  all_quads: u32, // quads of the strip's rows
  first: u32,     // part of the first workgroup
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> y: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> parts: array<vec4f>; // Σ|x - y|, Σ|y|, 0, 0

var<workgroup> sums: array<vec2f, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(global_invocation_id) id: vec3u,
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  var apart = vec4f(0.0);
  var size = vec4f(0.0);
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let b = y[i];
    apart += abs(x[i] - b);
    size += abs(b);
  }
  sums[local] = vec2f(dot(apart, vec4f(1.0)), dot(size, vec4f(1.0)));
  for (var half = WORKGROUP / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      sums[local] += sums[local + half];
    }
  }
  if (local == 0u) {
    parts[args.first + workgroup.x] = vec4f(sums[0], 0.0, 0.0);
  }
}
