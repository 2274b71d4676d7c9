// xIELU, in place: positive · v² + beta · v from zero on, negative · (exp(min(v, eps)) - 1 - v) + beta · v elsewhere, where the two factors are
// softplus of their parameters, the second with beta added.
#import "lib/xielu.$FROM.wgsl"

const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of columns per row
  positive: f32,
  negative: f32,
  beta: f32,
  eps: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;

fn softplus(v: f32) -> f32 {
  return max(v, 0.0) + log(1.0 + exp(-abs(v)));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= args.quads) {
    return;
  }
  let stated = parameters();
  let positive_factor = softplus(stated.x);
  let negative_factor = stated.z + softplus(stated.y);
  let i = id.y * args.quads + id.x;
  let v = x[i];
  let below = negative_factor * (exp(min(v, vec4f(stated.w))) - 1.0 - v);
  x[i] = stated.z * v + select(below, positive_factor * v * v, v >= vec4f(0.0));
}
