// y[i] = (x[row i] - mean) / sqrt(variance + eps), then weights, then modulation; a workgroup per row. The variance is computed
// around the mean, because squares minus the squared mean would cancel. Partial sums are added in order on every adapter.
#import "lib/norm-args.wgsl"
#import "lib/pick.$PICK.wgsl"
#import "lib/inside.wgsl"
#import "lib/affine.$AFFINE.wgsl"
#import "lib/modulate.$MODULATE.wgsl"

const WORKGROUP = 32u;

var<workgroup> partial: array<array<f32, WORKGROUP>, 2>;

fn sum_of_all(value: f32, local: u32, turn: u32) -> f32 {
  partial[turn][local] = value;
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < WORKGROUP; i++) {
    sum += partial[turn][i];
  }
  return sum;
}

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
    sum += (v.x + v.y) + (v.z + v.w);
  }
  let mean = sum_of_all(sum, local, 0u) / f32(args.columns);
  var squares = 0.0;
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let v = inside(x[x0 + i] - mean, i);
    squares += dot(v, v);
  }
  let rate = inverseSqrt(sum_of_all(squares, local, 1u) / f32(args.columns) + args.eps);
  for (var i = local; i < args.quads; i += WORKGROUP) {
    let v = affine((x[x0 + i] - mean) * rate, i);
    y[y0 + i] = inside(modulate(v, args.first_row + workgroup.x, i), i);
  }
}
