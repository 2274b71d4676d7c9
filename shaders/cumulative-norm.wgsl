// max((x − mean) / sqrt(variance + eps) · weight, 0) with the mean and the variance of all rows up to a row; rows that do not count become zeros. A
// workgroup per row.
#import "lib/cumulative-args.wgsl"

@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<storage, read> squares: array<f32>;
@group(0) @binding(5) var<storage, read> weight: array<vec4f>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = args.first_row + workgroup.x;
  let is_counted = counts(row);
  var mean = 0.0;
  var rate = 0.0;
  if (is_counted) {
    mean = mean_of_sums(row, local);
    var sum = vec4f(0.0);
    for (var i = args.first + local; i <= row; i += LANES) {
      sum.x += squares[i];
    }
    let variance = sums_of_lanes(sum, local).x / (args.values * f32(row - args.first + 1u));
    rate = inverseSqrt(variance + args.eps);
  }
  for (var i = local; i < args.quads; i += LANES) {
    var value = vec4f(0.0);
    if (is_counted && is_channel(i)) {
      value = max((x[workgroup.x * args.quads + i] - mean) * rate * weight[i % args.place_quads], vec4f(0.0));
    }
    y[workgroup.x * args.quads + i] = value;
  }
}
