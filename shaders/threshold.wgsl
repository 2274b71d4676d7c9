// y = clamp(x, −s, s) / s, where s is a quantile of |x|, clamped to 1 … `most`: threshold-count.wgsl found the value of a rank and
// the next one, between which `fraction` interpolates.
const WORKGROUP = 64u;

struct Args {
  quads: u32,
  fraction: f32,
  most: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> found: array<u32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let below = bitcast<f32>(found[0]);
  var above = below;
  // The found value is the last of its equals, and not the largest of all.
  if (found[1] + 1u >= found[2] && found[3] != 0xffffffffu) {
    above = bitcast<f32>(found[3]);
  }
  let s = min(max(below + args.fraction * (above - below), 1.0), args.most);
  for (var i = id.x; i < args.quads; i += workgroups.x * WORKGROUP) {
    y[i] = clamp(x[i], vec4f(-s), vec4f(s)) / s;
  }
}
