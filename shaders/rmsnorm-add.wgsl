// y = whole(y + gate · x / sqrt(mean(x²) + eps) · weight), a workgroup per row. Partial sums are added in order on every adapter.
#import "lib/gate.$GATE.wgsl"
#import "lib/rmsnorm-add-args.wgsl"
#import "lib/whole.$WHOLE.wgsl"

const WORKGROUP = 32u;

var<workgroup> partial: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x * args.quads;
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
  let rate = inverseSqrt(sum / f32(args.columns) + args.eps);
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let added = gated(x[first + i] * rate * weight[i], args.first_row + workgroup.x, i);
    y[first + i] = whole(y[first + i] + added);
  }
}
