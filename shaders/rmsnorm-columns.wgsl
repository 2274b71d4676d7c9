// Normalizes some of a row's columns in place: x / sqrt(mean(x²) + eps) · weight; a workgroup per row. Partial sums are added in
// order.
#import "lib/columns-sum.$ADDEND.wgsl"

const WORKGROUP = 32u;

struct Args {
  stride: u32,  // quads from one row to the next
  first: u32,   // quads before the columns
  quads: u32,   // quads of these columns
  eps: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;

var<workgroup> partial: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x * args.stride + args.first;
  var sum = 0.0;
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let v = x[first + i];
    sum += dot(v, v);
  }
  partial[local] = sum;
  workgroupBarrier();
  sum = 0.0;
  for (var i = 0u; i < WORKGROUP; i++) {
    sum += partial[i];
  }
  let rate = inverseSqrt(sum / f32(4u * args.quads) + args.eps);
  for (var i = local; i < args.quads; i += WORKGROUP) {
    x[first + i] = x[first + i] * (rate * weight[i]) + addend_at(first + i);
  }
}
