// y = x · weight, and 1 / sqrt(mean(x²) + eps) of each row, for products of many decode rows that multiply their sums by it. A workgroup per
// row, whose lanes add squares in the order of matvec.wgsl.
#import "lib/squares.wgsl"

const SLICES = 32u; // as in matvec.wgsl

struct Args {
  blocks: u32,  // of 32 columns
  columns: u32,
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> rates: array<f32>; // 32 apart

var<workgroup> squares: array<f32, 8u * SLICES>;

@compute @workgroup_size(8u * SLICES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row0 = workgroup.x * args.blocks * 8u;
  var square = 0.0;
  for (var quad = local; quad < args.blocks * 8u; quad += 8u * SLICES) {
    let v = x[row0 + quad];
    square = with_squares(square, v);
    y[row0 + quad] = v * weight[quad];
  }
  squares[local] = square;
  workgroupBarrier();
  var lane_sum = 0.0;
  if (local < 8u) {
    for (var s = 0u; s < SLICES; s++) {
      lane_sum += squares[s * 8u + local];
    }
  }
  workgroupBarrier();
  squares[local] = lane_sum;
  workgroupBarrier();
  if (local == 0u) {
    var total = 0.0;
    for (var i = 0u; i < 8u; i++) {
      total += squares[i];
    }
    rates[workgroup.x * 32u] = rate_of(total);
  }
}
