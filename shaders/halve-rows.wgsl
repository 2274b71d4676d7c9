// Rows of x as f16, for products on matrix units: each row has a factor of its own (lib/half-factors.wgsl). The one that undoes it stands behind
// the row.
#import "lib/largest-magnitude.wgsl"
#import "lib/half-factors.wgsl"

struct Args {
  x_quads: u32,   // quads from one row of x to the next
  quads: u32,     // quads that hold values of x
  y_quads: u32,   // quads of words from one row of y to the next
  blocks: u32,    // blocks of 32 k's; a block takes four quads of words
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4u>; // [row][k / 8], then the factor
@group(0) @binding(2) var<uniform> args: Args;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let x0 = workgroup.x * args.x_quads;
  var most = vec4f(0.0);
  for (var quad = local; quad < args.quads; quad += LANES) {
    most = max(most, abs(x[x0 + quad]));
  }
  let factors = half_factors(largest_of(largest_part(most), local));
  let y0 = workgroup.x * args.y_quads;
  for (var eighth = local; eighth < args.y_quads; eighth += LANES) {
    let undoing = vec4u(bitcast<u32>(factors.y), 0u, 0u, 0u);
    let values = vec4u(halved(x0, 2u * eighth, factors.x), halved(x0, 2u * eighth + 1u, factors.x));
    y[y0 + eighth] = select(values, undoing, eighth == 4u * args.blocks);
  }
}

// Zeros after the last value.
fn halved(x0: u32, quad: u32, factor: f32) -> vec2u {
  return halves(select(vec4f(0.0), x[x0 + min(quad, args.quads - 1u)] * factor, quad < args.quads));
}
