// y[i] = x[row i] / sqrt(mean(x²) + eps) · weight, then modulation; a workgroup per row. Partial sums are added in order on every
// adapter.
#import "lib/pick.$PICK.wgsl"
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
  first_index: u32, // with WINDOWED: entries of the index before this strip
  first_source: u32, // rows of x before the bound ones
  source_rows: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

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
    y[y0 + i] = modulate(x[x0 + i] * rate * weight[i], args.first_row + workgroup.x, i);
  }
}
