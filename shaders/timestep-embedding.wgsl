// Cosines and sines of t · period^(-i / (half - shift)), for numbers t such as time steps. Frequencies are computed in 64-bit fixed
// point by repeated squaring of the ratio between adjacent ones, so that angles of thousands of turns are exact.
#import "lib/turns.wgsl"

struct Args {
  columns: u32,     // columns of y: count · dims
  dims: u32,        // dimensions for each number of t; even
  ratio_low: u32,   // ratio of adjacent frequencies, as a fraction of 2⁶⁴
  ratio_high: u32,
  cos_first: u32,   // whether cosines precede sines
  t_stride: u32,    // numbers from one row of t to the next
  y_stride: u32,    // columns from one row of y to the next
}

@group(0) @binding(0) var<storage, read> t: array<u32>; // bits of f32 numbers
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

const TURN = vec2u(0x9391054au, 0x28be60dbu); // 1 / 2π, as a fraction of 2⁶⁴

// Numbers of 64 bits are (low word, high word).
fn plus(a: vec2u, b: u32) -> vec2u {
  let low = a.x + b;
  return vec2u(low, a.y + select(0u, 1u, low < b));
}

// The upper 64 bits of a product.
fn product(a: vec2u, b: vec2u) -> vec2u {
  let middle = plus(plus(vec2u(high_product(a.x, b.x), 0u), a.y * b.x), a.x * b.y);
  let top = plus(vec2u(a.y * b.y, high_product(a.y, b.y)), middle.y);
  return plus(plus(top, high_product(a.y, b.x)), high_product(a.x, b.y));
}

// Turns of the i-th frequency at 1.
fn frequency(i: u32) -> vec2u {
  var power = vec2u(args.ratio_low, args.ratio_high);
  var turns = TURN;
  for (var left = i; left > 0u; left >>= 1u) {
    if ((left & 1u) != 0u) {
      turns = product(turns, power);
    }
    power = product(power, power);
  }
  return turns;
}

// The fraction of a turn at |t|: its 24 significant bits times the frequency, shifted by its exponent.
fn turn_at(bits: u32, turns: vec2u) -> u32 {
  let exponent = (bits >> 23u) & 255u;
  let significand = (bits & 0x7fffffu) | 0x800000u;
  let upper = plus(vec2u(significand * turns.y, high_product(significand, turns.y)), high_product(significand, turns.x));
  let words = array<u32, 4>(significand * turns.x, upper.x, upper.y, 0u);
  let shift = 182u - exponent;
  if (exponent > 182u || shift >= 96u) { // the angle is a number of whole turns, or negligible
    return 0u;
  }
  let low = words[shift / 32u] >> (shift % 32u);
  return low | select(0u, words[shift / 32u + 1u] << ((32u - shift % 32u) % 32u), shift % 32u > 0u);
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  if (column >= args.y_stride) {
    return;
  }
  var value = 0.0;
  if (column < args.columns) {
    let half = args.dims / 2u;
    let at = column % args.dims;
    let bits = t[id.y * args.t_stride + column / args.dims];
    let waves = cos_sin(turn_at(bits, frequency(at % half)));
    let sine = select(waves.y, -waves.y, (bits >> 31u) != 0u);
    value = select(sine, waves.x, (at < half) == (args.cos_first != 0u));
  }
  y[id.y * args.y_stride + column] = value;
}
