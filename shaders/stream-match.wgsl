// Brings three rows to the root mean square of a fourth, with which they become its streams, or their mean. A workgroup per row.
#import "lib/four-sums.wgsl"

const MEAN = false;
const LEAST = 1e-5; // least mean of squares of those that are scaled

struct Args {
  quads: u32,       // quads of a stream
  like_stride: u32, // quads from one row of `like` to the next
}

@group(0) @binding(0) var<storage, read> like: array<vec4f>; // its first `quads` are read
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read> second: array<vec4f>;
@group(0) @binding(4) var<storage, read> third: array<vec4f>;
@group(0) @binding(5) var<storage, read> fourth: array<vec4f>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let of_like = args.like_stride * workgroup.x;
  let first = args.quads * workgroup.x;
  var squares = vec4f(0.0);
  for (var i = local; i < args.quads; i += LANES) {
    let v = like[of_like + i];
    squares.x += dot(v, v);
    squares.y += dot(second[first + i], second[first + i]);
    squares.z += dot(third[first + i], third[first + i]);
    squares.w += dot(fourth[first + i], fourth[first + i]);
  }
  let means = sums_of_lanes(squares, local) / (4.0 * f32(args.quads));
  let rates = sqrt(means.x) / sqrt(max(means.yzw, vec3f(LEAST)));
  for (var i = local; i < args.quads; i += LANES) {
    let v = like[of_like + i];
    let scaled = array<vec4f, 3>(rates.x * second[first + i], rates.y * third[first + i], rates.z * fourth[first + i]);
    if (MEAN) {
      y[first + i] = 0.25 * (v + scaled[0] + scaled[1] + scaled[2]);
    } else {
      let at = 4u * first + i;
      y[at] = v;
      y[at + args.quads] = scaled[0];
      y[at + 2u * args.quads] = scaled[1];
      y[at + 3u * args.quads] = scaled[2];
    }
  }
}
