// Normalizes some of a row's columns in place: x / sqrt(mean(x²) + eps) · weight; a workgroup per row. Partial sums are added in
// order.
#import "lib/columns-sum.$ADDEND.wgsl"
#import "lib/rmsnorm-columns-args.wgsl"

const WORKGROUP = 32u;

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
