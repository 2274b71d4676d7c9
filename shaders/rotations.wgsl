// cos and sin of position · frequency for every row of a step. Frequencies come as turns a token in 64-bit fixed point, so
// whole turns fall off by overflow and the angle is as exact at token 100,000 as at token 1; what is left is at most an
// eighth of a turn, where short series are exact to the last bit or two. (A GPU's own sin and cos are not.)
#import "lib/batch.wgsl"

struct Args {
  half: u32,        // frequencies of a head: dims / 2
  y_pairs: u32,     // pairs of columns from one row of y to the next
  scale: f32,       // on cos and sin
}

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> turns: array<vec2u>; // low and high word, [set of frequencies][half]
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec2f>;

// The upper 32 bits of a product.
fn high_product(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let cross = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (cross >> 16u);
}

fn cos_sin(turn: u32) -> vec2f {
  let quarter = (turn + 0x20000000u) >> 30u;
  let x = f32(bitcast<i32>(turn - (quarter << 30u))) * 1.4629180792671596e-9; // 2π / 2³²
  let z = x * x;
  let s = x * (1.0 + z * (-0.16666667 + z * (0.008333333 + z * (-0.00019841270 + z * 0.0000027557319))));
  let c = 1.0 + z * (-0.5 + z * (0.041666668 + z * (-0.0013888889 + z * 0.000024801588)));
  let turned = select(vec2f(c, s), vec2f(-s, c), (quarter & 1u) != 0u);
  return select(turned, -turned, (quarter & 2u) != 0u);
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  let row = id.y;
  if (i >= args.y_pairs) {
    return;
  }
  var pair = vec2f(0.0);
  if (i < args.half) {
    let turn = turns[rows[row].frequencies * args.half + i];
    let position = rows[row].position;
    pair = args.scale * cos_sin(position * turn.y + high_product(position, turn.x));
  }
  y[row * args.y_pairs + i] = pair;
}
