// Keys and values of heads as f16, in blocks of 32 keys, for attention on matrix units. All keys of a block and head are multiplied by one power of
// two, and all its values by another: those that bring the largest to at least 2¹⁴ and below 2¹⁵. What undoes this stands behind the block.
#import "lib/keys.$KEYS.wgsl"

struct Args {
  first_item: u32, // items before this dispatch
  keys: u32,       // of an item
  first_key: u32,  // always 0: lib/keys.all.wgsl adds it
  dims: u32,       // of a head
  k_row: u32,      // row of k at which the first item begins
  k_quads: u32,    // quads of columns from one row of k to the next
  k_first: u32,    // first quad of k's heads
  v_row: u32,
  v_quads: u32,
  v_first: u32,
  heads: u32,
  blocks: u32,     // of an item
  eighths: u32,    // of a padded head: eight dimensions each
  stride: u32,     // quads of words from one block to the next
}

@group(0) @binding(0) var<storage, read> k: array<vec4f>;
@group(0) @binding(1) var<storage, read> v: array<vec4f>;
// [item][head][block]: keys [key][dims / 8], values [dims][key / 8], then the exponents of both
@group(0) @binding(2) var<storage, read_write> y: array<vec4u>;
@group(0) @binding(3) var<uniform> args: Args;

const LANES = 128u;
const KEYS_AT_ONCE = 32u;
// Biased exponents of f32 below which the largest is taken for larger: beyond, the factor is no normal number, or its reciprocal times a sum
// of weights is not.
const LEAST_KEY = 15u;
const LEAST_VALUE = 101u;

var<workgroup> largest: array<vec2f, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x * KEYS_AT_ONCE;
  let head = workgroup.y;
  let item = workgroup.z;
  let head_quads = args.dims / 4u;
  let end = min(keys_of(args.first_item + item), args.keys);
  let k0 = (args.k_row + item * args.keys) * args.k_quads + args.k_first + head * head_quads;
  let v0 = (args.v_row + item * args.keys) * args.v_quads + args.v_first + head * head_quads;

  var most = array<vec4f, 2>();
  for (var i = local; i < KEYS_AT_ONCE * head_quads; i += LANES) {
    let key = first + i / head_quads;
    let quad = i % head_quads;
    most[0] = max(most[0], abs(four_keys(k0, key, quad, end)));
    most[1] = max(most[1], abs(four_values(v0, key, quad, end)));
  }
  let two = max(vec2f(most[0].x, most[1].x), vec2f(most[0].y, most[1].y));
  largest[local] = max(two, max(vec2f(most[0].z, most[1].z), vec2f(most[0].w, most[1].w)));
  for (var half = LANES / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (local < half) {
      largest[local] = max(largest[local], largest[local + half]);
    }
  }
  workgroupBarrier();
  let exponents = max(bitcast<vec2u>(largest[0]) >> vec2u(23u), vec2u(LEAST_KEY, LEAST_VALUE));
  let factors = bitcast<vec2f>((vec2u(268u) - exponents) << vec2u(23u)); // 2^(14 - e), where an exponent is e + 127

  let y0 = ((item * args.heads + head) * args.blocks + workgroup.x) * args.stride;
  for (var i = local; i < KEYS_AT_ONCE * args.eighths; i += LANES) {
    let key = first + i / args.eighths;
    let quad = i % args.eighths * 2u;
    let near = halves(four_keys(k0, key, quad, end) * factors.x);
    y[y0 + i] = vec4u(near, halves(four_keys(k0, key, quad + 1u, end) * factors.x));
  }
  let y1 = y0 + KEYS_AT_ONCE * args.eighths;
  for (var i = local; i < 8u * args.eighths; i += LANES) {
    let quad = i / 4u;
    let eighth = i % 4u;
    let near = across(v0, first + 8u * eighth, quad, end, factors.y);
    let far = across(v0, first + 8u * eighth + 4u, quad, end, factors.y);
    for (var d = 0u; d < 4u; d++) {
      y[y1 + (4u * quad + d) * 4u + eighth] = vec4u(halves(near[d]), halves(far[d]));
    }
  }
  let y2 = y1 + KEYS_AT_ONCE * args.eighths;
  for (var i = y2 + local; i < y0 + args.stride; i += LANES) { // zeros behind the exponents
    y[i] = select(vec4u(0u), vec4u(bitcast<vec2u>(vec2i(exponents) - vec2i(141)), 0u, 0u), i == y2);
  }
}

// Zeros after the last key, and after the last dimension.
fn four_keys(k0: u32, key: u32, quad: u32, end: u32) -> vec4f {
  let at = k0 + min(key, args.keys - 1u) * args.k_quads + min(quad, args.dims / 4u - 1u);
  return select(vec4f(0.0), k[at], key < end && quad * 4u < args.dims);
}

fn four_values(v0: u32, key: u32, quad: u32, end: u32) -> vec4f {
  let at = v0 + min(key, args.keys - 1u) * args.v_quads + min(quad, args.dims / 4u - 1u);
  return select(vec4f(0.0), v[at], key < end && quad * 4u < args.dims);
}

// Four dimensions of four keys' values: [dimension][key]
fn across(v0: u32, key: u32, quad: u32, end: u32, factor: f32) -> mat4x4f {
  let rows = mat4x4f(
    four_values(v0, key, quad, end), four_values(v0, key + 1u, quad, end),
    four_values(v0, key + 2u, quad, end), four_values(v0, key + 3u, quad, end),
  );
  return transpose(rows * factor);
}

fn halves(four: vec4f) -> vec2u {
  return vec2u(pack2x16float(four.xy), pack2x16float(four.zw));
}
