// Rows of x as f16, for products on matrix units. Each row is multiplied by a power of two that brings its largest value to at least 2¹⁴ and
// below 2¹⁵: so no value becomes infinite, and those above a 2²⁸th of the largest keep all bits of f16. The factor that undoes this stands
// behind the row.

struct Args {
  x_quads: u32,   // quads from one row of x to the next
  quads: u32,     // quads that hold values of x
  y_quads: u32,   // quads of words from one row of y to the next
  blocks: u32,    // blocks of 32 k's; a block takes four quads of words
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4u>; // [row][k / 8], then the factor
@group(0) @binding(2) var<uniform> args: Args;

const LANES = 64u;
const LEAST = 15u; // biased exponent of f32 below which the factors would not be normal numbers

var<workgroup> largest: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let x0 = workgroup.x * args.x_quads;
  var most = vec4f(0.0);
  for (var quad = local; quad < args.quads; quad += LANES) {
    most = max(most, abs(x[x0 + quad]));
  }
  largest[local] = max(max(most.x, most.y), max(most.z, most.w));
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      largest[local] = max(largest[local], largest[local + half]);
    }
  }
  workgroupBarrier();
  let exponent = max(bitcast<u32>(largest[0]) >> 23u, LEAST);
  let factor = bitcast<f32>((268u - exponent) << 23u); // 2^(14 - e), where the exponent is e + 127
  let y0 = workgroup.x * args.y_quads;
  for (var eighth = local; eighth < args.y_quads; eighth += LANES) {
    let undoing = vec4u((exponent - 14u) << 23u, 0u, 0u, 0u);
    let values = vec4u(halves(x0, 2u * eighth, factor), halves(x0, 2u * eighth + 1u, factor));
    y[y0 + eighth] = select(values, undoing, eighth == 4u * args.blocks);
  }
}

// Zeros after the last value.
fn halves(x0: u32, quad: u32, factor: f32) -> vec2u {
  let value = select(vec4f(0.0), x[x0 + min(quad, args.quads - 1u)] * factor, quad < args.quads);
  return vec2u(pack2x16float(value.xy), pack2x16float(value.zw));
}
