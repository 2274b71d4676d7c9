// AltUp before a layer: each of a row's four streams becomes itself plus a mix of all four, in place, with factors that the router takes from the
// first. The first is also written alone, for the layer to read. A workgroup per row.
#import "lib/stream-router.wgsl"

struct Args {
  quads: u32,        // quads of a stream
  factor_quads: u32, // quads from one row of factors to the next
  eps: f32,
}

@group(0) @binding(2) var<storage, read> factors: array<vec4f>; // [16, 4]: rows 4 q to 4 q + 3 make what each stream adds to stream q
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> streams: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> leading: array<vec4f>;

var<private> first: u32;

fn routed_quad(i: u32) -> vec4f {
  return streams[first + i];
}

fn factors_of(stream: u32, routes: vec4f) -> vec4f {
  let at = 4u * stream * args.factor_quads;
  return vec4f(
    dot(factors[at], routes),
    dot(factors[at + args.factor_quads], routes),
    dot(factors[at + 2u * args.factor_quads], routes),
    dot(factors[at + 3u * args.factor_quads], routes),
  );
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  first = 4u * args.quads * workgroup.x;
  let routes = routed(local);
  let c0 = factors_of(0u, routes);
  let c1 = factors_of(1u, routes);
  let c2 = factors_of(2u, routes);
  let c3 = factors_of(3u, routes);
  for (var i = local; i < args.quads; i += LANES) {
    let at = first + i;
    let s0 = streams[at];
    let s1 = streams[at + args.quads];
    let s2 = streams[at + 2u * args.quads];
    let s3 = streams[at + 3u * args.quads];
    let mixed = s0 + c0.x * s0 + c0.y * s1 + c0.z * s2 + c0.w * s3;
    streams[at] = mixed;
    streams[at + args.quads] = s1 + c1.x * s0 + c1.y * s1 + c1.z * s2 + c1.w * s3;
    streams[at + 2u * args.quads] = s2 + c2.x * s0 + c2.y * s1 + c2.z * s2 + c2.w * s3;
    streams[at + 3u * args.quads] = s3 + c3.x * s0 + c3.y * s1 + c3.z * s2 + c3.w * s3;
    leading[args.quads * workgroup.x + i] = mixed;
  }
}
