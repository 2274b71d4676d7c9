// AltUp behind a layer: what the layer changed of the first stream is added to all four, in place, by factors that the router takes from the
// layer's output. The first is also written alone, times a gain for each column. A workgroup per row.
#import "lib/stream-router.wgsl"

struct Args {
  quads: u32,        // quads of a stream
  factor_quads: u32, // quads from one row of factors to the next
  eps: f32,
}

@group(0) @binding(2) var<storage, read> factors: array<vec4f>; // [4, 4]
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> streams: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> scaled: array<vec4f>;
@group(0) @binding(6) var<storage, read> layer: array<vec4f>;
@group(0) @binding(7) var<storage, read> gain: array<vec4f>;

var<private> first: u32;

fn routed_quad(i: u32) -> vec4f {
  return layer[first + i];
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  first = args.quads * workgroup.x;
  let routes = routed(local);
  for (var i = local; i < args.quads; i += LANES) {
    let at = 4u * first + i;
    let change = layer[first + i] - streams[at];
    for (var q = 0u; q < 4u; q++) {
      streams[at + q * args.quads] += change * (dot(factors[q * args.factor_quads], routes) + 1.0);
    }
    scaled[first + i] = streams[at] * gain[i];
  }
}
