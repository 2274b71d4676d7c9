// y[i] = x[row i] / sqrt(mean(x²) + eps) · weight, then modulation; a workgroup per row. Partial sums are added in order on every
// adapter.
#import "lib/norm-args.wgsl"
#import "lib/pick.$PICK.wgsl"
#import "lib/modulate.$MODULATE.wgsl"
#import "lib/affine.$AFFINE.wgsl"

const WORKGROUP = 32u;

var<workgroup> partial: array<f32, WORKGROUP>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let source = picked(workgroup.x);
  if (WINDOWED && source >= args.source_rows) {
    return;
  }
  let x0 = source * args.quads;
  let y0 = workgroup.x * args.quads;
  var sum = 0.0;
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let v = x[x0 + i];
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
    y[y0 + i] = modulate(affine(x[x0 + i] * rate, i), args.first_row + workgroup.x, i);
  }
}
