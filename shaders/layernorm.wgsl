// y[i] = (x[row i] - mean) / sqrt(variance + eps), then weights, then modulation; a workgroup per row. The variance is computed
// around the mean, because squares minus the squared mean would cancel. Partial sums are added in order on every adapter.
#import "lib/pick.$PICK.wgsl"
#import "lib/inside.wgsl"
#import "lib/affine.$AFFINE.wgsl"
#import "lib/modulate.$MODULATE.wgsl"

const WORKGROUP = 32u;
// Whether only a part of x is bound; rows that are not in it are left to other dispatches.
const WINDOWED = false;

struct Args {
  quads: u32,       // quads of columns per row
  columns: u32,
  eps: f32,
  first_row: u32,   // rows before this strip; this and the following members are for modulation
  item_rows: u32,   // rows that share a row of scale and shift
  scale_quads: u32, // quads from one row of scale to the next
  scale_first: u32, // first quad of the scale's columns
  shift_quads: u32,
  shift_first: u32,
  first_index: u32,  // with WINDOWED: entries of the index before this strip
  first_source: u32, // rows of x before the bound ones
  source_rows: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

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
