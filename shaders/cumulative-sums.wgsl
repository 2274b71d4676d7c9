// The sum of each row's values, or of their squared distances from the mean of all rows up to it. A workgroup per row.
#import "lib/cumulative-args.wgsl"

const SQUARES = false;

@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = args.first_row + workgroup.x;
  if (!counts(row)) {
    return;
  }
  var mean = 0.0;
  if (SQUARES) {
    mean = mean_of_sums(row, local);
  }
  var sum = vec4f(0.0);
  for (var i = local; i < args.quads; i += LANES) {
    if (is_channel(i)) {
      let v = x[workgroup.x * args.quads + i] - mean;
      sum += select(v, v * v, SQUARES);
    }
  }
  let all = dot(sums_of_lanes(sum, local), vec4f(1.0));
  if (local == 0u) {
    y[row] = all;
  }
}
