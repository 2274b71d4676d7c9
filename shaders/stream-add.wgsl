// Adds the RMSNorm of a row to all of its streams but the first, in place. A workgroup per row.
#import "lib/four-sums.wgsl"

struct Args {
  quads: u32, // quads of a stream
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> streams: array<vec4f>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = args.quads * workgroup.x;
  var squares = vec4f(0.0);
  for (var i = local; i < args.quads; i += LANES) {
    squares += x[first + i] * x[first + i];
  }
  let mean = dot(sums_of_lanes(squares, local), vec4f(1.0)) / (4.0 * f32(args.quads));
  let rate = inverseSqrt(mean + args.eps);
  for (var i = local; i < args.quads; i += LANES) {
    let added = rate * x[first + i] * weight[i];
    for (var q = 1u; q < 4u; q++) {
      streams[4u * first + q * args.quads + i] += added;
    }
  }
}
